"""One HTML page of a panel's findings that needs no network; draws values and computes none."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from orderbias.report.charts import convert_module
from orderbias.report.entries import column_parts, head, is_words, slugs, under
from orderbias.report.panel_figures import available, specification
from orderbias.report.text import visible
from orderbias.studies.findings import Entry, Finding, Number, Table

#: Rows of a table beyond which it scrolls and has a box to search it.
MOST_ROWS = 12
#: Columns whose entries are names of cells: the filter of the page hides their rows.
CHECKPOINT, BENCHMARK = "checkpoint", "benchmark"
#: Under which keys points of figures name them.
NAMES = {CHECKPOINT: (CHECKPOINT, "base", "post_trained"), BENCHMARK: (BENCHMARK,)}


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
    """Return a self-contained HTML page: tables, figures with tooltips, filters.

    It asks no network for anything: its policy forbids every request, and every script that is not its own.

    Raises
    ------
    MissingExtra
        If altair or vl-convert is not installed.
    """
    import jinja2
    from markupsafe import Markup

    pairs = available(findings)
    specifications = {figure.name: specification(figure.draw(finding)) for figure, finding in pairs}
    scripts = [_library(), _inline(_own("panel.js"))]
    page = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    done = [finding for finding in findings if finding.skipped is None]
    return page.from_string(_own("panel.html.j2")).render(
        head=PageHead(visible(head.title), _shown_facts(head.facts), tuple(map(visible, head.left_out))),
        css=Markup(_own("panel.css")),
        bundle=Markup(scripts[0]),
        script=Markup(scripts[1]),
        script_hashes=Markup(" ".join(map(_hash, scripts))),
        specifications=Markup(embedded_json(specifications)),
        parts=[_part(finding, [figure for figure, its in pairs if its.name == finding.name]) for finding in done],
        skipped=[finding for finding in findings if finding.skipped is not None],
        checkpoints=_names(done, CHECKPOINT),
        benchmarks=_names(done, BENCHMARK),
        most_rows=MOST_ROWS,
    )


@functools.cache
def _library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    return _inline(convert_module().javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _own(name: str) -> str:
    return resources.files("orderbias.report").joinpath("page", name).read_text(encoding="utf-8")


def _inline(script: str) -> str:
    """Return a script that may stand in a page: nothing in it ends the element early."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _hash(script: str) -> str:
    """Return the source expression of a policy that allows this script and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def embedded_json(value: Any) -> str:
    r"""Return JSON that may stand in a script element, whatever names it holds.

    Examples
    --------
    >>> print(embedded_json({"name": "</script>"}))
    {"name": "\u003c/script>"}
    """
    text = json.dumps(value, allow_nan=False)
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def _shown_facts(facts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((visible(name), visible(fact)) for name, fact in facts)


def _names(findings: Iterable[Finding], column: str) -> list[str]:
    """Return the checkpoints or benchmarks that tables and figures name, in order of appearance."""
    names: dict[str, None] = {}
    for finding in findings:
        for table in finding.tables:
            at = _column(table, column)
            names |= {} if at is None else dict.fromkeys(visible(str(row[at])) for row in table.rows)
        for points in finding.series.values():
            found = (point.get(key) for point in points for key in NAMES[column])
            names |= dict.fromkeys(visible(str(name)) for name in found if name is not None)
    return list(names)


def _column(table: Table, key: str) -> int | None:
    return next((i for i, column in enumerate(table.columns) if column.key == key), None)


def _part(finding: Finding, figures: Sequence[Any]) -> Mapping[str, Any]:
    return {
        "id": finding.name, "title": visible(finding.title), "figures": figures,
        "sentences": [visible(sentence) for sentence in finding.sentences],
        "tables": [_table(*each) for each in zip(slugs(finding), finding.tables, strict=True)],
        "parts_skipped": [visible(reason) for reason in finding.parts_skipped],
    }  # fmt: skip


def _table(slug: str, table: Table) -> Mapping[str, Any]:
    named = {key: _column(table, key) for key in (CHECKPOINT, BENCHMARK)}
    rows: list[dict[str, Any]] = []
    texts = [column_parts(table, i) for i in range(len(table.columns))]
    for n, row in enumerate(table.rows):
        cells = [_cell(*texts[i][n], row[i], is_words(column)) for i, column in enumerate(table.columns)]
        rows.append(
            {"cells": cells, **{key: None if at is None else visible(str(row[at])) for key, at in named.items()}}
        )
    heads = [(visible(head(table, i)), is_words(column)) for i, column in enumerate(table.columns)]
    return {
        "id": slug, "title": visible(table.title), "heads": heads, "rows": rows,
        "n_ranged": sum(any(row["cells"][i]["interval"] for row in rows) for i in range(len(heads))),
        "under": [visible(line) for line in under(table)],
    }  # fmt: skip


def _cell(value: str, interval: str, entry: Entry, words: bool) -> Mapping[str, Any]:
    """Return what stands in a cell, and the number that it is sorted by."""
    number = entry.value if isinstance(entry, Number) else entry
    known = isinstance(number, int | float) and not (isinstance(number, float) and math.isnan(number))
    key = repr(float(number)) if known else None  # type: ignore[arg-type]
    return {"value": value, "interval": interval, "words": words, "key": key}
