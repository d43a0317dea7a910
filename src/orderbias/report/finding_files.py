"""Findings as CSV and LaTeX, one text a table; knows no analysis and writes no file."""

from __future__ import annotations

from collections.abc import Iterable

from orderbias.studies.findings import Finding


def csv_files(findings: Iterable[Finding]) -> dict[str, str]:
    """Return one CSV a table by its file's name, ``<analysis>-<table>.csv``."""
    raise NotImplementedError


def latex_files(findings: Iterable[Finding]) -> dict[str, str]:
    """Return one booktabs table a table by its file's name, ``<analysis>-<table>.tex``."""
    raise NotImplementedError
