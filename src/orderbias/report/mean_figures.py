"""Figures whose points are means over cells: priors, operations, added preferences, gaps and the cap's null."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orderbias.report.charts import altair_module
from orderbias.report.figure_style import COLOURS, DASHES, NEUTRAL, PALE, SHAPES, WIDTH, finished, padded, tooltip
from orderbias.studies.findings import Finding

Points = Sequence[Mapping[str, Any]]
MEASURES = {"log_skew": "log skew", "log_flip_rate": "log flip rate"}
STATES = {"stable_correct": "stable, right", "flipping": "flips", "stable_wrong": "stable, wrong"}
#: Dark, middle, light: the states are told apart in grey too.
STATE_COLOURS = (COLOURS[0], COLOURS[1], PALE)


def dividing_out(finding: Finding) -> Any:
    """Draw figure 4: mean change in log skew and log flip rate by alpha, own prior against permuted letters."""
    alt = altair_module()
    points = [p for p in finding.series["dividing-out"] if p["value"] is not None]
    priors = _in_order(p["prior"] for p in points)
    # Nothing is divided out at alpha 0.
    starts = [{"alpha": 0.0, "prior": prior, "measure": measure, "value": 0.0, "low": 0.0, "high": 0.0}
              for prior in priors for measure in MEASURES]  # fmt: skip
    rows: list[dict[str, Any]] = [{**p, "what": MEASURES[p["measure"]]} for p in (*starts, *points)]
    powers = sorted({p["alpha"] for p in rows})
    x = alt.X("alpha:Q", title="power of the prior, α", axis=alt.Axis(values=powers, grid=False))
    colour, shape, dash = _series("prior", priors)
    fields = (("prior", "prior", ""), ("alpha", "α", ".2f"), *_change("mean change"))
    layers = alt.layer(
        alt.Chart().mark_area(opacity=0.16).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        alt.Chart().mark_line().encode(x=x, y="value:Q", color=colour, strokeDash=dash),
        alt.Chart().mark_point(filled=True, size=60, opacity=1).encode(
            x=x, y=alt.Y("value:Q", title="mean change"), color=colour, shape=shape, tooltip=tooltip(*fields)),
        _zero(),
        data=alt.Data(values=rows),
    ).properties(width=WIDTH / 2 - 60, height=230)  # fmt: skip
    return finished(layers.facet(column=alt.Column("what:N", title=None, sort=list(MEASURES.values()))))


def operation_plane(finding: Finding) -> Any:
    """Draw figure 5: an arrow from no operation to the mean change in log flip rate and log skew of each."""
    alt = altair_module()
    points: list[dict[str, Any]] = [
        {**p, "start": 0.0} for p in finding.series["factor-changes"]
        if p["log_flip_rate"] is not None and p["log_positional_skew"] is not None
    ]  # fmt: skip
    across = padded((*(p[f"log_flip_rate{end}"] for p in points for end in ("", "_low", "_high")), 0.0), 0.1)
    up = padded((*(p[f"log_positional_skew{end}"] for p in points for end in ("", "_low", "_high")), 0.0), 0.1)
    across[1] += 0.2 * (across[1] - across[0])  # room for the names
    x = alt.X("log_flip_rate:Q", title="mean change in log flip rate", axis=alt.Axis(tickCount=8),
              scale=alt.Scale(domain=across, nice=False))  # fmt: skip
    y = alt.Y("log_positional_skew:Q", title="mean change in log skew", scale=alt.Scale(domain=up, nice=False))
    points = [{**p, "below": _crowded(p, points, across, up)} for p in points]
    names = _in_order(p["operation"] for p in points)
    colour, shape, _ = _series("operation", names, legend=False)
    base = alt.Chart(alt.Data(values=points))
    bars = base.mark_rule(strokeWidth=1.5)
    fields = tooltip(
        ("operation", "operation", ""), ("log_flip_rate", "log flip rate", "+.3f"),
        ("log_flip_rate_low", "from", "+.3f"), ("log_flip_rate_high", "to", "+.3f"),
        ("log_positional_skew", "log skew", "+.3f"), ("log_positional_skew_low", "from", "+.3f"),
        ("log_positional_skew_high", "to", "+.3f"),
    )  # fmt: skip
    return finished(
        alt.layer(
            _zero(), alt.Chart(alt.Data(values=[{"zero": 0.0}])).mark_rule(color=NEUTRAL).encode(x="zero:Q"),
            base.mark_rule(opacity=0.45, strokeDash=[3, 3]).encode(
                x=alt.X("start:Q"), y=alt.Y("start:Q"), x2="log_flip_rate:Q", y2="log_positional_skew:Q", color=colour),
            bars.encode(x="log_flip_rate_low:Q", x2="log_flip_rate_high:Q", y=y, color=colour),
            bars.encode(x=x, y="log_positional_skew_low:Q", y2="log_positional_skew_high:Q", color=colour),
            base.mark_point(filled=True, size=110, opacity=1)
            .encode(x=x, y=y, color=colour, shape=shape, tooltip=fields),
            *(base.transform_filter(f"datum.below === {str(below).lower()}")
              .mark_text(align="left", dx=9, dy=15 if below else -9).encode(x=x, y=y, text="operation:N")
              for below in (False, True)),
        ).properties(width=WIDTH - 80, height=360)
    )  # fmt: skip


def _crowded(point: Mapping[str, Any], points: Points, across: Sequence[float], up: Sequence[float]) -> bool:
    """Whether a name above a point would stand on that of a neighbour a little higher: it goes below then."""
    return any(
        abs(p["log_flip_rate"] - point["log_flip_rate"]) < 0.25 * (across[1] - across[0])
        and 0 < p["log_positional_skew"] - point["log_positional_skew"] < 0.05 * (up[1] - up[0])
        for p in points
    )


def added_preferences(finding: Finding) -> Any:
    """Draw figure 6: change in placement range by strength, one panel a shape, a line an operation."""
    alt = altair_module()
    points: list[dict[str, Any]] = [
        dict(p) for p in finding.series["added-preferences"] if p["placement_range"] is not None
    ]
    # Nothing is added at strength 0: bands begin there.
    ranged = any(p["low"] is not None for p in points)
    at_zero = {"low": 0.0, "high": 0.0} if ranged else {}
    in_points = [{**p, **({} if p["strength"] else at_zero)} for p in points]
    rows = [{**p, **{k: None if p[k] is None else 100 * p[k] for k in ("placement_range", "low", "high")}}
            for p in in_points]  # fmt: skip
    shapes, operations = _in_order(p["shape"] for p in rows), _in_order(p["operation"] for p in rows)
    colour, shape, dash = _series("operation", operations)
    x = alt.X("strength:Q", title="strength (logits)", axis=alt.Axis(grid=False, tickCount=5))
    y = alt.Y("placement_range:Q", title="change in range (points)")
    fields = tooltip(
        ("operation", "operation", ""), ("shape", "shape", ""), ("strength", "strength", "+.1f"),
        ("placement_range", "change, points", "+.1f"), ("low", "from", "+.1f"), ("high", "to", "+.1f"),
    )  # fmt: skip
    layers = alt.layer(
        _zero(), alt.Chart().mark_area(opacity=0.14).encode(x=x, y="low:Q", y2="high:Q", color=colour),
        alt.Chart().mark_line().encode(x=x, y=y, color=colour, strokeDash=dash),
        alt.Chart().mark_point(filled=True, size=40, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=fields),
        data=alt.Data(values=rows),
    ).properties(width=WIDTH / 2 - 60, height=180)  # fmt: skip
    return finished(layers.facet(facet=alt.Facet("shape:N", title=None, sort=shapes), columns=2))


def states_by_gap(finding: Finding) -> Any:
    """Draw figure 7: shares of stable and flipping items by the gap between the two leading options."""
    alt = altair_module()
    rows = [
        {**p, "state": name, "order": order, "share": p[key]}
        for p in finding.series["states-by-gap"] for order, (key, name) in enumerate(STATES.items())
    ]  # fmt: skip
    colour = alt.Color("state:N", title=None, sort=None,
                       scale=alt.Scale(domain=list(STATES.values()), range=list(STATE_COLOURS)))  # fmt: skip
    fields = tooltip(
        ("state", "items", ""), ("share", "share", ".1%"), ("gap_low", "gap from", ".1f"), ("gap_high", "to", ".1f"),
        ("n_items", "items in the bin", ","), ("n_cells", "cells in the bin", ","),
    )  # fmt: skip
    return finished(
        alt.Chart(alt.Data(values=rows)).mark_bar(binSpacing=2).encode(
            x=alt.X("gap_low:Q", bin="binned", title="gap between the two leading options, canonical order",
                    axis=alt.Axis(grid=False, values=_in_order(p[k] for p in rows for k in ("gap_low", "gap_high")))),
            x2="gap_high:Q",
            y=alt.Y("share:Q", title="share of items", stack="zero", axis=alt.Axis(format="~%"),
                    scale=alt.Scale(domain=[0, 1])),
            color=colour, order=alt.Order("order:Q"), tooltip=fields,
        ).properties(width=WIDTH - 80, height=280)
    )  # fmt: skip


def cap_null(finding: Finding) -> Any:
    """Draw figure 8: observed correlations as dots over the bars of the cap's null, a row a stratum."""
    alt = altair_module()
    rows = [
        {
            **p,
            "stratum": f"{p['subset']} ({p['n_cells']:,} cells)",
            "group": f"K = {p['options']}" if str(p["options"]).isdigit() else f"{p['options']} K",
        }
        for p in finding.series["cap_null"]
        if p["observed"] is not None
    ]
    groups = _in_order(p["group"] for p in rows)
    panels = [_strata([p for p in rows if p["group"] == g], g, last=g == groups[-1]) for g in groups]
    return finished(alt.vconcat(*panels, spacing=4))


def _strata(rows: Points, group: str, *, last: bool) -> Any:
    alt = altair_module()
    y = alt.Y("stratum:N", title=None, sort=None, axis=alt.Axis(grid=False, domain=False, ticks=False, minExtent=150))
    x = alt.X("null_low:Q", title="Spearman correlation of flip rate and accuracy" if last else None,
              scale=alt.Scale(domain=[-1.04, 1.04], nice=False),
              axis=alt.Axis(values=[-1, -0.5, 0, 0.5, 1], labels=last, ticks=last, domain=last))  # fmt: skip
    fields = tooltip(
        ("options", "options", ""), ("subset", "cells", ""), ("n_cells", "number of cells", ","),
        ("observed", "observed", "+.3f"), ("null_median", "null, median", "+.3f"), ("null_low", "null from", "+.3f"),
        ("null_high", "null to", "+.3f"), ("p", "p", ".2~g"),
    )  # fmt: skip
    return alt.layer(
        alt.Chart().mark_bar(height=14, color=PALE).encode(x=x, x2="null_high:Q", y=y, tooltip=fields),
        alt.Chart().mark_tick(thickness=2, size=14, color="#4a525a").encode(x="null_median:Q", y=y, tooltip=fields),
        alt.Chart().mark_point(filled=True, size=80, opacity=1, color=COLOURS[0])
        .encode(x="observed:Q", y=y, tooltip=fields),
        data=alt.Data(values=rows), title=alt.TitleParams(group, frame="group"),
    ).properties(width=WIDTH - 200, height=alt.Step(22))  # fmt: skip


def _change(title: str) -> tuple[tuple[str, str, str], ...]:
    return ("value", title, "+.3f"), ("low", "from", "+.3f"), ("high", "to", "+.3f")


def _zero() -> Any:
    alt = altair_module()
    return alt.Chart(alt.Data(values=[{"zero": 0.0}])).mark_rule(color=NEUTRAL).encode(y="zero:Q")


def _series(field: str, names: Sequence[str], legend: bool = True) -> tuple[Any, Any, Any]:
    """Return colour, shape and dash of a series of few lines, all three in the same order; they come round again."""
    alt = altair_module()

    def scale(values: Sequence[Any]) -> Any:
        return alt.Scale(domain=list(names), range=[values[i % len(values)] for i in range(len(names))])

    kwargs: dict[str, Any] = {"title": None, "sort": None, "legend": alt.Undefined if legend else None}
    return (
        alt.Color(f"{field}:N", scale=scale(COLOURS), **kwargs), alt.Shape(f"{field}:N", scale=scale(SHAPES), **kwargs),
        alt.StrokeDash(f"{field}:N", scale=scale(DASHES), **kwargs),
    )  # fmt: skip


def _in_order(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))
