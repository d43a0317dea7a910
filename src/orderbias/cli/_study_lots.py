"""What hangs on a seed in a study: ties of the vote and of independent scores, broken by it and by others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from orderbias.items import Item
from orderbias.operations import MajorityVote
from orderbias.predictions import Predictions
from orderbias.strategies.independent import Scores, break_tie
from orderbias.studies.checks import Lots

if TYPE_CHECKING:
    from orderbias.records import Records

#: How many other seeds break ties.
TIE_SEEDS = 10


def voted(direct: Predictions, seed: int) -> Predictions:
    """Return the vote over the orderings; its ties are broken by (seed, item id), as those of scores are."""
    vote = MajorityVote(ties="hash", seed=seed)
    return vote.fit(direct).apply(direct)


def lots(arms: Mapping[str, Predictions], items: Sequence[Item], scored: Records | None, seed: int) -> dict[str, Lots]:
    """Return what other seeds than ``seed`` make of the arms that have ties; ``scored`` are the scores as stored."""
    seeds = range(seed + 1, seed + 1 + TIE_SEEDS)
    found: dict[str, Lots] = {}
    if "cyclic" in arms:
        votes = np.stack([voted(arms["direct"], other).choice[:, 0] for other in seeds])
        found["cyclic"] = Lots(votes.astype(np.int64), arms["cyclic"].ties[:, 0])
    if "independent" in arms and scored is not None:
        found["independent"] = _lots_of_scores(scored, items, seeds)
    return found


def _lots_of_scores(records: Records, items: Sequence[Item], seeds: Sequence[int]) -> Lots:
    stored = {
        r.item_id: Scores.split(r.text).counted
        for r in records
        if r.text is not None and r.status == "ok" and r.repeat == 0 and r.positions == tuple(range(len(r.positions)))
    }
    choices = np.full((len(seeds), len(items)), -1, np.int64)
    tied = np.zeros(len(items), bool)
    for column, item in enumerate(items):
        scores = stored.get(item.id)
        if scores is not None:
            best = [j for j, score in enumerate(scores) if score == max(scores)]
            tied[column] = len({item.options[j].strip() for j in best}) > 1
            choices[:, column] = [break_tie(scores, seed, item.id) for seed in seeds]
    return Lots(choices, tied)
