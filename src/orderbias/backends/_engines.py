"""Which engine computes a run: the tree where it agrees with one prompt at a time, else plain batches.

Every architecture is judged by what it answers here, on the run's own first prompts, not by its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from orderbias.backends._labels import Path
from orderbias.backends._plain import PlainEngine
from orderbias.backends._tree import TreeEngine
from orderbias.errors import ModelError

EngineName = Literal["auto", "tree", "plain"]

#: Largest difference of log-probabilities from those of one prompt at a time, by the size of a number in bytes. In
#: half precision the model's own logits are rounded to steps of up to 0.125, which ours are not.
TOLERANCE = {4: 1e-3, 2: 0.5}
#: Groups that an engine is checked on together, and paths of each that are computed one at a time as well.
CHECKED_GROUPS = 2
CHECKED_PATHS = 2


class Engine(Protocol):
    """Scores token sequences in groups that resemble each other."""

    def score(self, groups: Sequence[Sequence[Path]]) -> list[list[list[float]]]:
        """Return, for every path of every group, the log-probabilities of its wanted tokens."""
        ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """An engine that agrees with the model's own answers, and what must be said of the choice."""

    engine: Engine
    notices: tuple[str, ...] = ()


def choose_engine(model: Any, token_budget: int, name: EngineName, groups: Sequence[Sequence[Path]]) -> Chosen:
    """Choose an engine by comparing its answers on the first groups with one full forward pass for each prompt.

    Parameters
    ----------
    model
        A causal language model of transformers.
    token_budget
        Tokens of one batch.
    name
        ``tree`` or ``plain`` to insist on one; ``auto`` tries the tree first.
    groups
        Paths of the first items of the run.

    Raises
    ------
    ModelError
        If the engine that is insisted on, or no engine, agrees with the model.
    """
    above = alone_above(model.config)
    some = [group for group in groups if group][:CHECKED_GROUPS]
    checked = [sorted(set(g), key=lambda p: p.ids)[:: max(1, len(set(g)) - 1)][:CHECKED_PATHS] for g in some]
    truth = {p: one_at_a_time(model, p) for group in checked for p in group}
    reasons = []
    if name in ("auto", "tree"):
        try:
            tree = _Sized(TreeEngine(model, token_budget), PlainEngine(model, 1), above)
            return Chosen(_agreeing(tree, some, truth, model))
        except Exception as e:  # whatever an unknown architecture throws means that it does not take part
            reasons.append(f"The prefix tree cannot be used for {type(model).__name__}: {one_line(e)}.")
            if name == "tree":
                raise ModelError(f"{reasons[0]} Use engine 'auto' or 'plain'.") from e
    for budget, how in ((token_budget, "plain batches"), (1, "one prompt at a time")):
        try:
            plain = _Sized(PlainEngine(model, budget), PlainEngine(model, 1), above)
            engine = _agreeing(plain, some, truth, model)
        except _DisagreementError as e:
            reasons.append(f"{how.capitalize()} cannot be used: {e}.")
        else:
            return Chosen(engine, (f"{' '.join(reasons)} Using {how}.",) if reasons else ())
    raise ModelError(f"{' '.join(reasons)} This model cannot be asked for label probabilities.")


@dataclass(frozen=True, slots=True)
class _Sized:
    """Sends sequences longer than ``alone_above`` to an engine of their own."""

    engine: Engine
    alone: Engine
    alone_above: int | None

    def score(self, groups: Sequence[Sequence[Path]]) -> list[list[list[float]]]:
        if self.alone_above is None:
            return self.engine.score(groups)
        long = [[p for p in group if len(p.ids) > self.alone_above] for group in groups]
        short = [[p for p in group if len(p.ids) <= self.alone_above] for group in groups]
        found: dict[Path, list[float]] = {}
        for engine, parts in ((self.engine, short), (self.alone, long)):
            for paths, values in zip(parts, engine.score(parts), strict=True):
                found.update(zip(paths, values, strict=True))
        return [[found[p] for p in group] for group in groups]


def alone_above(config: Any) -> int | None:
    """Return the length above which a sequence changes how all positions of its batch are encoded.

    Models with LongRoPE switch frequencies for a whole batch once its longest position passes their first context
    length, so a prompt beyond it would change the numbers of the short ones beside it.
    """
    text = config.get_text_config()
    rope = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
    kind = rope.get("rope_type", rope.get("type"))
    if kind not in ("longrope", "su", "dynamic"):
        return None
    original = rope.get("original_max_position_embeddings") or getattr(text, "original_max_position_embeddings", None)
    return int(original or text.max_position_embeddings)


class _DisagreementError(Exception):
    """An engine's numbers are not the model's."""


def _agreeing(engine: Engine, groups: Sequence[Sequence[Path]], truth: dict[Path, list[float]], model: Any) -> Engine:
    found = engine.score(groups)
    scored = {p: v for group, values in zip(groups, found, strict=True) for p, v in zip(group, values, strict=True)}
    worst = max((abs(a - b) for p, t in truth.items() for a, b in zip(scored[p], t, strict=True)), default=0.0)
    allowed = TOLERANCE[model.dtype.itemsize]
    if not worst <= allowed:
        raise _DisagreementError(f"its log-probabilities differ by {worst:.2g} from the model's (allowed {allowed:g})")
    return engine


def one_at_a_time(model: Any, path: Path) -> list[float]:
    """Return the log-probabilities of a path's wanted tokens from the model's own logits, nothing shared."""
    import torch

    inputs: dict[str, Any] = {"input_ids": torch.tensor([path.ids], device=model.device)}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        inputs["logits_to_keep"] = 1
    with torch.inference_mode():
        logits = model(**inputs, use_cache=False, return_dict=True).logits[0, -1].double()
        values: list[float] = torch.log_softmax(logits, dim=-1)[list(path.wanted)].tolist()
    return values


def one_line(error: Exception) -> str:
    """Return the first line of what an error says, or its name where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")
