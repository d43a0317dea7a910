"""A panel whose laws are known: what each analysis must find, and must not find where nothing is planted.

The logit of the label at place r, for item i under ordering p, is

    strength * [content is gold] * ease_i + content noise_ij + lean * prior_r + wobble * noise_ipr

Only ``wobble`` and the prior make answers move; only the prior makes them lean. Checkpoints differ in strength (size,
post-training) and in the prior, benchmarks in ease. Every number is drawn from ``seed``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.orderings import parse_design
from orderbias.predictions import Predictions
from orderbias.studies.panel import Checkpoint, Panel, PanelCell, Settings, panel_cell

#: Options of the paper's twelve benchmarks.
OPTIONS = (4, 4, 4, 4, 2, 4, 4, 10, 4, 2, 4, 4)
FAMILIES = ("Ash", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse")


@dataclass(frozen=True)
class Laws:
    """What is planted.

    ``lean`` scales the priors over labels (0: nobody leans), ``wobble`` what an ordering adds at random (0: answers
    move by the prior alone), ``strength`` the lowest and highest pull of the gold content, ``uncertain`` the spread of
    contents' own scores, ``front`` the share of every prior that is one shape, the same for all checkpoints.
    """

    lean: float = 0.6
    wobble: float = 0.7
    strength: tuple[float, float] = (0.2, 3.0)
    uncertain: float = 1.0
    front: float = 0.0


def checkpoints(n: int) -> list[Checkpoint]:
    """Return checkpoints of seven families, every second one post-trained from the one before."""
    found: list[Checkpoint] = []
    for i in range(n):
        family = FAMILIES[(i // 2) % len(FAMILIES)]
        size = float(2 ** (i // (2 * len(FAMILIES)))) * 1e9
        trained = bool(i % 2)
        name = f"{family}-{size / 1e9:g}B{'-it' if trained else ''}"
        found.append(Checkpoint(name, family, size, trained, found[-1].name if trained else None))
    return found


def simulated_panel(
    n_checkpoints: int = 41,
    n_benchmarks: int = 12,
    n_items: int = 500,
    *,
    laws: Laws | None = None,
    design: str = "cyclic+reversals",
    seed: int = 0,
    settings: Settings | None = None,
    options: tuple[int, ...] = OPTIONS,
    readout: str = "first-token",
) -> Panel:
    """Draw a panel."""
    laws = laws or Laws()
    rng = np.random.default_rng(seed)
    roster = checkpoints(n_checkpoints)
    low, high = laws.strength
    strength = np.linspace(low, high, n_checkpoints) + rng.normal(0, 0.1, n_checkpoints)
    shared = rng.normal(0, 1, 26)
    priors = [(1 - laws.front) * rng.normal(0, 1, 26) + laws.front * shared for _ in roster]
    scale = rng.gamma(2.0, 0.5, n_checkpoints)  # how strongly a checkpoint leans, whatever its strength
    cells: list[PanelCell] = []
    for b in range(n_benchmarks):
        k = options[b % len(options)]
        ease = rng.gamma(3.0, 1 / 3, n_items) * (0.5 + rng.random())
        gold = rng.integers(0, k, n_items)
        for i, checkpoint in enumerate(roster):
            scores = rng.normal(0, laws.uncertain, (n_items, k))
            scores[np.arange(n_items), gold] += strength[i] * ease
            prior = priors[i][:k] - priors[i][:k].mean()
            p = answered(scores, gold, laws.lean * scale[i] * prior, laws.wobble, design, rng)
            cells.append(panel_cell(_named(p, checkpoint.name, f"benchmark-{b}", readout), checkpoint))
    return Panel(tuple(cells), settings=settings or Settings())


def answered(
    scores: NDArray[np.float64],
    gold: NDArray[np.int64],
    prior: NDArray[np.float64],
    wobble: float,
    design: str,
    rng: np.random.Generator,
) -> Predictions:
    """Ask items of known content scores ``(n_items, n_options)`` under a design, with a prior over places."""
    n_items, k = scores.shape
    orderings = parse_design(design).design(k)
    positions = np.asarray(orderings.positions, np.intp)
    content_at = np.argsort(positions, axis=1)  # the content at each place
    logits = scores[:, content_at] + prior + wobble * rng.normal(0, 1, (n_items, len(positions), k))
    logprobs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    choice = np.take_along_axis(np.broadcast_to(content_at, logits.shape), logits.argmax(-1)[..., None], -1)[..., 0]
    return Predictions(choice, positions, gold, logprobs=logprobs, presented=orderings.presented)


def _named(p: Predictions, model: str, benchmark: str, readout: str) -> Predictions:
    return Predictions(
        p.choice, p.positions, p.gold, logprobs=p.logprobs, presented=p.presented, model=model, benchmark=benchmark,
        readout=readout,
    )  # fmt: skip
