"""The manner of a panel's figures: colours, shapes, sizes and the filter that a page turns; knows no figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orderbias.report.charts import altair_module

#: Okabe and Ito's colours, which colour-blind readers tell apart, without black, ordered so that neighbours differ in
#: lightness too: blue, orange, green, purple, vermilion, sky blue.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [10, 3])
NEUTRAL = "#7a828a"
PALE = "#c3c9cf"
#: Pixels of a figure that takes the width of the page.
WIDTH = 640
#: Names that a page sets to show some cells alone; null shows all.
SHOWN = ("shown_checkpoints", "shown_benchmarks")


def colour_of(field: str, values: Sequence[Any], title: str | None, **legend: Any) -> Any:
    """Return the encoding of a field by colour, in the order given."""
    alt = altair_module()
    return alt.Color(
        f"{field}:N", title=title, scale=alt.Scale(domain=list(values), range=list(COLOURS[: len(values)])), sort=None,
        legend=alt.Legend(**legend) if legend else alt.Undefined,
    )  # fmt: skip


def shape_of(field: str, values: Sequence[Any], title: str | None) -> Any:
    """Return the encoding of the same field by shape: what a print without colours shows."""
    alt = altair_module()
    return alt.Shape(
        f"{field}:N", title=title, scale=alt.Scale(domain=list(values), range=list(SHAPES[: len(values)])), sort=None
    )


def by_options(points: Iterable[Mapping[str, Any]]) -> tuple[Any, Any]:
    """Return colour and shape of the number of options."""
    counts = sorted({point["n_options"] for point in points})
    return colour_of("n_options", counts, "options K"), shape_of("n_options", counts, "options K")


def of_cells(chart: Any, checkpoints: Sequence[str] = ("checkpoint",)) -> Any:
    """Keep the points of the cells that the page shows: any of their checkpoints, and their benchmark."""
    for shown, fields in ((SHOWN[0], checkpoints), (SHOWN[1], ("benchmark",))):
        found = " || ".join(f"indexof({shown}, datum.{field}) >= 0" for field in fields)
        chart = chart.transform_filter(f"!{shown} || {found}")
    return chart


def finished(chart: Any, *, filtered: bool = False) -> Any:
    """Give a figure its fonts, lines and, where its points are cells, the filter."""
    alt = altair_module()
    if filtered:
        chart = chart.add_params(*(alt.param(name=name, value=None) for name in SHOWN))
    return (
        chart.configure(background="transparent", font="system-ui, sans-serif", padding=6)
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#e4e8ec", domainColor=NEUTRAL,
            tickColor=NEUTRAL, titlePadding=8, labelLimit=240,
        )
        .configure_legend(labelFontSize=11, titleFontSize=12, titleFontWeight="normal", symbolSize=70, labelLimit=320,
                          orient="top", direction="horizontal", symbolOpacity=1)
        .configure_header(labelFontSize=12, titleFontSize=12, labelLimit=320)
        .configure_title(fontSize=12, fontWeight="normal", anchor="start", offset=8)
        .configure_text(fontSize=11)
    )  # fmt: skip


def tooltip(*fields: tuple[str, str, str]) -> list[Any]:
    """Return the fields of a tooltip: name, title, and a format of D3 or "" for words."""
    alt = altair_module()
    return [
        alt.Tooltip(f"{name}:{'Q' if style else 'N'}", title=title, format=style or alt.Undefined)
        for name, title, style in fields
    ]


#: The cell of a point, in every tooltip of cells.
CELL = (("checkpoint", "checkpoint", ""), ("benchmark", "benchmark", ""), ("n_options", "options K", ""))


def padded(values: Iterable[float], share: float = 0.06) -> list[float]:
    """Return a domain a little wider than the values, so that it stays where a filter hides points.

    Examples
    --------
    >>> padded([0.0, 1.0], 0.1), padded([])
    ([-0.1, 1.1], [0.0, 1.0])
    """
    there = [value for value in values if value is not None]
    if not there:
        return [0.0, 1.0]
    low, high = min(there), max(there)
    room = share * (high - low) or 0.1 * abs(high) or 0.1
    return [low - room, high + room]


def padded_log(values: Iterable[float], factor: float = 1.15) -> list[float]:
    """Return a domain of a logarithmic axis; what is not above zero has no place on it."""
    there = [value for value in values if value is not None and value > 0]
    return [min(there) / factor, max(there) * factor] if there else [0.1, 1.0]
