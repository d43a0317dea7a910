"""Charts as files: one specification for SVG, PNG and HTML; wraps altair and vl-convert, and computes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orderbias.errors import ArgumentError, MissingExtra

if TYPE_CHECKING:
    from orderbias.mitigation import Mitigation

SUFFIXES = (".svg", ".png", ".html")
#: Stands for "<" on its way through vl-convert; no name of ours holds it.
_LESS_THAN = "\ue000"


def shapes_chart(cells: Sequence[Mitigation]) -> Any:
    """Return the altair chart of added preferences: change in placement range by strength, one panel a shape.

    Parameters
    ----------
    cells
        Comparisons with ``shapes``; each is a row of panels.

    Raises
    ------
    MissingExtra
        If altair is not installed.
    """
    alt = altair_module()
    rows = [
        {
            "cell": " · ".join(part for part in (m.model, m.benchmark, f"K = {m.n_options}") if part),
            "shape": p.shape,
            "operation": p.operation,
            "strength": p.strength,
            "change": 100 * p.changes["placement_range"],
            "low": None if p.interval is None else 100 * p.interval[0],
            "high": None if p.interval is None else 100 * p.interval[1],
        }
        for m in cells
        if m.shapes is not None
        for p in m.shapes.points
        if p.changes["placement_range"] is not None
    ]
    if not rows:
        raise ArgumentError("A chart needs a placement range. It is undefined for these answers: no golds, or an "
                            "unbalanced design.")  # fmt: skip
    x = alt.X("strength:Q", title="strength (logits)")
    colour = alt.Color("operation:N", title=None, sort=list(dict.fromkeys(r["operation"] for r in rows)),
                       legend=alt.Legend(symbolOpacity=1, symbolType="stroke"))  # fmt: skip
    lines = alt.Chart().mark_line(point=True).encode(
        x=x, y=alt.Y("change:Q", title="change in placement range (points)"), color=colour,
        tooltip=["operation:N", "shape:N", "strength:Q", "change:Q", "low:Q", "high:Q"],
    )  # fmt: skip
    bands = alt.Chart().mark_area(opacity=0.15).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    layered = alt.layer(bands, lines, data=alt.Data(values=rows)).properties(width=200, height=160)
    shapes = list(dict.fromkeys(r["shape"] for r in rows))
    return layered.facet(
        column=alt.Column("shape:N", title=None, sort=shapes), row=alt.Row("cell:N", title=None)
    )  # fmt: skip


def save_chart(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write a chart as SVG, PNG or self-contained HTML, by the suffix of ``path``.

    Raises
    ------
    ArgumentError
        If the suffix is another.
    MissingExtra
        If vl-convert is not installed.
    """
    target = Path(path)
    check_suffix(target)
    convert = convert_module()
    spec = chart.to_json()
    if target.suffix == ".svg":
        target.write_text(convert.vegalite_to_svg(spec), encoding="utf-8")
    elif target.suffix == ".html":
        target.write_text(_page(convert, spec), encoding="utf-8")
    else:
        target.write_bytes(convert.vegalite_to_png(spec, scale=2))


def _page(convert: Any, spec: str) -> str:
    """Return a self-contained page; a name that holds a script tag stays text.

    The specification stands in a script of the page, and vl-convert writes it as it is: a ``<`` in it is carried past
    as a private character, and becomes the escape of a JavaScript string.
    """
    page: str = convert.vegalite_to_html(spec.replace("<", _LESS_THAN), bundle=True)
    return page.replace(_LESS_THAN, "\\u003c")


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raise unless a chart can be written under this name."""
    if Path(path).suffix not in SUFFIXES:
        raise ArgumentError(f"A chart must end in {', '.join(SUFFIXES)}. Got {Path(path).name!r}.")


def altair_module() -> Any:
    """Return altair, or say how to install it."""
    try:
        import altair
    except ImportError as error:
        raise MissingExtra("altair", "report") from error
    return altair


def convert_module() -> Any:
    """Return vl-convert, or say how to install it."""
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtra("vl_convert", "report") from error
    return vl_convert
