"""The job of ``orderbias judge-run``: from what the command was told to pairs, orders, a template and a strategy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orderbias.cli._asking import ModelOptions
from orderbias.cli._jobs import Job, run_job
from orderbias.cli._running import check_out, check_system, read_template, taken
from orderbias.cli._saying import say
from orderbias.collect import all_queries
from orderbias.errors import ArgumentError
from orderbias.items import ItemSet
from orderbias.judge_prompts import BUILT_IN, LETTER, WRITTEN, JudgeTemplate, check_pair_shown
from orderbias.orderings import DesignSpec, SwapSample, parse_design
from orderbias.readers.field_map import parse_fields
from orderbias.readers.pairs import PAIR_FIELDS, read_pairs
from orderbias.records import RECORD_STATUSES
from orderbias.signature import Signature
from orderbias.strategies import Strategy
from orderbias.strategies.first_token import first_token
from orderbias.strategies.judge_reasoning import WrittenVerdict
from orderbias.strategies.sampled_label import SampledLabel

#: Below and above, a temperature is no different from the most probable answer, and from none at all.
TEMPERATURES = (0.01, 100.0)
#: A written verdict is cut off after so many tokens unless told otherwise.
MAX_TOKENS = 512


@dataclass(frozen=True, slots=True)
class JudgeRunOptions:
    """What ``orderbias judge-run`` was told."""

    pairs: str
    model: str
    out: str
    template: str = "letter"
    verdict: str | None = None
    no_tie: bool = False
    sample_swap: float | None = None
    repeat: int = 1
    temperature: float = 0.0
    max_tokens: int | None = None
    seed: int = 0
    system: str | None = None
    fields: tuple[str, ...] = ()
    duplicates: str = "error"
    name: str | None = None
    limit: int | None = None
    dry_run: bool = False
    as_json: bool = False
    loading: ModelOptions = field(default_factory=ModelOptions)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> JudgeRunOptions:
        """Sort a command's options into their groups."""
        given = dict(options)
        loading = ModelOptions(**taken(given, ModelOptions))
        return cls(**given, loading=loading)


def judge_to_directory(options: JudgeRunOptions) -> int:
    """Ask what is left of a run and return the exit code: 0 when every call has an answer, 2 when some failed."""
    check_out(options.out)
    _check_draws(options)
    template, name = _template(options)
    if template.verdict == WRITTEN:
        options = replace(options, max_tokens=options.max_tokens or MAX_TOKENS)
    elif options.max_tokens is not None:
        raise ArgumentError("--max-tokens must go with a written verdict. One letter is asked for here.")
    pairs = _pairs(options)
    for notice in (*pairs.notices, *check_pair_shown(template, pairs)):
        say(notice)
    design = _design(options, pairs)
    readout = f"judge-{name}{'-no-tie' if options.no_tie else ''}"
    strategy = _strategy(options, template)
    code = run_job(
        Job(
            options.out,
            options.model,
            pairs,
            design,
            template,
            strategy,
            readout,
            _settings(options, pairs, design, template, readout),
            options.loading,
            options.repeat,
            options.dry_run,
            options.as_json,
            nouns=("pairs", "calls"),
            notes=_notes(options, pairs, design),
            following="judge",
        )
    )
    if template.verdict == WRITTEN and not options.dry_run:
        _say_cut_off(options)
    return code


def _check_draws(options: JudgeRunOptions) -> None:
    low, high = TEMPERATURES
    t = options.temperature
    if not (t == 0 or (math.isfinite(t) and low <= t <= high)):
        raise ArgumentError(f"--temperature must be 0, or {low:g} to {high:g}. Got {t:g}.")
    if options.sample_swap is not None and not 0 < options.sample_swap <= 1:
        raise ArgumentError(f"--sample-swap must be above 0 and at most 1. Got {options.sample_swap:g}.")
    if options.repeat > 1 and not t:
        raise ArgumentError(
            "--repeat above 1 needs --temperature above 0: without drawing, a judge that is asked again gives the same "
            f"verdict, and the repeats would show nothing. Got --repeat {options.repeat}."
        )


def _template(options: JudgeRunOptions) -> tuple[JudgeTemplate, str]:
    """Return the template, and what it is called in the readout."""
    check_system(options.system, options.loading)
    if options.template in BUILT_IN:
        if options.verdict is not None:
            raise ArgumentError(f"--verdict goes with a template of your own. {options.template} has its own.")
        return JudgeTemplate.named(options.template, options.system), options.template
    if not Path(options.template).is_file():
        raise ArgumentError(
            f"--template must be one of {', '.join(BUILT_IN)}, or a Jinja file. Got {options.template!r}."
        )
    verdict = options.verdict or LETTER
    return JudgeTemplate(read_template(options.template), verdict, options.system), f"custom-{verdict}"


def _pairs(options: JudgeRunOptions) -> ItemSet:
    if not options.pairs.strip() or not Path(options.pairs).is_file():
        raise ArgumentError(f"PAIRS must be a file that is there, with a row for each pair. Got {options.pairs!r}.")
    pairs = read_pairs(
        options.pairs,
        fields=parse_fields(options.fields, PAIR_FIELDS),
        name=options.name,
        ties=not options.no_tie,
        duplicates=options.duplicates,
    )
    return replace(pairs, items=pairs.items[: options.limit])


def _design(options: JudgeRunOptions, pairs: ItemSet) -> DesignSpec | SwapSample:
    """Both orders are the two rotations of a pair; a tie, where it is offered, keeps its place."""
    if options.sample_swap is None:
        return parse_design("cyclic")
    return SwapSample.of(options.sample_swap, options.seed, (pair.id for pair in pairs))


def _strategy(options: JudgeRunOptions, template: JudgeTemplate) -> Strategy:
    if template.verdict == WRITTEN:
        return WrittenVerdict(options.max_tokens or MAX_TOKENS, options.temperature, options.seed)
    return SampledLabel(options.temperature, options.seed) if options.temperature else first_token


def _settings(
    options: JudgeRunOptions, pairs: ItemSet, design: DesignSpec | SwapSample, template: JudgeTemplate, readout: str
) -> Signature:
    """Return all that must not change within a run, but for the model's own, in the order in which it is printed."""
    return Signature.of(
        data=pairs.data_hash,
        benchmark=pairs.name,
        design=str(design),
        template=template.hash,
        labels=template.labels,
        readout=readout,
        ties="none" if options.no_tie else "offered",
        repeats=options.repeat,
        temperature=f"{options.temperature!r}",
        seed=options.seed if options.temperature else None,
        max_tokens=options.max_tokens,
    )


def _notes(options: JudgeRunOptions, pairs: ItemSet, design: DesignSpec | SwapSample) -> tuple[str, ...]:
    times = f" Each call is made {options.repeat} times." if options.repeat > 1 else ""
    if not isinstance(design, SwapSample):
        return (f"Every pair is shown in both orders.{times}",)
    n_calls = sum(1 for _ in all_queries(pairs, design, options.repeat))
    whole = 2 * len(pairs) * options.repeat
    n_both = n_calls // options.repeat - len(pairs)
    saved = 1 - n_calls / whole if whole else 0.0
    return (
        f"{'1 pair is' if n_both == 1 else f'{n_both:,} pairs are'} shown in both orders, the others in one drawn at "
        f"random.{times}",
        f"{n_calls:,} calls in place of {whole:,}: {saved:.0%} saved.",
    )


def _say_cut_off(options: JudgeRunOptions) -> None:
    """Tell replies that hold no verdict because they were cut off from those that the judge ended itself."""
    from orderbias.store import Run

    records = Run.open(options.out).records()
    unread, most = records.status == RECORD_STATUSES.index("unparsed"), options.max_tokens or MAX_TOKENS
    n_cut = 0 if records.tokens_out is None else int((unread & (records.tokens_out >= most)).sum())
    if n_cut:
        replies = "1 reply was" if n_cut == 1 else f"{n_cut:,} replies were"
        say(
            f"{replies} cut off at --max-tokens {most} before a verdict. To leave more room, give a larger number and "
            "another --out."
        )
