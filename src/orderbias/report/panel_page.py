"""One HTML page of a panel's findings that needs no network; draws values and computes none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orderbias.studies.findings import Finding


@dataclass(frozen=True, slots=True)
class PageHead:
    """What stands above the findings.

    Parameters
    ----------
    title
        The name of the panel.
    facts
        Pairs of a name and what it is: ("checkpoints", "41"), ("signature", "...").
    left_out
        Why cells were left out, a sentence each.
    """

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()


def panel_page(findings: Sequence[Finding], head: PageHead) -> str:
    """Return a self-contained HTML page: tables, figures with tooltips, filters; it asks no network for anything."""
    raise NotImplementedError
