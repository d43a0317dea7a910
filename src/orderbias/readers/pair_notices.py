"""What a user must know of a file of pairs before they are judged; must not know how they were read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from orderbias.items import Item
from orderbias.row_files import shown
from orderbias.verdicts import TIE

#: Marks by which chat templates tell turns apart; within a text, a model may take them for turns.
_TURNS = re.compile(r"<\|[^<>|\s]{1,40}\|>|\[/?INST\]|<(start|end)_of_turn>")


def pair_notices(items: Sequence[Item], ties: bool, dropped: int, lost_ties: int) -> list[str]:
    """Say what people preferred and what is odd.

    Parameters
    ----------
    items
        Pairs: two answers, and a tie behind them where one is offered.
    ties
        Whether a tie is offered.
    dropped, lost_ties
        Pairs left out since they were there before, and labels of a tie that none is offered for.

    Examples
    --------
    >>> pair_notices([Item("1", "?", ("a", "b"), 0), Item("2", "?", ("c", "c"), None)], False, 0, 0)[1]
    '1 pair of 2 without a human label.'
    """
    counts = Counter(item.gold for item in items)
    n_known = len(items) - counts[None]
    said = []
    if n_known:
        neither = f", neither in {counts[TIE]:,}" if ties else ""
        said.append(f"People preferred A in {_pairs(counts[0])}, B in {counts[1]:,}{neither}.")
    if lost_ties:
        said.append(f"{_pairs(lost_ties)} that people called a tie count as unlabelled: no tie is offered.")
    if n_known < len(items):
        said.append(f"{_pairs(len(items) - n_known)} of {len(items):,} without a human label.")
    if dropped:
        said.append(f"{_pairs(dropped)} with the id or the texts of an earlier one left out.")
    if empty := sum(not text.strip() for item in items for text in item.options[:2]):
        said.append(f"{empty:,} answers are empty texts; they are judged like any other.")
    if turned := [item.id for item in items if any(map(_TURNS.search, (item.question, *item.options[:2])))]:
        said.append(
            f"{_pairs(len(turned))} with marks of a chat template in a text, such as {shown(turned[0])}: a judge may "
            "take what follows them for its own words or for yours."
        )
    if same := sum(item.options[0].strip() == item.options[1].strip() for item in items):
        have, they, tell = ("has", "it", "tells") if same == 1 else ("have", "they", "tell")
        said.append(
            f"{_pairs(same)} {have} two identical answers: {they} {tell} a judge's taste for a place, and nothing of "
            "the answers."
        )
    return said


def _pairs(n: int) -> str:
    return f"{n:,} pair{'' if n == 1 else 's'}"
