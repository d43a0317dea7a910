"""The noise table: asking again against reordering; draws values and computes none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from orderbias.inference.means import Estimate
    from orderbias.noise import Noise

NONE = "–"


def noise_table(noise: Noise, level: float = 0.95) -> Group:
    """Draw both disagreements, the excess, and what it means."""
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for i, name in enumerate(("asking again against reordering", "value", f"{100 * level:g} % interval")):
        table.add_column(name, justify="left" if not i else "right")
    table.add_row("two calls on one ordering disagree", *_numbers(noise.repeat, "%"))
    table.add_row("two calls on different orderings disagree", *_numbers(noise.reorder, "%"))
    table.add_row("excess of reordering: the order effect", *_numbers(noise.excess, "points"))
    return Group(table, Text(order_effect(noise)), Text(_counts(noise)))


def order_effect(noise: Noise) -> str:
    """Say in one sentence what of the disagreement is the order's.

    Examples
    --------
    >>> from orderbias.inference.means import Estimate
    >>> from orderbias.noise import Noise
    >>> repeat, reorder = Estimate(0.1, (0.05, 0.2), 90), Estimate(0.15, (0.08, 0.25), 90)
    >>> print(order_effect(Noise(90, 0, 2, 4, 0, repeat, reorder, Estimate(0.05, (-0.02, 0.12), 90))))
    The order effect is the excess, not the flip rate: +5.0 points, not told apart from asking again.
    """
    value, ends = noise.excess.value, noise.excess.interval
    if value is None:
        return "One ordering only: what reordering adds is not known."
    said = f"The order effect is the excess, not the flip rate: {100 * value:+.1f} points"
    if ends is None:
        return f"{said}."
    if ends[0] <= 0 <= ends[1]:
        return f"{said}, not told apart from asking again."
    return f"{said}; reordering changes answers {'more' if value > 0 else 'less'} often than asking again."


def _numbers(e: Estimate, unit: str) -> tuple[str, str]:
    if e.value is None:
        return NONE, NONE
    sign = "+" if unit == "points" else ""
    ends = NONE if e.interval is None else f"[{100 * e.interval[0]:{sign}.1f}, {100 * e.interval[1]:{sign}.1f}]"
    return f"{100 * e.value:{sign}.1f} {unit}", ends


def _counts(noise: Noise) -> str:
    orderings = f"{noise.n_repeated} ordering{'' if noise.n_repeated == 1 else 's'}"
    lost = f", {noise.n_left_out:,} left out" if noise.n_left_out else ""
    missing = f"; {noise.n_missing:,} calls without a usable answer" if noise.n_missing else ""
    over = "items" if noise.n_clusters is None else f"{noise.n_clusters:,} clusters"
    return f"{noise.n_items:,} items{lost}; {orderings} asked {noise.n_repeats} times{missing}. Intervals over {over}."
