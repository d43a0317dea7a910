"""Cells made of planted laws for the tests of operations, and measures written as loops apart from the library."""

from __future__ import annotations

import numpy as np

from orderbias.orderings import cyclic, cyclic_with_reversals, reversal
from orderbias.predictions import MISSING, UNPARSED, Predictions
from orderbias.signature import Signature


def answered(logprobs, positions, **rest):
    """Predictions whose answers are the argmax of log-probabilities by place; a row of NaN is missing."""
    logprobs = np.asarray(logprobs)
    positions = np.asarray(positions)
    there = ~np.isnan(logprobs).any(axis=-1)
    full = np.broadcast_to(positions, logprobs.shape)
    place = np.where(there, np.nan_to_num(logprobs, nan=-np.inf).argmax(axis=-1), 0)
    choice = np.where(there, np.argsort(full, axis=-1)[(*np.indices(place.shape), place)], -1)
    status = rest.pop("status", np.where(there, 0, MISSING))
    rest.setdefault("gold", np.zeros(len(choice), int))
    return Predictions(choice=choice, positions=positions, logprobs=logprobs, status=status, **rest)


def logits(strengths, positions, preference=0.0, noise=0.0, rng=None):
    """Log-probabilities by place: strength of the content shown + preference of the place + normal noise."""
    full = np.broadcast_to(positions, (len(strengths), *np.shape(positions)[-2:]))
    shown = np.argsort(full, axis=-1)
    scores = np.take_along_axis(np.broadcast_to(strengths[:, None], shown.shape), shown, axis=2) + preference
    if noise:
        scores = scores + noise * rng.standard_normal(scores.shape)
    return scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)


def planted(n_items, n_options, preference=0.0, noise=0.5, seed=0, skill=0.7, design=None, **rest):
    """A cell under one shared design (cyclic with reversals) with a planted letter preference."""
    rng = np.random.default_rng(seed)
    design = cyclic_with_reversals(n_options) if design is None else design
    gold = rng.integers(n_options, size=n_items)
    strengths = rng.standard_normal((n_items, n_options))
    strengths[np.arange(n_items), gold] += skill
    scores = logits(strengths, design.positions, preference, noise, rng)
    rest.setdefault("model", "planted")
    rest.setdefault("source", Signature.of(template="t0", seed=seed))
    return answered(
        scores,
        design.positions,
        gold=gold,
        presented=design.presented,
        mass=np.full(scores.shape[:2], 0.9),
        group=np.array([f"g{i % 3}" for i in range(n_items)], object),
        **rest,
    )


def planted_per_item(n_items, n_options, preference=0.0, noise=0.5, seed=0):
    """A cell whose items have relabelled cyclic sets of their own, once or twice over."""
    rng = np.random.default_rng(seed)
    base = cyclic(n_options).positions
    rows = np.stack([base[:, rng.permutation(n_options)] for _ in range(n_items)])
    parts = [rows, rows] if n_options == 2 else [rows, rows, reversal(rows), reversal(rows)]
    positions = np.concatenate(parts, axis=1)
    presented = np.arange(positions.shape[1]) < 2 * n_options
    asked = np.ones(positions.shape[:2], bool)
    twice = rng.random(n_items) < 0.5
    second = (np.arange(positions.shape[1]) // n_options) % 2 == 1
    asked[np.ix_(~twice, second)] = False
    scores = logits(rng.standard_normal((n_items, n_options)), positions, preference, noise, rng)
    scores[~asked] = np.nan
    return answered(scores, positions, presented=presented, asked=asked, gold=rng.integers(n_options, size=n_items))


def with_gaps(cell):
    """The cell with item 0 unanswered throughout, item 1 unanswered once, item 2 without its last query."""
    scores = np.array(cell.logprobs)
    status = np.array(cell.status)
    first = int(np.flatnonzero(cell.scored[1])[0])
    last = int(np.flatnonzero(cell.asked[2])[-1]) if cell.asked is not None else cell.n_orderings - 1
    for row, slots in ((0, slice(None)), (1, first), (2, last)):
        scores[row, slots] = np.nan
        status[row, slots] = UNPARSED
    return answered(
        scores,
        cell.positions,
        gold=cell.gold,
        presented=cell.presented,
        asked=cell.asked,
        status=status,
        group=cell.group,
        item_ids=cell.item_ids,
    )


# --- measures, item by item --------------------------------------------------------------------------------------


def scored_rows(cell):
    """(chosen contents, chosen places) over the presented orderings of each usable item, as lists."""
    for i in range(cell.n_items):
        slots = [s for s in range(cell.n_orderings) if cell.scored[i, s]]
        contents = [int(cell.choice[i, s]) for s in slots]
        if not slots or min(contents) < 0:
            continue
        positions = cell.positions[i] if cell.per_item else cell.positions
        yield contents, [int(positions[s][c]) for s, c in zip(slots, contents, strict=True)]


def flip_rate(cell):
    flips = [len(set(contents)) > 1 for contents, _ in scored_rows(cell)]
    return sum(flips) / len(flips)


def skew(cell):
    """std(g): how unevenly the flipping items' answers spread; None without a flip."""
    flipping = [places for contents, places in scored_rows(cell) if len(set(contents)) > 1]
    if not flipping:
        return None
    shares = [np.bincount(places, minlength=cell.n_options) / len(places) for places in flipping]
    return float(np.mean(shares, axis=0).std())


def placement_range(cell):
    """Range over places of the accuracy with the gold shown there, over a balanced shared design."""
    right = {place: [] for place in range(cell.n_options)}
    slots = np.flatnonzero(cell.presented)
    for i in np.flatnonzero(cell.usable):
        for s in slots:
            right[int(cell.positions[s, cell.gold[i]])].append(cell.choice[i, s] == cell.gold[i])
    accuracy = [np.mean(v) for v in right.values()]
    return max(accuracy) - min(accuracy)
