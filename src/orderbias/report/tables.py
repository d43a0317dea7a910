"""Tables for a terminal of 100 columns; they draw values and compute none."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from orderbias.noise import WITHHELD, drawn
from orderbias.predictions import gold_counts, status_counts
from orderbias.report.text import visible

if TYPE_CHECKING:
    from orderbias.benchmarks import Listing
    from orderbias.measurement import Measurement
    from orderbias.predictions import Predictions
    from orderbias.signature import Signature

WIDTH = 100
#: Characters of a bar of 100 %: what the other columns leave of the width.
BAR = 28
#: Below this probability on the labels together, a first-token readout reads the tail of a distribution.
LOW_MASS = 0.5
#: A p-value under which a lean is called one.
ALPHA = 0.05

#: What is shown of a cell, in sections: key, name, and whether the number is a share (printed in percent).
SECTIONS: tuple[tuple[tuple[str, str, bool], ...], ...] = (
    (
        ("flip_rate", "flip rate", True),
        ("positional_skew", "positional skew", False),
        ("pooled_sd", "pooled SD", False),
    ),
    (
        ("accuracy", "accuracy, all orderings", True),
        ("accuracy_canonical", "accuracy, canonical order", True),
        ("stable_correct", "stable and correct", True),
        ("stable_wrong", "stable and wrong", True),
        ("placement_range", "placement range", True),
        ("balanced_rstd", "balanced RStd", False),
    ),
    (
        ("scaled_flip_rate", "flip rate / its cap", False),
        ("flip_cap", "flip cap", True),
        ("fluctuation_rate", "fluctuation rate", True),
        ("pairwise_disagreement", "pairwise disagreement", True),
        ("content_entropy", "content entropy (bits)", False),
        ("per_item_sd", "per-item SD", False),
        ("per_item_kl", "per-item KL (bits)", False),
        ("forward_kl", "forward KL (bits)", False),
        ("forward_kl_bound", "forward KL, bound (bits)", False),
        ("canonical_rstd", "RStd, canonical order", False),
        ("ckld", "CKLD, canonical order (nats)", False),
    ),
    (
        ("corrected_pooled_sd", "pooled SD, design corrected", False),
        ("design_deviation_sd", "design deviation SD", False),
        ("design_deviation_bound", "design deviation, bound", False),
    ),
)


def print_table(table: Any) -> None:
    """Print to standard output, at most 100 columns wide also where it is a file, but for :func:`signature_line`."""
    console = Console(highlight=False, markup=False, emoji=False)  # names are shown as they are
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    console.print(table, crop=False)


def measurement_table(m: Measurement, cell: Predictions | None = None) -> Group:
    """Draw one cell: its two factors, accuracy and stability, then everything else, then where answers land.

    ``cell`` adds what is known of the data: where the golds stand, label mass, and why items are unusable.
    """
    title = cell_title(m.model, m.benchmark, m.readout, m["n_options"])
    title.stylize("bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for name in ("", "value", "95 % interval", "without a lean"):
        table.add_column(_level(name, m), justify="left" if not name else "right")
    for i, section in enumerate(SECTIONS):
        # The factors are shown also where they are undefined, but not where others were asked for.
        shown = [row for row in section if m.values.get(row[0]) is not None or (i == 0 and row[0] in m.values)]
        if i == 3 and not m.values.get("design_deviation_bound"):
            continue  # a balanced design has nothing to correct
        for key, name, percent in shown:
            table.add_row(_row_name(key, name, m), *_numbers(m, key, percent))
        if shown:
            table.add_section()
            table.add_row()
    data = [] if cell is None else [Text(line) for line in data_lines(cell)]
    return Group(title, *data, table, *_bars(m), Text(verdict(m)), *_counts(m), signature_line(m.signature))


def signature_line(signature: Signature) -> Text:
    """Return a signature as one line however long it is: it is there to be copied and searched for."""
    return Text(visible(f"signature {signature}"), style="dim", no_wrap=True, overflow="ignore")


def cell_title(model: str, benchmark: str, readout: str, n_options: object) -> Text:
    """Name a cell; names are shown as they are, whatever marks they hold."""
    return Text(visible(" · ".join(part for part in (model, benchmark, readout, f"K = {n_options}") if part)))


def _row_name(key: str, name: str, m: Measurement) -> str:
    """Name a row; the pooled SD is the product of the factors where no stable item can tilt it (Eq. 12)."""
    exact = m.values.get("design_deviation_bound") == 0
    return f"{name} (= flip rate x skew)" if key == "pooled_sd" and exact else name


def _level(name: str, m: Measurement) -> str:
    return name.replace("95", f"{100 * float(m.signature.as_dict().get('level', 0.95)):g}")


def _numbers(m: Measurement, key: str, percent: bool) -> tuple[str, str, str]:
    def show(x: float | None) -> str:
        return "–" if x is None else f"{100 * x:.1f} %" if percent else f"{x:.4f}"

    value = m.values.get(key)
    ends = m.intervals.get(key)
    interval = "–" if ends is None else f"[{show(ends[0])}, {show(ends[1])}]".replace(" %,", ",")
    return (
        show(value if isinstance(value, float) else None),
        interval,
        show(m.expected[key]) if key in m.expected else "",
    )


def _bars(m: Measurement) -> list[Any]:
    """Draw where all and where flipping answers land, beside accuracy with the right option there."""
    shares, flips, accuracies = (m.values.get(k) for k in ("selection_share", "flip_share", "accuracy_by_place"))
    if not isinstance(shares, tuple):
        return []
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for name in ("place", "all answers", "flipping answers", "accuracy if right there"):
        table.add_column(name, justify="left" if name == "place" else "right")
    table.add_column(f"(| marks 1/{len(shares)})", no_wrap=True)
    for place, share in enumerate(shares):
        others = (f"{100 * x[place]:.1f} %" if isinstance(x, tuple) else "–" for x in (flips, accuracies))
        table.add_row(string.ascii_uppercase[place], f"{100 * share:.1f} %", *others, _bar(share, 1 / len(shares)))
    return [table, Text()]


def _bar(share: float, even: float) -> Text:
    filled, mark = round(share * BAR), round(even * BAR)
    cells = ["█" if i < filled else " " for i in range(max(filled, mark + 1))]
    if filled <= mark:
        cells[mark] = "|"
    return Text("".join(cells))


def verdict(m: Measurement) -> str:
    """Say in one sentence which behaviour is at work.

    Examples
    --------
    >>> from orderbias.orderings import cyclic
    >>> from orderbias import measure, Predictions
    >>> import numpy as np
    >>> design = cyclic(2).positions
    >>> print(verdict(measure(Predictions(np.zeros((9, 2)), design, np.zeros(9)), resamples=100)))
    No answer moved with the order.
    """
    flip, skew, rotation = m.values.get("flip_rate"), m.values.get("positional_skew"), m.tests.get("rotation")
    if m.undefined.get("flip_rate") == WITHHELD:
        return f"Whether answers move with the order is not known ({WITHHELD})."
    if not isinstance(flip, float):
        return "One ordering only: whether answers move with the order is not known."
    if flip == 0:
        return "No answer moved with the order."
    with_order = "between orderings, with the order or as they were drawn" if drawn(m.signature) else "with the order"
    moved = f"{100 * flip:.1f} % of the items change their answer {with_order}"
    if rotation is None or not isinstance(skew, float):
        return f"{moved}."
    p_value = float(rotation["p_value"])
    shares = m.values.get("flip_share")
    if p_value >= ALPHA:
        return f"{moved}; no lean beyond chance in where they land (p = {p_value:.2g})."
    if not isinstance(shares, tuple):  # measured are the ones asked for
        return f"{moved}, and they lean (p = {p_value:.2g})."
    favoured = max(range(len(shares)), key=shares.__getitem__)
    return (
        f"{moved}, and they lean: {100 * shares[favoured]:.0f} % of their answers land on "
        f"{string.ascii_uppercase[favoured]}, against {100 / len(shares):.0f} % without a lean (p = {p_value:.2g})."
    )


def _counts(m: Measurement) -> list[Text]:
    unusable, ties = m["n_unusable"], m["n_ties"]
    lines = [
        f"{counted(m['n_items'], 'item')} x {counted(m['n_orderings'], 'ordering')}; "
        f"{counted(unusable, 'item')} left out as unusable."
    ]
    uniformity = m.tests.get("uniformity")
    if uniformity is not None:
        p_value, p_holm = uniformity["p_value"], uniformity.get("p_holm")
        holm = "" if p_holm in (None, p_value) else f" (Holm over cells {p_holm:.2g})"
        lines.append(f"Equal place shares, conservative test: p = {p_value:.2g}{holm}.")
    if ties:
        share = m.values.get("tie_share")
        having = "" if share is None else f"; {100 * share:.1f} % of the items have one"
        lines.append(f"Ties, given to the lowest place: {counted(ties, 'answer')}{having}.")
    for reason in dict.fromkeys(m.undefined.values()):
        names = [name for name, why in m.undefined.items() if why == reason]
        lines.append(f"Not defined: {', '.join(names)}: {reason}")
    return [Text(line) for line in lines]


def counted(n: Any, noun: str) -> str:
    """Return a number with its noun, which stands in the plural but for one.

    Examples
    --------
    >>> counted(1, "item"), counted(1200, "item")
    ('1 item', '1,200 items')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def data_lines(cell: Predictions) -> list[str]:
    """Say what the data bring along before anything is measured: gold places, label mass, unusable answers."""
    lines = []
    golds = gold_counts(cell)
    if golds is not None:
        placed = ", ".join(f"{string.ascii_uppercase[i]} {n:,}" for i, n in enumerate(golds))
        lines.append(f"Gold by canonical place: {placed}.")
    lost = {status: n for status, n in status_counts(cell).items() if status != "ok"}
    if lost:
        lines.append("Answers without use: " + ", ".join(f"{n:,} {status}" for status, n in lost.items()) + ".")
    if cell.mass is not None and (mass := cell.mass[cell.scored & (cell.choice >= 0)]).size:
        lines.append(f"Probability on the labels before renormalising: median {np.median(mass):.2f}.")
        if np.median(mass) < LOW_MASS:
            lines.append(
                "  Warning: below 0.5. The model would mostly say something else: look for a missing chat template "
                "(--chat), a trailing space in the prompt, or labels it does not use."
            )
    return lines


def benchmark_table(rows: Sequence[Listing]) -> Table:
    """Draw the benchmarks known by name."""
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name, justify in (("name", "left"), ("items", "right"), ("K", "right"), ("split", "left"), ("shots", "left"),
                          ("licence", "left"), ("source", "left")):  # fmt: skip
        # Sources are there to be copied: licences wrap first.
        wide = 14 if name == "licence" else None
        table.add_column(name, justify=justify, overflow="fold", max_width=wide)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(row.name, f"{row.n_items:,}", str(row.n_options), row.split, row.shots, row.licence, row.source)
    return table
