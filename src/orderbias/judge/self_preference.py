"""Whether a judge prefers answers of its own family, with what people prefer held fixed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.means import Estimate
from orderbias.judge.logistic import LogisticFit, fit_logistic
from orderbias.judge.scoring import pair_verdicts
from orderbias.judge.values import SIGNS, Judgments, NotChecked
from orderbias.judge.win_rates import share
from orderbias.verdicts import TIE

#: How the names of a family's models begin, in lower case and without the organisation before a slash.
FAMILIES: Mapping[str, str] = {
    "gpt": "OpenAI", "chatgpt": "OpenAI", "o1": "OpenAI", "o3": "OpenAI", "o4": "OpenAI", "text-davinci": "OpenAI",
    "davinci": "OpenAI", "claude": "Anthropic", "gemini": "Google", "palm": "Google", "bard": "Google",
    "gemma": "Google", "llama": "Llama", "meta-llama": "Llama", "qwen": "Qwen", "qwq": "Qwen", "mistral": "Mistral",
    "mixtral": "Mistral", "ministral": "Mistral", "codestral": "Mistral", "deepseek": "DeepSeek", "falcon": "Falcon",
    "command": "Cohere", "phi": "Phi", "grok": "xAI", "yi": "Yi", "glm": "GLM", "chatglm": "GLM",
    "internlm": "InternLM", "smollm": "SmolLM", "olmo": "OLMo", "vicuna": "Vicuna", "alpaca": "Alpaca",
    "codellama": "Llama", "code-llama": "Llama", "code-davinci": "OpenAI", "kimi": "Kimi", "nova": "Nova",
    # These begin as OpenAI's do and are not.
    "gpt-j": "EleutherAI", "gpt-neo": "EleutherAI", "gpt-neox": "EleutherAI", "gpt4all": "GPT4All",
}  # fmt: skip

_AFTER_NAME = re.compile(r"[^a-z]|$")
_AFTER_NUMBER = re.compile(r"[^a-z0-9]|$")
_LONGEST_FIRST = sorted(FAMILIES, key=len, reverse=True)
#: What may stand between an organisation and a model, as in ``anthropic.claude-3``; a slash always does.
_BETWEEN = re.compile(r"[.:]")


def family_of(name: str, families: Mapping[str, str] | None = None) -> str | None:
    """Return the family of a model by the beginning of its name, None where it is not known.

    Parameters
    ----------
    name
        A model or a judge, as ``openai/gpt-4-0613``.
    families
        Families by whole name, which come before the built-in beginnings (:data:`FAMILIES`). A model tuned from
        another is of its own family by these, as Vicuna is.

    Examples
    --------
    >>> family_of("openai/gpt-4-0613"), family_of("Llama-3.1-8B"), family_of("philosopher"), family_of("x", {"x": "y"})
    ('OpenAI', 'Llama', None, 'y')
    """
    if families and name in families:
        return families[name]
    bare = name.strip().rsplit("/", 1)[-1].lower()
    for start in (0, *(mark.end() for mark in _BETWEEN.finditer(bare))):
        for beginning in _LONGEST_FIRST:
            # The name must not go on with letters: `phi-3` is Phi, `philosopher` is not; nor `o1` with a digit.
            after = _AFTER_NUMBER if beginning[-1].isdigit() else _AFTER_NAME
            if bare.startswith(beginning, start) and after.match(bare, start + len(beginning)):
                return FAMILIES[beginning]
    return None


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """How a judge treats answers of its own family.

    ``n_pairs`` are the pairs of which exactly one member is of the judge's family; ``n_tied`` of them end in a tie or
    have no tie-free label, and are in none of the shares. ``judge_prefers_own`` and ``people_prefer_own`` are shares of
    the others. ``log_odds`` is the coefficient of "is of my own family" in a logistic model of the judge's verdict over
    all decisive pairs, with what people prefer held fixed; 0 says that the family makes no difference. ``unknown``
    names the models whose family is not known; they are taken to be of another one.
    """

    family: str
    n_pairs: int
    n_tied: int
    judge_prefers_own: Estimate
    people_prefer_own: Estimate
    log_odds: float | None
    interval: tuple[float, float] | None
    p_value: float | None
    fit: LogisticFit | NotChecked
    unknown: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        fitted = isinstance(self.fit, LogisticFit)
        return {
            "family": self.family, "n_pairs": self.n_pairs, "n_tied": self.n_tied,
            "judge_prefers_own": self.judge_prefers_own.as_dict(),
            "people_prefer_own": self.people_prefer_own.as_dict(),
            "log_odds": self.log_odds, "interval": None if self.interval is None else list(self.interval),
            "p_value": self.p_value, "unknown_families": list(self.unknown),
            "model": self.fit.as_dict() if fitted else {"not_fitted": self.fit.why},  # type: ignore[union-attr]
        }  # fmt: skip


def self_preference(
    judgments: Judgments, *, families: Mapping[str, str] | None = None, level: float = 0.95
) -> SelfPreference | NotChecked:
    """Model the judge's verdicts by whose answer it is, with the human label held fixed.

    The model is ``logit P(A) = b0 + b1 own + b2 human`` over pairs with a decisive verdict and a label, where ``own``
    is 1 if A alone is of the judge's family, -1 if B alone, else 0, and ``human`` 1 for A, -1 for B, 0 for a tie.

    Returns
    -------
    SelfPreference or NotChecked
        The latter names the column that is missing, or says that no pair has exactly one member of the family.
    """
    if judgments.model_a is None or judgments.model_b is None:
        return NotChecked("needs `model_a` and `model_b`")
    if judgments.human is None:
        return NotChecked("needs `human`")
    family = family_of(judgments.judge, families)
    if family is None:
        return NotChecked(f"needs the family of the judge {judgments.judge!r}: --family NAME=FAMILY")
    own = _is_of(judgments.model_a, family, families).astype(int) - _is_of(judgments.model_b, family, families)
    (verdicts, _), human = pair_verdicts(judgments), judgments.human
    known = (verdicts >= 0) & (human >= 0)
    one = known & (own != 0)
    if not one.any():
        return NotChecked(f"needs labelled pairs of which exactly one member is of the judge's family, {family}")
    decisive = one & (verdicts != TIE) & (human != TIE)
    fit = _fit(own, verdicts, human, known & (verdicts != TIE), level)
    b, ends, p_value = _coefficient(fit)
    owned_a = own[decisive] > 0
    return SelfPreference(
        family,
        int(one.sum()),
        int(one.sum() - decisive.sum()),
        share(int((owned_a == (verdicts[decisive] == 0)).sum()), int(decisive.sum()), level),
        share(int((owned_a == (human[decisive] == 0)).sum()), int(decisive.sum()), level),
        b,
        ends,
        p_value,
        fit,
        _unknown(judgments, families),
    )


def _is_of(models: NDArray[np.object_], family: str, families: Mapping[str, str] | None) -> NDArray[np.bool_]:
    known: dict[str, bool] = {}
    return np.array([
        known[m] if m in known else known.setdefault(m, m is not None and family_of(str(m), families) == family)
        for m in models
    ], bool)  # fmt: skip


def _unknown(judgments: Judgments, families: Mapping[str, str] | None) -> tuple[str, ...]:
    names = {m for models in (judgments.model_a, judgments.model_b) if models is not None for m in models}
    return tuple(sorted("(no name)" if m is None else str(m) for m in names if m is None or not _known(m, families)))


def _known(model: object, families: Mapping[str, str] | None) -> bool:
    return family_of(str(model), families) is not None


def _fit(
    own: NDArray[np.integer],
    verdicts: NDArray[np.int8],
    human: NDArray[np.int8],
    rows: NDArray[np.bool_],
    level: float,
) -> LogisticFit | NotChecked:
    if not rows.any():
        return NotChecked("needs decisive verdicts on pairs with a label")
    preferred = SIGNS[human[rows]]
    columns = {"own": own[rows].astype(np.float64), "human": preferred}
    # A column that never varies says nothing, and would make the intercept's estimate arbitrary.
    kept = {name: column for name, column in columns.items() if np.ptp(column) > 0 or name == "own"}
    names = ["intercept", *kept] if np.ptp(columns["own"]) > 0 else list(kept)
    design = np.stack([np.ones(int(rows.sum())) if n == "intercept" else kept[n] for n in names], axis=1)
    return fit_logistic((verdicts[rows] == 0).astype(np.float64), design, names, level=level, wanted=["own"])


def _coefficient(fit: LogisticFit | NotChecked) -> tuple[float | None, tuple[float, float] | None, float | None]:
    if isinstance(fit, NotChecked):
        return None, None, None
    row = fit.coefficient("own")
    return row.estimate, row.interval, row.p_value
