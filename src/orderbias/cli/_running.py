"""The job of ``orderbias run`` (and of the demo): from what a command was told to items, a design and a template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from orderbias.cli._asking import ItemOptions, ModelOptions, load_items
from orderbias.cli._jobs import Job, run_job
from orderbias.cli._saying import say
from orderbias.errors import ArgumentError
from orderbias.items import ItemSet
from orderbias.orderings import parse_design
from orderbias.prompts import BODY, Template, check_order_shown, pick_shots
from orderbias.signature import Signature, text_hash
from orderbias.strategies.first_token import first_token

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
    dry_run: bool = False
    as_json: bool = False
    reading: ItemOptions = field(default_factory=ItemOptions)
    loading: ModelOptions = field(default_factory=ModelOptions)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> RunOptions:
        """Sort a command's options into their groups."""
        given = dict(options)
        if given.get("gold_base") is not None:
            given["gold_base"] = int(given["gold_base"])
        reading = ItemOptions(**taken(given, ItemOptions))
        loading = ModelOptions(**taken(given, ModelOptions))
        return cls(**given, reading=reading, loading=loading)


def taken(given: dict[str, Any], kind: type) -> dict[str, Any]:
    """Take the options of one group out of ``given``."""
    return {f.name: given.pop(f.name) for f in fields(kind) if f.name in given}


def run_to_directory(options: RunOptions, *, measured_next: bool = False) -> int:
    """Ask what is left of a run and return the exit code: 0 when every query has an answer, 2 when some failed.

    ``measured_next`` says that the caller goes on to measure, so that nobody need be told to.
    """
    check_out(options.out)
    design = parse_design(options.design)
    template = _template(options)
    items = load_items(options.source, options.reading)
    for notice in items.notices:
        say(notice)
    check_order_shown(template, items)
    readout = "first-token" if template.n_shots == 0 else f"first-token-{template.n_shots}-shot"
    settings = Signature.of(
        data=items.data_hash,
        benchmark=items.name,
        design=str(design),
        template=template.hash,
        labels=template.labels,
        shots=_shots(items, template),
        readout=readout,
        self_referring=options.reading.self_referring,
    )
    return run_job(
        Job(
            options.out,
            options.model,
            items,
            design,
            template,
            first_token,
            readout,
            settings,
            options.loading,
            dry_run=options.dry_run,
            as_json=options.as_json,
            following=None if measured_next else "measure",
        )
    )


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


def _template(options: RunOptions) -> Template:
    check_system(options.system, options.loading)
    source = BODY if options.template is None else read_template(options.template)
    return Template(source, options.labels, options.shots, options.system)


def _shots(items: ItemSet, template: Template) -> str:
    """Return how many solved examples precede a question, and the hash of all that do."""
    shots = {s.id + s.question: s for item in items for s in pick_shots(item, items.shots, template.n_shots)}
    texts = [text for s in shots.values() for text in (s.question, *s.options, str(s.gold))]
    return f"{template.n_shots}" + (f" {text_hash(texts)}" if texts else "")
