"""What the answer of each row is: log-probabilities, place, ties and status, judged together; knows no file format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.records.raw import Faults, Raw, Series, list_at
from orderbias.records.values import RECORD_STATUSES, block, blocks, offsets_of

#: A log-probability below this is under the smallest positive double; what stands there is a filler, such as -9999.
FILLER_BELOW = -745.0

#: A log-probability may lie this far above 0, as rounding in the model leaves it.
ABOVE_ZERO = 1e-6

#: Probabilities of one row may sum to this: half precision rounds each by up to 0.4 %.
MORE_THAN_ONE = 1.05

OK, UNPARSED, REFUSED, ERROR = range(len(RECORD_STATUSES))
_UNSAID = -1


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Columns of records: ``place`` (-1 without answer), ``ties``, ``status``, ``logprobs`` (flat, or None)."""

    place: NDArray[np.int8]
    ties: NDArray[np.bool_]
    status: NDArray[np.int8]
    logprobs: NDArray[np.float64] | None
    notices: tuple[str, ...]


def settle_answers(
    raw: Raw,
    offsets: NDArray[np.int64],
    place: NDArray[np.int8],
    status: NDArray[np.int8],
    sound: NDArray[np.bool_],
    found: Faults,
) -> Answers:
    """Settle what each row answered.

    ``place`` is the argmax of the log-probabilities where those exist, ties to the lowest place. A row that lacks the
    log-probability of a label is censored: its status is ``error``, and none of its numbers is kept. A row with
    neither answer nor status is ``unparsed``.

    Parameters
    ----------
    raw
        The columns of one file.
    offsets
        int64 ``(n_rows + 1,)``: where each row's ordering starts.
    place
        int8 ``(n_rows,)``: the places that the file gives, -1 for null.
    status
        int8 ``(n_rows,)``: codes that the file gives, -1 for null.
    sound
        Bool ``(n_rows,)``: rows whose ordering is a permutation; no other is judged.
    found
        Collects the faults.
    """
    given = raw.numbers["place"].known if "place" in raw.numbers else np.zeros(raw.n_rows, bool)
    logprobs, censored = _lay_out(raw, offsets, status, sound, found)
    best, ties = place, np.zeros(raw.n_rows, bool)
    if logprobs is not None:
        best, ties = _choose(logprobs, offsets, place, given & sound, found)
    answered = (best >= 0) & ~censored
    _judge_status(status, answered, given & ~censored, sound & ~censored, found)
    silent = (status == _UNSAID) & ~answered & ~censored
    excess = _more_than_whole(logprobs, offsets)
    settled = np.where(status == _UNSAID, np.where(answered, OK, UNPARSED), status)
    settled = np.where(censored, ERROR, settled).astype(np.int8)
    usable = (settled == OK) & answered
    return Answers(
        place=np.where(usable, best, -1).astype(np.int8),
        ties=ties & usable,
        status=settled,
        logprobs=logprobs,
        notices=_notices(raw, silent, censored, excess),
    )


def _lay_out(
    raw: Raw, offsets: NDArray[np.int64], status: NDArray[np.int8], sound: NDArray[np.bool_], found: Faults
) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Return log-probabilities laid out as the positions, NaN in rows without any, and which rows are censored.

    Rows whose status is not ``ok`` are not judged, and keep none.
    """
    nowhere = np.zeros(raw.n_rows, bool)
    series = raw.series.get("logprobs")
    if series is None or not series.given.any():
        return None, nowhere
    judged = series.given & sound & (status <= OK)
    wrong_size = judged & (series.sizes != np.diff(offsets))
    show = list_at(series, offsets_of(series.sizes))
    found.add(np.flatnonzero(wrong_size), "`logprobs` must hold one number for each place of `positions`.", show)
    kept = judged & ~wrong_size
    logprobs, known = _spread(series, kept, offsets)
    lost = logprobs < FILLER_BELOW
    if known is not None:
        lost |= ~known
    censored = nowhere
    if lost.any():
        censored = np.logical_or.reduceat(np.append(lost, False), offsets[:-1]) & kept
        logprobs = np.where(np.repeat(censored, np.diff(offsets)), np.nan, logprobs)
    _judge_logprobs(logprobs, kept & ~censored, offsets, found)
    return (logprobs if (kept & ~censored).any() else None), censored


def _spread(
    series: Series, kept: NDArray[np.bool_], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Return the kept lists laid out by ``offsets``, and which of their values are not null (None: all)."""
    if kept.all():
        return series.values.astype(np.float64, copy=False), series.known
    target, source = np.repeat(kept, np.diff(offsets)), np.repeat(kept, series.sizes)
    logprobs = np.full(int(offsets[-1]), np.nan)
    logprobs[target] = series.values[source]
    if series.known is None:
        return logprobs, None
    known = np.ones(len(logprobs), bool)
    known[target] = series.known[source]
    return logprobs, known


def _judge_logprobs(
    logprobs: NDArray[np.float64], judged: NDArray[np.bool_], offsets: NDArray[np.int64], found: Faults
) -> None:
    def show(row: int) -> str:
        return str(logprobs[offsets[row] : offsets[row + 1]].tolist())

    for k, rows, flat in blocks(offsets):
        if k < 2:
            continue
        top = block(logprobs, k, flat).max(axis=1)
        index = np.arange(len(judged))[rows]
        found.add(
            index[np.isnan(top) & judged[rows]], "`logprobs` must be numbers.", show, "A label without one is null."
        )
        found.add(
            index[(top > ABOVE_ZERO) & judged[rows]],
            "`logprobs` must be natural logarithms of probabilities, at most 0.",
            show,
            "Of logits, subtract the log-sum-exp first; of probabilities, take the logarithm.",
        )


def _choose(
    logprobs: NDArray[np.float64],
    offsets: NDArray[np.int64],
    place: NDArray[np.int8],
    given: NDArray[np.bool_],
    found: Faults,
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return the place of highest log-probability, the lowest of ties, and which are tied; else the place given."""
    best, ties = place.copy(), np.zeros(len(place), bool)
    wrong = ties.copy()
    for k, rows, flat in blocks(offsets):
        if k < 2:
            continue
        table = block(logprobs, k, flat)
        there, top, named = ~np.isnan(table[:, 0]), table.max(axis=1), place[rows]
        best[rows] = np.where(there, table.argmax(axis=1), named)
        ties[rows] = ((table == top[:, None]).sum(axis=1) > 1) & there
        if given.any():
            at_named = np.take_along_axis(table, np.maximum(named, 0).astype(np.intp)[:, None], axis=1)[:, 0]
            wrong[rows] = there & (named >= 0) & (at_named != top)
    found.add(
        np.flatnonzero(wrong & given),
        "`place` must be the argmax of `logprobs`.",
        lambda i: f"place {place[i]}, argmax {best[i]}",
        "Leave `place` out, or check that `logprobs` are by place and not by content.",
    )
    return best, ties


def _judge_status(
    status: NDArray[np.int8],
    answered: NDArray[np.bool_],
    given: NDArray[np.bool_],
    judged: NDArray[np.bool_],
    found: Faults,
) -> None:
    excess = (status > OK) & given & judged
    found.add(
        np.flatnonzero(excess),
        "`place` must be null where `status` is not ok.",
        lambda i: f"a place with status {RECORD_STATUSES[status[i]]}",
    )
    empty = (status == OK) & ~answered & ~given & judged
    found.add(
        np.flatnonzero(empty),
        "`place` or `logprobs` must be there where `status` is ok.",
        lambda i: "null",
        "A reply without an answer is `unparsed`, `refused` or `error`.",
    )


def _more_than_whole(logprobs: NDArray[np.float64] | None, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the probabilities of each row sum to more than one, beyond what half precision leaves."""
    more = np.zeros(len(offsets) - 1, bool)
    if logprobs is None:
        return more
    for k, rows, flat in blocks(offsets):
        if k >= 2:
            with np.errstate(over="ignore", invalid="ignore"):
                more[rows] = np.exp(block(logprobs, k, flat)).sum(axis=1) > MORE_THAN_ONE
    return more


def _notices(
    raw: Raw, silent: NDArray[np.bool_], censored: NDArray[np.bool_], excess: NDArray[np.bool_]
) -> tuple[str, ...]:
    notices = []
    if excess.any():
        notices.append(
            f"{raw.source.file}: the probabilities of {int(excess.sum())} rows sum to more than 1, first "
            f"{raw.source.at(int(np.argmax(excess)))}. If `logprobs` are logits or scores, only the choices made from "
            "them are sound: subtract the log-sum-exp first."
        )
    if silent.any():
        notices.append(
            f"{raw.source.file}: {int(silent.sum())} rows have neither an answer nor a status, first "
            f"{raw.source.at(int(np.argmax(silent)))}; they count as `unparsed`."
        )
    if censored.any():
        notices.append(
            f"{raw.source.file}: {int(censored.sum())} rows lack the log-probability of a label (null, or a filler "
            f"below {FILLER_BELOW:g}), first {raw.source.at(int(np.argmax(censored)))}; they count as `error`, and "
            "none of their numbers is used."
        )
    return tuple(notices)
