"""How an answer is got, from the options of ``orderbias run`` to a strategy, its name and its settings."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, cast

from orderbias.backends.embedding import DEFAULT_EMBEDDER
from orderbias.errors import ArgumentError, DataError
from orderbias.instructions import instructions_hash
from orderbias.items import ItemSet
from orderbias.prompts import Template
from orderbias.signature import text_hash
from orderbias.strategies import Strategy
from orderbias.strategies.chain_of_thought import ChainOfThought
from orderbias.strategies.direct import Direct
from orderbias.strategies.extraction import VALID_LETTERS, Fallback, LetterRule
from orderbias.strategies.independent import SCORING_TOKENS, Independent
from orderbias.strategies.matching import Matcher
from orderbias.strategies.one_letter import READOUT as ONE_LETTER
from orderbias.strategies.two_stage import FirstReply, TwoStage, first_replies
from orderbias.strategies.writing import LONG, SHORT, Writing

if TYPE_CHECKING:
    from orderbias.planning import QueryKey

DIRECT, CHAIN, TWO_STAGE, INDEPENDENT = "direct", "chain-of-thought", "two-stage", "independent"
#: The readouts in which an answer is written.
WRITTEN = (DIRECT, CHAIN, TWO_STAGE, INDEPENDENT)

_LETTERS = ("letters", "fallback")
#: The options that a readout has, besides those of every written one.
_OWN = {
    DIRECT: (*_LETTERS, "reasoning"),
    CHAIN: _LETTERS,
    TWO_STAGE: (*_LETTERS, "reasoning", "stage_one", "stage_two", "stage_one_from", "embedder", "min_characters",
                "min_cosine"),
    INDEPENDENT: ("reasoning",),
}  # fmt: skip
_MATCHING = ("embedder", "min_characters", "min_cosine")
_COMMON = ("max_tokens", "thinking_tokens", "temperature", "seed")
_DRAWING = ("temperature", "seed")


@dataclass(frozen=True, slots=True)
class WritingOptions:
    """How an answer is written and read; the fields are the command's options."""

    reasoning: bool = False
    max_tokens: int | None = None
    thinking_tokens: int = 0
    temperature: float = 0.0
    seed: int = 0
    letters: str = "four"
    fallback: str = "always"
    stage_one: str = "hidden"
    stage_two: str = "model"
    stage_one_from: str | None = None
    embedder: str = DEFAULT_EMBEDDER
    min_characters: int = 4
    min_cosine: float = 0.30


@dataclass(frozen=True, slots=True)
class Written:
    """A strategy with the name of its readout, the settings that go into a run, and what a user should be told."""

    strategy: Strategy
    readout: str
    settings: dict[str, object]
    notes: tuple[str, ...] = ()


def check_unused(readout: str, options: WritingOptions) -> None:
    """Raise ArgumentError if an option is given that would change nothing."""
    allowed = _allowed(readout)
    given = [f.name for f in fields(options) if getattr(options, f.name) != f.default]
    unused = [name for name in given if name not in allowed]
    if unused:
        where = [known for known in (*WRITTEN, ONE_LETTER) if set(unused) <= set(_allowed(known))]
        raise ArgumentError(
            f"{_named(unused)} must go with --readout {' or '.join(where) or 'that has it'}. Got --readout {readout}."
        )
    if readout == ONE_LETTER and options.seed and not options.temperature:
        raise ArgumentError("--seed must go with --temperature where a letter is written: nothing else is drawn.")
    if readout != TWO_STAGE:
        return
    for names, needs in ((_MATCHING, "match"), (_LETTERS, "model")):
        stray = [name for name in given if name in names]
        if stray and options.stage_two != needs:
            raise ArgumentError(f"{_named(stray)} must go with --stage-two {needs}. Got {options.stage_two}.")
    if options.stage_one_from is not None and options.temperature:
        raise ArgumentError("--temperature must be 0 where the first stage is given (--stage-one-from).")


def _allowed(readout: str) -> tuple[str, ...]:
    """Return the options that change something about a readout."""
    if readout in WRITTEN:
        return (*_OWN[readout], *_COMMON)
    return _DRAWING if readout == ONE_LETTER else ()


def _named(names: list[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def written(
    readout: str, options: WritingOptions, template: Template, items: ItemSet, *, own_template: bool = False
) -> Written:
    """Return the strategy of a written readout.

    Raises
    ------
    ArgumentError
        If an option does not go with the readout, or labels are no letters where a letter is read.
    """
    shots = f"-{template.n_shots}-shot" if template.n_shots else ""
    if readout in (DIRECT, CHAIN):
        return _letters(readout, options, template, items, shots)
    if shots:
        raise ArgumentError(f"--shots must go with --readout first-token, direct or chain-of-thought. Got {readout}.")
    if own_template and (readout == INDEPENDENT or options.stage_one == "hidden"):
        raise ArgumentError(f"--template must go with a readout that shows all options. Got {readout}.")
    return _independent(options) if readout == INDEPENDENT else _two_stage(options, template, items)


def _letters(readout: str, options: WritingOptions, template: Template, items: ItemSet, shots: str) -> Written:
    _check_labels(template)
    reasoning = readout == CHAIN or options.reasoning
    writing, settings = _writing(options, LONG if reasoning else SHORT)
    rule = _rule(options, opening=not reasoning)
    strategy = ChainOfThought(writing, rule) if reasoning else Direct(writing, rule)
    return Written(
        strategy, f"{CHAIN if reasoning else DIRECT}{shots}", settings | _rule_settings(rule), _too_many(rule, items)
    )


def _two_stage(options: WritingOptions, template: Template, items: ItemSet) -> Written:
    writing, settings = _writing(options, LONG)
    readout = f"{TWO_STAGE}-{options.stage_one}-{options.stage_two}{'-reasoning' if options.reasoning else ''}"
    rule, matcher = _rule(options, opening=True), Matcher()
    notes: tuple[str, ...] = ()
    if options.stage_two == "model":
        _check_labels(template)
        settings |= _rule_settings(rule)
        notes = _too_many(rule, items)
    else:
        matcher, embedder = _matcher(options)
        settings["matching"] = f"characters {options.min_characters}, cosine {options.min_cosine:g}, {embedder}"
    given = None
    if options.stage_one_from is not None:
        given, temperature = _given(options, items)
        settings["stage_one"] = (
            f"given {text_hash(part for key in sorted(given) for part in (str(key), given[key].text))}"
        )
        settings["stage_one_temperature"] = temperature
    strategy = TwoStage(
        cast(Literal["hidden", "visible"], options.stage_one),
        cast(Literal["model", "match"], options.stage_two),
        options.reasoning,
        writing,
        rule,
        matcher,
        given,
    )
    return Written(strategy, readout, settings, notes)


def _independent(options: WritingOptions) -> Written:
    writing, settings = _writing(options, SCORING_TOKENS if options.reasoning else SHORT)
    readout = f"{INDEPENDENT}{'-reasoning' if options.reasoning else ''}"
    return Written(Independent(options.reasoning, writing, options.seed), readout, settings)


def _writing(options: WritingOptions, usual: int) -> tuple[Writing, dict[str, object]]:
    writing = Writing(options.max_tokens or usual, options.thinking_tokens, options.temperature, options.seed)
    settings: dict[str, object] = {
        "instructions": instructions_hash(),
        "max_tokens": writing.max_tokens,
        "thinking_tokens": writing.thinking_tokens,
        "temperature": f"{writing.temperature!r}",
        "seed": writing.seed,
    }
    return writing, settings


def _rule(options: WritingOptions, *, opening: bool) -> LetterRule:
    n_valid = None if options.letters == "all" else VALID_LETTERS
    return LetterRule(opening, n_valid, cast(Fallback, options.fallback))


def _rule_settings(rule: LetterRule) -> dict[str, object]:
    return {"letters": "all" if rule.n_valid is None else rule.n_valid, "fallback": rule.fallback}


def _check_labels(template: Template) -> None:
    if template.labels not in ("letters", "parentheses"):
        raise ArgumentError(
            f"--labels must be letters or parentheses where a letter is read from a reply. Got {template.labels}."
        )


def _too_many(rule: LetterRule, items: ItemSet) -> tuple[str, ...]:
    """Say where A.3's four letters leave options without one."""
    n_items = sum(len(item.options) > rule.valid_for(len(item.options)) for item in items)
    if not n_items:
        return ()
    which = " but for the letter that a reply opens with" if rule.opening else ""
    return (f"{n_items:,} items have options beyond the first {rule.n_valid} letters, which are not read{which}: see "
            "--letters.",)  # fmt: skip


def _matcher(options: WritingOptions) -> tuple[Matcher, str]:
    from orderbias.backends.embedding import embedder

    embed = embedder(options.embedder)  # loaded first: what cannot be matched need not be asked
    return Matcher(embed, options.min_characters, options.min_cosine), embed.identity


def _given(options: WritingOptions, items: ItemSet) -> tuple[dict[QueryKey, FirstReply], str | None]:
    """Read the first-stage replies of an earlier run over the same items, and the temperature they were drawn at."""
    from orderbias.store import Run

    run = Run.open(str(options.stage_one_from))
    settings = run.manifest.settings.as_dict()
    reasoning = "-reasoning" if options.reasoning else ""
    wanted = [f"{TWO_STAGE}-{options.stage_one}-{second}{reasoning}" for second in ("match", "model")]
    if settings.get("readout") not in wanted:
        raise ArgumentError(
            f"--stage-one-from must be a run of the readout {' or '.join(wanted)}. Got {settings.get('readout')}."
        )
    if settings.get("data") != items.data_hash:
        raise DataError("--stage-one-from must be a run over the same items. Its items have other texts or ids.")
    temperature = settings.get("temperature", "0.0")
    return first_replies(run.records()), temperature if float(temperature) else None
