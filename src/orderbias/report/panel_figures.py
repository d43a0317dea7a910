"""Figures 3-9 of two-factors from the series of findings, one altair specification each; computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orderbias.studies.findings import Finding


def figures(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the altair chart of every figure whose series there is, by its file's stem: ``figure-3-plane``, ..."""
    raise NotImplementedError


def figure_files(charts: Mapping[str, Any]) -> dict[str, bytes]:
    """Return SVG, PNG and PDF of every chart by its file's name."""
    raise NotImplementedError
