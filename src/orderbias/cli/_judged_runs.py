"""From a run of ``orderbias judge-run`` to the verdicts of its judge: where the two streams meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.signature import Signature
from orderbias.verdicts import NOT_ASKED, UNREAD

if TYPE_CHECKING:
    from orderbias.items import ItemSet
    from orderbias.judge.values import Judgments
    from orderbias.records import Records
    from orderbias.store import Run

#: What the readouts of judges begin with.
JUDGE = "judge-"
#: Probability of the letters below which a judge had something else to say.
LITTLE_MASS = 0.5


def judgments_of_runs(paths: Sequence[str]) -> list[Judgments]:
    """Return what the judges of several runs said, each run once.

    Raises
    ------
    ArgumentError
        If a run is given twice, or is no judge's.
    RunError
        If nothing is stored in one yet, or it is damaged.
    """
    from orderbias.store import Run

    seen: dict[Path, str] = {}
    for path in paths:
        key = Path(path).resolve()
        if key in seen:
            raise ArgumentError(f"PATH must be another run each time. Got {seen[key]} and {path}, which are one.")
        seen[key] = path
    return [judgments_of_run(Run.open(path)) for path in paths]


def named_apart(judgments: Sequence[Judgments], runs: Sequence[str]) -> list[Judgments]:
    """Add the name of its directory to a run's judge where another judge has that name (another template, say).

    ``judgments`` begin with those of ``runs``.
    """
    names = [one.judge for one in judgments]
    found = list(judgments)
    for i, path in enumerate(runs):
        if names.count(names[i]) > 1:
            found[i] = replace(found[i], judge=f"{names[i]} ({Path(path).resolve().name})")
    taken: set[str] = set()
    for i, one in enumerate(found):
        number = 2
        name = one.judge
        while name in taken:
            name, number = f"{one.judge} {number}", number + 1
        taken.add(name)
        found[i] = one if name == one.judge else replace(one, judge=name)
    return found


def judgments_of_run(run: Run) -> Judgments:
    """Return what the judge of a run said.

    Parameters
    ----------
    run
        A run directory made by ``orderbias judge-run``, complete or not.

    Returns
    -------
    Judgments
        Pairs in the order of the run's items, verdicts in shown terms with every repeat, log-probabilities of the
        first call, lengths in characters, people's preferences, groups. A call that failed or whose reply holds no
        verdict is unread; one that was not made is not asked.

    Raises
    ------
    ArgumentError
        If the run is no judge's.
    RunError
        If nothing is stored yet, or the run is damaged.
    """
    from orderbias.judge.values import Judgments

    settings = run.manifest.settings.as_dict()
    if not settings.get("readout", "").startswith(JUDGE):
        raise ArgumentError(
            f"A run of verdicts must be made by `orderbias judge-run`. {run.path} has the readout "
            f"{settings.get('readout')!r}: measure it with `orderbias measure`."
        )
    items, records = run.items(), run.records()
    rows = _rows(items, records)
    verdicts = np.full((len(items), 2, int(records.repeat.max()) + 1), NOT_ASKED, np.int8)
    verdicts[rows.pair, rows.order, records.repeat] = np.where(records.place >= 0, records.place, UNREAD)
    gold = np.array([UNREAD if item.gold is None else item.gold for item in items], np.int8)
    group = np.array([item.group for item in items], object)
    return Judgments(
        pair_ids=np.array([item.id for item in items], object),
        verdicts=verdicts,
        judge=settings["model"],
        human=gold if (gold >= 0).any() else None,
        group=group if any(item.group is not None for item in items) else None,
        len_a=_lengths(items, 0),
        len_b=_lengths(items, 1),
        identical=np.array([item.options[0].strip() == item.options[1].strip() for item in items], bool),
        logprobs=_logprobs(len(items), records, rows),
        source="run",
        data_hash=settings["data"],
        settings=_settings(run, len(records)),
        notices=(*records.notices, *_told(run, records), *_light(records, settings)),
    )


def _settings(run: Run, n_answers: int) -> Signature:
    """Return the settings of a run, its seed apart from that of the report, and how far it has come."""
    stored = {"draws_seed" if key == "seed" else key: v for key, v in run.manifest.settings.as_dict().items()}
    planned = run.manifest.n_queries
    calls = {"calls": f"{n_answers} of {planned}"} if n_answers < planned else {}
    return Signature.from_mapping(stored | calls)


class _Rows:
    """For each record the index of its pair and of its order: 0 where answer A is shown first."""

    __slots__ = ("order", "pair")

    def __init__(self, pair: NDArray[np.intp], order: NDArray[np.intp]) -> None:
        self.pair, self.order = pair, order


def _rows(items: ItemSet, records: Records) -> _Rows:
    index = {item.id: i for i, item in enumerate(items)}
    table = np.array([index.get(str(word), -1) for word in records.item_id.words], np.intp)
    pair = table[records.item_id.codes]
    sizes = np.diff(records.offsets)
    if (pair < 0).any() or not np.isin(sizes, (2, 3)).all():
        raise ArgumentError("A run of verdicts must hold pairs only. Run `orderbias verify` on it.")
    return _Rows(pair, records.positions[records.offsets[:-1]].astype(np.intp))


def _lengths(items: ItemSet, which: int) -> NDArray[np.float64]:
    return np.array([len(item.options[which]) for item in items], np.float64)


def _logprobs(n_pairs: int, records: Records, rows: _Rows) -> NDArray[np.float64] | None:
    """Return float64 ``(n_pairs, 2, 3)`` of the first calls: NaN where unknown, -inf for a tie not offered."""
    if records.logprobs is None:
        return None
    found = np.full((n_pairs, 2, 3), np.nan)
    first = records.repeat == 0
    starts, sizes = records.offsets[:-1], np.diff(records.offsets)
    for k in (2, 3):
        at = np.flatnonzero(first & (sizes == k))
        values = records.logprobs[starts[at, None] + np.arange(k)]
        whole = np.full((len(at), 3), -np.inf)
        whole[:, :k] = values - np.logaddexp.reduce(values, axis=1, keepdims=True) if len(at) else values
        whole[np.isnan(values).any(axis=1)] = np.nan
        found[rows.pair[at], rows.order[at]] = whole
    return found


def _told(run: Run, records: Records) -> Iterator[str]:
    """Count the calls that were not made, and those that gave no verdict, by their status."""
    from orderbias.records import RECORD_STATUSES

    name, planned = run.path.name, run.manifest.n_queries
    if len(records) < planned:
        yield (
            f"{name}: {planned - len(records):,} of {planned:,} calls are not made yet; the command that began the run "
            "goes on with them."
        )
    counts: dict[str, Any] = {
        status: int((records.status == code).sum()) for code, status in enumerate(RECORD_STATUSES) if status != "ok"
    }
    said = ", ".join(f"{n:,} {status}" for status, n in counts.items() if n)
    if said:
        yield f"{name}: calls without a verdict: {said} (of {len(records):,})."


def _light(records: Records, settings: Mapping[str, str]) -> tuple[str, ...]:
    """Say so where the letters hold little of the judge's probability: it wanted to say something else."""
    known = np.array([]) if records.mass is None else records.mass[~np.isnan(records.mass)]
    mass = float(np.median(known)) if known.size else 1.0
    if mass >= LITTLE_MASS:
        return ()
    chat = "its chat template (--chat), or " if settings.get("chat_template") == "none" else ""
    return (
        f"{settings['model']} gave the letters {mass:.0%} of its probability (median). It may want {chat}words before "
        "a letter (--template reasoning).",
    )
