"""A prior carried from one run to other data: estimated, kept as a file, divided out of records one by one."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from orderbias.errors import ArgumentError, DataError
from orderbias.operations import Prior, calibration_items, estimate_prior, take_items
from orderbias.operations.scores import pick
from orderbias.predictions import Predictions
from orderbias.records import Records, Words


def fit_prior(predictions: Predictions, kind: str = "pride", share: float | None = None, seed: int = 0) -> Prior:
    """Estimate a prior on all usable items of a cell, or on the calibration items that ``mitigate`` would take.

    Parameters
    ----------
    predictions
        A cell with log-probabilities; golds are not read.
    kind
        ``pride``, ``batch-calibration`` or ``log-calibration``.
    share
        Share of the usable items, above 0 and below 1; ``None`` for all.
    seed
        Of the choice of items.

    Raises
    ------
    ArgumentError
        If a value is outside its range, or the answers do not allow the estimate.
    """
    if share is None:
        return estimate_prior(predictions, kind)
    prior = estimate_prior(take_items(predictions, calibration_items(predictions, share, seed)), kind)
    return replace(prior, signature=prior.signature.extended(calibration=f"share {share:g} seed {seed}"))


def read_prior(path: str | os.PathLike[str]) -> Prior:
    """Read a prior's file.

    Raises
    ------
    DataError
        If it is no JSON, or no prior; every fault is listed.
    """
    file = Path(path)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        json.dumps(data, ensure_ascii=False).encode()  # an escape may be half of a character's pair
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file.name} must be the JSON of a prior. {error}. Write one: orderbias prior fit.") from None
    return Prior.from_dict(data, file.name)


def write_prior(path: str | os.PathLike[str], prior: Prior) -> None:
    """Write a prior as JSON; the whole file or nothing.

    Raises
    ------
    ArgumentError
        If a file is there that is no prior: the records it was fitted on, say.
    """
    file = Path(path)
    if not file.name:
        raise ArgumentError(f"A prior's file must have a name. Got {os.fspath(path)!r}.")
    if file.exists() and not _is_prior(file):
        raise ArgumentError(f"A prior's file must be new, or a prior already. {file} is not. Give another name.")
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.write_text(json.dumps(prior.to_dict(), indent=1) + "\n", encoding="utf-8")
        os.replace(partial, file)
    finally:
        partial.unlink(missing_ok=True)


def _is_prior(file: Path) -> bool:
    try:
        read_prior(file)
    except (DataError, OSError):
        return False
    return True


def corrected_records(records: Records, prior: Prior, alpha: float = 1.0) -> Records:
    """Divide a prior out of every answer: new log-probabilities, places and ties; all else stays.

    The readout's name says so (``first-token>pride``), so that both can be measured side by side. Rows without a usable
    answer stay as they are.

    Parameters
    ----------
    records
        Answers, every usable one with log-probabilities, all with the prior's number of options.
    prior
        What is divided out.
    alpha
        Its exponent, 0 or more.

    Raises
    ------
    ArgumentError
        If a number of options differs, log-probabilities are missing, or ``alpha`` is outside its range.

    Examples
    --------
    >>> from orderbias.records import Record, from_rows
    >>> row = Record(item_id="q1", positions=(0, 1), logprobs=(-0.5, -1.0))
    >>> corrected_records(from_rows([row]), Prior("by-hand", (0.8, 0.2))).place.tolist()
    [1]
    """
    if not (np.isfinite(alpha) and alpha >= 0):
        raise ArgumentError(f"`alpha` must be a number of 0 or more. Got {alpha}.")
    others = sorted(set(records.n_options.tolist()) - {prior.n_options})
    if others:
        raise ArgumentError(
            f"A prior goes with its own number of options. Got a prior over {prior.n_options} labels and records with "
            f"{', '.join(map(str, others))}. Fit one prior for each number of options."
        )
    usable = records.place >= 0
    lacking = int((usable & ~records.answered).sum())
    if lacking:
        raise ArgumentError(
            f"Every answer needs label log-probabilities (the column `logprobs`) for a prior to be divided out. "
            f"{lacking:,} of {int(usable.sum()):,} have none."
        )
    table = (np.full(records.offsets[-1], np.nan) if records.logprobs is None else records.logprobs).reshape(
        -1, prior.n_options
    )
    picked = pick(table - alpha * prior.log_values)
    readout = Words(records.readout.codes, np.array([f"{w}>{prior.kind}" for w in records.readout.words], object))
    return replace(
        records,
        readout=readout,
        logprobs=np.where(usable[:, None], picked.logprobs, table).ravel(),
        place=np.where(usable, picked.place, records.place).astype(np.int8),
        ties=np.where(usable, picked.tied, records.ties),
    )
