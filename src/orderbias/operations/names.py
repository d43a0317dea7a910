"""Operations by name, as a command line gives them; holds no arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from orderbias.errors import ArgumentError
from orderbias.operations.chain import chain
from orderbias.operations.control import LetterPermuted
from orderbias.operations.corrections import CORRECTIONS, PriorCorrection
from orderbias.operations.interventions import AddPreference
from orderbias.operations.pools import MajorityVote, MeanLogprob, MeanProbability
from orderbias.operations.protocol import NoOperation, Operation
from orderbias.operations.reversals import AgreeOrAbstain, ReversalProduct

#: What is compared when nothing is asked for.
DEFAULT_OPERATIONS = (
    "none,pride,batch-calibration,reversal-product,pride>reversal-product,batch-calibration>reversal-product,"
    "majority-vote"
)


@dataclass(frozen=True, slots=True)
class Named:
    """How an operation is made from its options.

    Parameters
    ----------
    build
        Takes the options' texts.
    options
        The keys it knows, each with what it may be.
    """

    build: Callable[[Mapping[str, str]], Operation]
    options: Mapping[str, str]


def _number(options: Mapping[str, str], key: str, default: float) -> float:
    text = options.get(key)
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"`{key}` must be a number. Got {text!r}.") from None


def _integer(options: Mapping[str, str], key: str, default: int) -> int:
    text = options.get(key)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f"`{key}` must be a whole number. Got {text!r}.") from None


def _correction(kind: type[PriorCorrection]) -> Named:
    def build(options: Mapping[str, str]) -> Operation:
        scored = options.get("scored", "presented")
        if scored not in ("presented", "canonical"):
            raise ArgumentError(f"`scored` must be presented or canonical. Got {scored!r}.")
        return kind(_number(options, "alpha", 1.0), options.get("on", "calibration"), scored == "canonical")

    return Named(build, {"alpha": "NUMBER", "on": "calibration|evaluated", "scored": "presented|canonical"})


def _letter_permuted(options: Mapping[str, str]) -> Operation:
    return LetterPermuted(
        options.get("of", "pride"),
        _number(options, "alpha", 1.0),
        _integer(options, "n", 23),
        _integer(options, "seed", 0),
    )


def _add_preference(options: Mapping[str, str]) -> Operation:
    text = options.get("shape", "front-to-back")
    parts = text.split()
    try:
        shape: str | tuple[float, ...] = tuple(float(part) for part in parts) if len(parts) > 1 else text
    except ValueError:
        raise ArgumentError(f"`shape` must be a name, or numbers by place. Got {text!r}.") from None
    return AddPreference(shape, _number(options, "strength", 1.0))


#: Every operation a command line may name.
NAMES: dict[str, Named] = {
    "none": Named(lambda options: NoOperation(), {}),
    **{kind: _correction(correction) for kind, correction in CORRECTIONS.items()},
    "letter-permuted": Named(
        _letter_permuted, {"of": "|".join(CORRECTIONS), "alpha": "NUMBER", "n": "COUNT", "seed": "SEED"}
    ),
    "reversal-product": Named(lambda options: ReversalProduct(), {}),
    "agree-or-abstain": Named(lambda options: AgreeOrAbstain(), {}),
    "majority-vote": Named(
        lambda options: MajorityVote(options.get("ties", "content"), _integer(options, "seed", 0)),
        {"ties": "content|hash", "seed": "SEED"},
    ),
    "mean-probability": Named(lambda options: MeanProbability(), {}),
    "mean-logprob": Named(lambda options: MeanLogprob(), {}),
    "add-preference": Named(_add_preference, {"shape": "NAME|NUMBERS", "strength": "NUMBER"}),
}


def parse_operations(text: str) -> tuple[Operation, ...]:
    """Read operations separated by commas; ``a>b`` is a chain, ``name:key=value`` sets an option.

    Raises
    ------
    ArgumentError
        If a name or an option is unknown, a value is outside its range, an operation is named twice, or a chain's step
        needs what an earlier one does not leave. Valid names are listed.

    Examples
    --------
    >>> [op.name for op in parse_operations("none, pride:alpha=0.5, pride>reversal-product")]
    ['none', 'pride:alpha=0.5', 'pride>reversal-product']
    """
    operations = tuple(parse_operation(part) for part in text.split(","))
    names = [operation.name for operation in operations]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ArgumentError(f"Each operation may be named once. Got {twice!r} twice.")
    return operations


def parse_operation(text: str) -> Operation:
    """Read one operation or chain; see :func:`parse_operations`."""
    return chain(*(_parse_step(part.strip()) for part in text.split(">")))


def _parse_step(text: str) -> Operation:
    name, *settings = text.split(":")
    if name not in NAMES:
        near = get_close_matches(name, NAMES, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(f"An operation must be one of {', '.join(NAMES)}; chain with '>'. Got {name!r}.{hint}")
    known = NAMES[name].options
    options = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key not in known or key in options:
            forms = ", ".join(f"{k}={v}" for k, v in known.items()) or "none"
            raise ArgumentError(f"The options of {name!r} are: {forms}; each once. Got {setting!r}.")
        options[key] = value
    try:
        return NAMES[name].build(options)
    except ArgumentError as error:
        raise ArgumentError(f"{text!r}: {error}") from None
