"""Figures 3-9 of two-factors from the series of findings, one altair specification each; computes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orderbias.report import cell_figures, mean_figures
from orderbias.report.charts import convert_module
from orderbias.report.findings import plain
from orderbias.report.text import visible
from orderbias.studies.findings import Finding


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a panel may have.

    Parameters
    ----------
    name
        The stem of its files.
    finding, series
        The analysis that brings its points, and under which key.
    needs
        What a point must have to be drawn; without any such point there is no figure.
    title, caption
        What it shows; the caption says how to read it.
    draw
        From the finding to an altair chart.
    of_cells
        Whether its points are cells, which the page can hide.
    """

    name: str
    finding: str
    series: str
    needs: tuple[str, ...]
    title: str
    caption: str
    draw: Callable[[Finding], Any]
    of_cells: bool = False


FIGURES = (
    Figure(
        "figure-3-factors", "factors", "factor_plane", ("flip_rate", "positional_skew"),
        "The pooled SD is the flip rate times the positional skew.",
        "Each point is a cell; dashed curves join points of equal pooled SD. A and B have nearly the same pooled SD "
        "from opposite factors. Below: each statistic against accuracy. Both axes of the plane are logarithmic: cells "
        "without a flip, or with a skew of 0, are not on it.",
        cell_figures.factor_plane, of_cells=True,
    ),
    Figure(
        "figure-4-dividing-out", "prior", "dividing-out", ("value",), "Dividing out a prior over the letters.",
        "Mean change in log skew and in log flip rate on held-out items, by the power to which the prior is raised: "
        "the cell's own prior, and the same one with its letters permuted. Bands are the intervals of the table.",
        mean_figures.dividing_out,
    ),
    Figure(
        "figure-5-operations", "operations", "factor-changes", ("log_flip_rate", "log_positional_skew"),
        "What each operation changes.",
        "Mean change in log flip rate and log skew from no operation, on the same held-out items; bars are intervals. "
        "The two changes add up to the change in log pooled SD. X>Y applies X, then Y.",
        mean_figures.operation_plane,
    ),
    Figure(
        "figure-6-added-preferences", "operations", "added-preferences", ("placement_range",),
        "Adding a letter preference of known shape.",
        "Change in placement range by the strength of what is added to the letters' logits, one panel a shape; a "
        "negative strength reverses the shape. Bands are the intervals of the table.",
        mean_figures.added_preferences,
    ),
    Figure(
        "figure-7-gap", "margin", "states-by-gap", ("flipping",),
        "Items flip where their two leading options are close.",
        "Share of stable and flipping items by the gap between the two largest letter probabilities in canonical "
        "order, cells weighted equally.",
        mean_figures.states_by_gap,
    ),
    Figure(
        "figure-8-cap-null", "controls", "cap_null", ("observed",),
        "Is the flip rate's association with accuracy more than its cap makes?",
        "Spearman's correlation of flip rate and accuracy by number of options and by what the cap does. Dots are "
        "observed; bars are the central part of a null that deals flip rates anew under every cell's cap, ticks its "
        "median.",
        mean_figures.cap_null,
    ),
    Figure(
        "figure-9-post-training", "pairs", "post-training", ("pooled_sd_change", "flip_rate_change"),
        "A lower pooled SD need not mean fewer flips.",
        "Each point is a base checkpoint and its post-trained release on one benchmark. In the shaded quadrants the "
        "pooled SD and the flip rate move opposite ways; filled points have both changes resolved, hollow ones not.",
        cell_figures.opposite_changes, of_cells=True,
    ),
)  # fmt: skip


def available(findings: Iterable[Finding]) -> list[tuple[Figure, Finding]]:
    """Return the figures that there are points for, with the finding of each, in the order of the paper."""
    by_name = {finding.name: replace(finding, series=_shown(plain(finding.series))) for finding in findings}
    pairs = [(figure, by_name[figure.finding]) for figure in FIGURES if figure.finding in by_name]
    return [
        (figure, finding)
        for figure, finding in pairs
        if any(all(point[key] is not None for key in figure.needs) for point in finding.series.get(figure.series, ()))
    ]


def _shown(value: Any) -> Any:
    """Write out in every name what no SVG may hold; the page names cells in the same way."""
    if isinstance(value, Mapping):
        return {key: _shown(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_shown(each) for each in value]
    return visible(value) if isinstance(value, str) else value


def figures(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the altair chart of every figure whose points there are, by its name.

    Raises
    ------
    MissingExtra
        If altair is not installed.
    """
    return {figure.name: figure.draw(finding) for figure, finding in available(findings)}


def specification(chart: Any) -> dict[str, Any]:
    """Return a chart as Vega-Lite; the points are not checked one by one against the schema, which takes seconds."""
    found: dict[str, Any] = chart.to_dict(validate=False)
    return found


def figure_files(charts: Mapping[str, Any]) -> dict[str, bytes]:
    """Return SVG, PNG and PDF of every chart by its file's name, on white.

    Raises
    ------
    MissingExtra
        If vl-convert is not installed.
    """
    convert = convert_module()
    files: dict[str, bytes] = {}
    for name, chart in charts.items():
        drawn = json.dumps({**specification(chart), "background": "white"}, allow_nan=False)
        files[f"{name}.svg"] = convert.vegalite_to_svg(drawn).encode()
        files[f"{name}.png"] = convert.vegalite_to_png(drawn, scale=2)
        files[f"{name}.pdf"] = convert.vegalite_to_pdf(drawn)
    return files
