"""The job of ``orderbias run`` (and of the demo): from what a command was told to items, a design and a template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from orderbias.cli._asking import ItemOptions, ModelOptions, load_items
from orderbias.cli._jobs import Job, run_job
from orderbias.cli._readouts import WRITTEN, WritingOptions, check_unused, written
from orderbias.cli._saying import say
from orderbias.errors import ArgumentError
from orderbias.instructions import TEXTS
from orderbias.items import ItemSet
from orderbias.orderings import parse_design
from orderbias.prompts import BODY, Template, check_order_shown, pick_shots
from orderbias.signature import Signature, text_hash
from orderbias.strategies import Strategy
from orderbias.strategies.first_token import first_token
from orderbias.strategies.sampled_label import SampledLabel

#: Bytes of a template; longer is some other file.
MAX_TEMPLATE = 1_000_000


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What ``orderbias run`` was told."""

    source: str
    model: str
    out: str
    design: str = "cyclic"
    shots: int = 0
    template: str | None = None
    labels: str = "letters"
    system: str | None = None
    repeats: int = 1
    dry_run: bool = False
    as_json: bool = False
    readout: str = "auto"
    reading: ItemOptions = field(default_factory=ItemOptions)
    loading: ModelOptions = field(default_factory=ModelOptions)
    writing: WritingOptions = field(default_factory=WritingOptions)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> RunOptions:
        """Sort a command's options into their groups."""
        given = dict(options)
        if given.get("gold_base") is not None:
            given["gold_base"] = int(given["gold_base"])
        readout = given.pop("readout", "auto")
        reading = ItemOptions(**taken(given, ItemOptions))
        loading = ModelOptions(**taken(given, ModelOptions))
        writing = WritingOptions(**taken(given, WritingOptions))
        # A model on this machine always shows log-probabilities; a server is told to use them or not.
        by_server = readout not in WRITTEN and (given.get("model", "").startswith("openai:") or readout == "one-letter")
        loading = replace(loading, readout=readout) if by_server else loading
        return cls(**given, readout=readout, reading=reading, loading=loading, writing=writing)


def taken(given: dict[str, Any], kind: type) -> dict[str, Any]:
    """Take the options of one group out of ``given``."""
    return {f.name: given.pop(f.name) for f in fields(kind) if f.name in given}


def run_to_directory(options: RunOptions, *, measured_next: bool = False) -> int:
    """Ask what is left of a run and return the exit code: 0 when every query has an answer, 2 when some failed.

    ``measured_next`` says that the caller goes on to measure, so that nobody need be told to.
    """
    check_out(options.out)
    # What is wrong with the options is said before items are read.
    check_unused(options.readout, options.writing)
    check_repeats(options)
    parse_design(options.design)
    _template(options)
    items = load_items(options.source, options.reading)
    for notice in items.notices:
        say(notice)
    return run_job(replace(job_of(options, items), following=None if measured_next else "measure"))


def job_of(options: RunOptions, items: ItemSet) -> Job:
    """Return the job of a command, over items that are read already.

    Raises
    ------
    ArgumentError
        If options do not go together, or not with the items.
    """
    check_unused(options.readout, options.writing)
    check_repeats(options)
    design = parse_design(options.design)
    template = _template(options)
    check_order_shown(template, items)
    strategy, readout, written_settings, notes = _strategy(options, template, items)
    settings = Signature.of(
        data=items.data_hash,
        benchmark=items.name,
        design=str(design),
        template=template.hash,
        labels=template.labels,
        shots=_shots(items, template),
        readout=readout,
        self_referring=options.reading.self_referring,
    ).extended(**written_settings, repeats=options.repeats if options.repeats > 1 else None)
    notes += _notes_on_repeats(options, strategy)
    return Job(
        options.out,
        options.model,
        items,
        design,
        template,
        strategy,
        readout,
        settings,
        options.loading,
        options.repeats,
        dry_run=options.dry_run,
        as_json=options.as_json,
        notes=notes,
        texts=TEXTS if options.readout in WRITTEN else {},
        written=options.readout in WRITTEN,
    )


def check_repeats(options: RunOptions) -> None:
    """Raise ArgumentError if queries are to be asked again of a model that would give the same answers."""
    can_differ = options.writing.temperature or options.model.startswith("openai:") or options.writing.stage_one_from
    if options.repeats > 1 and not can_differ:
        raise ArgumentError(
            "--repeats above 1 needs --temperature above 0, or a model behind an API: without drawing, a model on this "
            f"machine that is asked again gives the same answer, and the repeats would show nothing. Got --repeats "
            f"{options.repeats}."
        )


def _notes_on_repeats(options: RunOptions, strategy: Strategy) -> tuple[str, ...]:
    """Say what repeats do, or what is lost without; those of free answers that are given must be there."""
    given = getattr(strategy, "given", None) or {}
    n_given = max((1 + repeat for _, _, repeat in given), default=options.repeats)
    if options.repeats > n_given:
        raise ArgumentError(
            f"--repeats must be at most {n_given} with --stage-one-from: its run has no more. Got {options.repeats}."
        )
    if options.repeats > 1:
        return (f"Each query is asked {options.repeats} times, under every ordering.",)
    if options.writing.temperature:
        return ("Answers are drawn, once each: their flip rates will not be shown (see --repeats).",)
    return ()


def check_out(out: str) -> None:
    """Raise ArgumentError unless a directory is named, before anything is read."""
    if not out.strip():
        raise ArgumentError(f"--out must name a directory. Got {out!r}.")


def check_system(system: str | None, loading: ModelOptions) -> None:
    """Raise ArgumentError if there is a system prompt and no place for it."""
    if system is not None and not loading.chat:
        raise ArgumentError("--system needs --chat: a system prompt is part of a chat template.")


def read_template(path: str) -> str:
    """Return the text of a template's file.

    Raises
    ------
    ArgumentError
        If it is no UTF-8 text, or longer than a template can be.
    """
    with Path(path).open("rb") as stream:
        data = stream.read(MAX_TEMPLATE + 1)
    if len(data) > MAX_TEMPLATE:
        raise ArgumentError(f"--template must be a file of at most {MAX_TEMPLATE:,} bytes. Got {path}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"--template must be UTF-8 text. {path}: {error}.") from error


def _strategy(
    options: RunOptions, template: Template, items: ItemSet
) -> tuple[Strategy, str, dict[str, object], tuple[str, ...]]:
    """Return the strategy, the name of the readout, its settings, and notes on it."""
    if options.readout in WRITTEN:
        made = written(options.readout, options.writing, template, items, own_template=options.template is not None)
        return made.strategy, made.readout, made.settings, made.notes
    strategy: Strategy = first_token
    settings: dict[str, object] = {}
    if options.writing.temperature:  # the job makes a written letter of it
        strategy = SampledLabel(options.writing.temperature, options.writing.seed)
        settings = {"temperature": f"{options.writing.temperature!r}", "seed": options.writing.seed}
    return strategy, "first-token" if template.n_shots == 0 else f"first-token-{template.n_shots}-shot", settings, ()


def _template(options: RunOptions) -> Template:
    check_system(options.system, options.loading)
    source = BODY if options.template is None else read_template(options.template)
    return Template(source, options.labels, options.shots, options.system)


def _shots(items: ItemSet, template: Template) -> str:
    """Return how many solved examples precede a question, and the hash of all that do."""
    shots = {s.id + s.question: s for item in items for s in pick_shots(item, items.shots, template.n_shots)}
    texts = [text for s in shots.values() for text in (s.question, *s.options, str(s.gold))]
    return f"{template.n_shots}" + (f" {text_hash(texts)}" if texts else "")
