"""Findings for a terminal of 80 columns and as JSON; knows tables and series, and no analysis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Group

from orderbias.studies.findings import Finding

#: Rows of a long table that a terminal shows.
MOST_ROWS = 24


def finding_tables(finding: Finding, *, most_rows: int = MOST_ROWS) -> Group:
    """Draw a finding: its title, its tables with what belongs below each, its sentences, and what is missing."""
    raise NotImplementedError


def findings_json(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return findings as plain values: ``{"findings": [...]}``, ready for JSON."""
    return {"findings": [finding.as_dict() for finding in findings]}
