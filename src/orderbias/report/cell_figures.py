"""Figures whose points are cells: the plane of the two factors and the changes from base to post-trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orderbias.inference.intervals import SAME
from orderbias.report import figure_style as style
from orderbias.report.charts import altair_module
from orderbias.report.figure_style import CELL, COLOURS, NEUTRAL, WIDTH, finished, of_cells, padded, tooltip
from orderbias.studies.findings import Finding, Number

Points = Sequence[Mapping[str, Any]]
#: Statistics set against accuracy, with the format of their axis.
STATISTICS = (("flip_rate", "flip rate", "%"), ("pooled_sd", "pooled SD", ".3~g"),
              ("positional_skew", "positional skew", ".3~g"))  # fmt: skip
_FACTORS = (
    ("flip_rate", "flip rate", ".1%"), ("positional_skew", "positional skew", ".4f"), ("pooled_sd", "pooled SD", ".4f"),
    ("accuracy", "accuracy", ".1%"),
)  # fmt: skip


def factor_plane(finding: Finding) -> Any:
    """Draw figure 3: cells on the plane of the factors with curves of equal pooled SD, then each against accuracy."""
    alt = altair_module()
    points = [p for p in finding.series["factor_plane"] if p["flip_rate"] and p["positional_skew"]]
    against = finding.series.get("against_accuracy", ())
    plane = _plane(points, finding.series.get("iso_pooled_sd", ()))
    if not against:
        return finished(plane, filtered=True)
    rows = [_one_statistic(finding, against, *statistic) for statistic in STATISTICS]
    return finished(alt.vconcat(plane, alt.hconcat(*rows, spacing=48, bounds="flush"), spacing=22), filtered=True)


def _plane(points: Points, curves: Points) -> Any:
    alt = altair_module()
    colour, shape = style.by_options(points)
    across = style.padded_log((p["flip_rate"] for p in points), 1.1)
    up = style.padded_log(p["positional_skew"] for p in points)
    # The room to the right of 100 % is for the marks that stand there; no rate is larger.
    ticks = alt.Axis(format="~%", grid=False, tickCount=8, labelExpr="datum.value > 1.0001 ? '' : datum.label")
    x = alt.X("flip_rate:Q", title="flip rate", axis=ticks,
              scale=alt.Scale(type="log", domain=across, nice=False))  # fmt: skip
    y = alt.Y("positional_skew:Q", title="positional skew", axis=alt.Axis(format="~g", grid=False),
              scale=alt.Scale(type="log", domain=up, nice=False))  # fmt: skip
    inside = [  # with room for a label above the axis
        p for p in curves if across[0] <= p["flip_rate"] <= across[1] and 1.1 * up[0] <= p["positional_skew"] <= up[1]
    ]
    ends = {p["pooled_sd"]: p for p in sorted(inside, key=lambda p: p["flip_rate"])}  # the last of each curve
    labels = [{**p, "label": f"pooled SD {level:g}" if i == 0 else f"{level:g}"} for i, (level, p) in
              enumerate(sorted(ends.items(), reverse=True))]  # fmt: skip
    cells = of_cells(alt.Chart(alt.Data(values=points)))
    named = of_cells(alt.Chart(alt.Data(values=[p for p in points if p.get("mark")])))
    return alt.layer(
        alt.Chart(alt.Data(values=list(curves)))
        .mark_line(color=NEUTRAL, strokeDash=[3, 3], strokeWidth=1, opacity=0.8, clip=True)
        .encode(x=x, y=y, detail="pooled_sd:N"),
        alt.Chart(alt.Data(values=labels))
        .mark_text(align="left", dx=5, fontSize=10).encode(x=x, y=y, text="label:N"),
        named.mark_point(size=190, strokeWidth=2, color=NEUTRAL).encode(x=x, y=y),
        named.mark_text(fontSize=15, fontWeight="bold", dx=-14, dy=-10).encode(x=x, y=y, text="mark:N"),
        # Last, so that nothing is between a point and the pointer.
        cells.mark_point(filled=True, size=42, opacity=0.75)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip(*CELL, *_FACTORS)),
    ).properties(width=WIDTH - 60, height=340)  # fmt: skip


def _one_statistic(finding: Finding, against: Points, name: str, title: str, form: str) -> Any:
    alt = altair_module()
    points = [p for p in against if p["statistic"] == name]
    colour, shape = style.by_options(against)
    fields = (("accuracy", "accuracy", ".1%"), ("value", title, ".1%" if form == "%" else ".4f"))
    x = alt.X("accuracy:Q", axis=alt.Axis(format="~%", tickCount=4),
              scale=alt.Scale(domain=padded(p["accuracy"] for p in against), nice=False))  # fmt: skip
    y = alt.Y("value:Q", title=None, axis=alt.Axis(format="~%" if form == "%" else form, tickCount=5),
              scale=alt.Scale(domain=padded(p["value"] for p in points), nice=False))  # fmt: skip
    return (
        of_cells(alt.Chart(alt.Data(values=points), title=f"{title}{_correlation(finding, name)}"))
        .mark_point(filled=True, size=22, opacity=0.7)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip(*CELL, *fields))
        .properties(width=172, height=150)
    )


def _correlation(finding: Finding, name: str) -> str:
    """Return the correlation with accuracy that the finding's table has for all cells, if it has one."""
    table = next((table for table in finding.tables if table.name == "correlations"), None)
    if table is None or not table.rows:
        return ""
    found = dict(zip((c.key for c in table.columns), table.rows[0], strict=True)).get(name)
    value = found.value if isinstance(found, Number) else None
    return "" if value is None else f" (Spearman {value:+.2f})"


#: How a pair's changes can point; a change of exactly zero has no direction.
OPPOSITE, SAME_WAY, NO_WAY = "opposite ways", "the same way", "one does not change"
WAYS = ((OPPOSITE, COLOURS[4], "diamond"), (SAME_WAY, COLOURS[5], "circle"), (NO_WAY, NEUTRAL, "square"))
#: No sign before a zero.
ZERO = "datum.value === 0 ? '0' : datum.label"


def _way(point: Mapping[str, Any]) -> str:
    if abs(point["pooled_sd_change"]) <= SAME or abs(point["flip_rate_change"]) <= SAME:
        return NO_WAY
    return OPPOSITE if point["opposite"] else SAME_WAY


def opposite_changes(finding: Finding) -> Any:
    """Draw figure 9: change in pooled SD against change in flip rate; filled where both are resolved."""
    alt = altair_module()
    points: list[dict[str, Any]] = [
        {**p, "way": _way(p), "flip_rate_points": 100 * p["flip_rate_change"]}
        for p in finding.series["post-training"]
        if p["pooled_sd_change"] is not None and p["flip_rate_change"] is not None
    ]
    across = padded((*(p["pooled_sd_change"] for p in points), 0.0))
    up = padded((*(p["flip_rate_points"] for p in points), 0.0))
    x = alt.X("pooled_sd_change:Q", title="change in pooled SD, base to post-trained",
              axis=alt.Axis(format="+.3~g", grid=False, tickCount=7, labelExpr=ZERO),
              scale=alt.Scale(domain=across, nice=False))  # fmt: skip
    y = alt.Y("flip_rate_points:Q", title="change in flip rate (points)",
              axis=alt.Axis(format="+~f", grid=False, labelExpr=ZERO),
              scale=alt.Scale(domain=up, nice=False))  # fmt: skip
    corners = [{"x": 0.0, "x2": across[1], "y": up[0], "y2": 0.0}, {"x": across[0], "x2": 0.0, "y": 0.0, "y2": up[1]}]
    # The key names both directions; the third stands in it where a pair has it.
    ways = [w for w in WAYS if w[0] != NO_WAY or any(p["way"] == NO_WAY for p in points)]
    names = [name for name, _, _ in ways]
    colours = alt.Scale(domain=names, range=[colour for _, colour, _ in ways])
    fields = tooltip(
        ("base", "base", ""), ("post_trained", "post-trained", ""), ("benchmark", "benchmark", ""),
        ("n_items", "items", ","), ("pooled_sd_change", "change in pooled SD", "+.4f"),
        ("flip_rate_points", "change in flip rate (points)", "+.1f"), ("resolved", "both resolved", ""),
    )  # fmt: skip
    return finished(
        alt.layer(
            alt.Chart(alt.Data(values=corners)).mark_rect(color=NEUTRAL, opacity=0.13)
            .encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q"),
            alt.Chart(alt.Data(values=[{"zero": 0.0}])).mark_rule(color=NEUTRAL).encode(x="zero:Q"),
            alt.Chart(alt.Data(values=[{"zero": 0.0}])).mark_rule(color=NEUTRAL).encode(y="zero:Q"),
            of_cells(alt.Chart(alt.Data(values=points)), checkpoints=("base", "post_trained"))
            .mark_point(size=70, strokeWidth=1.6)
            .encode(
                x=x, y=y, tooltip=fields,
                stroke=alt.Stroke("way:N", title=None, scale=colours),
                fill=alt.Fill("way:N", title=None, scale=colours),
                shape=alt.Shape("way:N", title=None, scale=alt.Scale(domain=names, range=[s for _, _, s in ways])),
                fillOpacity=alt.condition("datum.resolved", alt.value(0.85), alt.value(0)),
            ),
        ).properties(width=WIDTH - 120, height=360),
        filtered=True,
    )  # fmt: skip
