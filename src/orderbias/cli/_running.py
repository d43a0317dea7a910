"""The job of ``orderbias run`` (and of the demo): plan, say what it costs, ask, store."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

from orderbias import __version__
from orderbias.cli._asking import ItemOptions, ModelOptions, load_backend, load_items
from orderbias.cli._saying import say
from orderbias.collect import Asker, Plan, Progress, all_queries, collect, plan
from orderbias.errors import ArgumentError, RunError
from orderbias.items import ItemSet
from orderbias.orderings import DesignSpec, parse_design
from orderbias.prompts import BODY, Template, check_order_shown, pick_shots
from orderbias.signature import Signature, text_hash
from orderbias.strategies.first_token import first_token

if TYPE_CHECKING:
    from orderbias.store import Manifest, Run


#: The first queries of a run, on which a backend settles what is open (the token form of the labels).
SETTLING_QUERIES = 64
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
        reading = ItemOptions(**_taken(given, ItemOptions))
        loading = ModelOptions(**_taken(given, ModelOptions))
        return cls(**given, reading=reading, loading=loading)


def _taken(given: dict[str, Any], kind: type) -> dict[str, Any]:
    """Take the options of one group out of ``given``."""
    return {f.name: given.pop(f.name) for f in fields(kind) if f.name in given}


def run_to_directory(options: RunOptions, *, measured_next: bool = False) -> int:
    """Ask what is left of a run and return the exit code: 0 when every query has an answer, 2 when some failed.

    ``measured_next`` says that the caller goes on to measure, so that nobody need be told to.
    """
    if not options.out.strip():
        raise ArgumentError(f"--out must name a directory. Got {options.out!r}.")
    design = parse_design(options.design)
    template = _template(options)
    items = load_items(options.source, options.reading)
    for notice in items.notices:
        say(notice)
    check_order_shown(template, items)
    progress, todo = ask_into(options, items, design, template)
    outcome = {
        "path": options.out,
        "n_queries": todo.n_total,
        "n_stored_before": todo.n_stored,
        "n_asked": progress.n_done,
        "n_failed": progress.n_failed,
    }
    if options.as_json:
        click.echo(json.dumps(outcome))
    elif options.dry_run:
        say("Nothing was asked: --dry-run.")
    elif not todo.queries:
        say(f"Nothing to do: all {todo.n_total:,} queries of {options.out} are answered.")
    else:
        say(f"{progress.n_done:,} queries answered, {progress.n_failed:,} of them with an error.")
        if not measured_next:
            say(f"Next: orderbias measure {shlex.quote(options.out)}")
    return 2 if progress.n_failed else 0


def ask_into(options: RunOptions, items: ItemSet, design: DesignSpec, template: Template) -> tuple[Progress, Plan]:
    """Plan and ask into ``options.out``; returns how far it came and what the plan was."""
    from orderbias.store import Run

    existing = Run.open(options.out) if Run.exists(options.out) else None
    backend = load_backend(options.model, items, _loading(options, existing))
    readout = "first-token" if template.n_shots == 0 else f"first-token-{template.n_shots}-shot"
    asker = Asker(backend, first_token, template, items.shots, items.name, readout)
    backend.settle(asker.requests(islice(all_queries(items, design), SETTLING_QUERIES)))
    settings = _settings(options, items, design, asker)
    if existing is not None:
        existing.check(settings)
    todo = plan(items, design, existing.stored(failed=False) if existing is not None else frozenset())
    _print_plan(todo, asker, len(items))
    for notice in getattr(backend, "notices", ()):
        say(notice)
    if options.dry_run:
        _print_first_prompt(todo, asker, chat=options.loading.chat)
    if options.dry_run or (not todo.queries and existing is not None and _has_items(existing)):
        return Progress(), todo
    with Run.create(options.out, _manifest(settings, items, design, template, todo.n_total), items) as run:
        for notice in run.notices:
            say(notice)
        return _with_bar(asker, todo.queries, run), todo


def _has_items(run: Run) -> bool:
    """Whether a complete run has its items still; making it again writes them anew."""
    try:
        run.items()
    except RunError:
        return False
    return True


def _loading(options: RunOptions, existing: Run | None) -> ModelOptions:
    """Ask a resumed run with the label form that it began with."""
    if existing is None:
        return options.loading
    form = existing.manifest.settings.as_dict().get("label_form")
    return replace(options.loading, label_form=form)


def _template(options: RunOptions) -> Template:
    if options.system is not None and not options.loading.chat:
        raise ArgumentError("--system needs --chat: a system prompt is part of a chat template.")
    source = BODY
    if options.template is not None:
        with Path(options.template).open("rb") as stream:
            data = stream.read(MAX_TEMPLATE + 1)
        if len(data) > MAX_TEMPLATE:
            raise ArgumentError(f"--template must be a file of at most {MAX_TEMPLATE:,} bytes. Got {options.template}.")
        try:
            source = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ArgumentError(f"--template must be UTF-8 text. {options.template}: {error}.") from error
    return Template(source, options.labels, options.shots, options.system)


def _settings(options: RunOptions, items: ItemSet, design: DesignSpec, asker: Asker) -> Signature:
    """Return all that must not change within a run, in the order in which it is printed."""
    shots = {s.id + s.question: s for item in items for s in pick_shots(item, items.shots, asker.template.n_shots)}
    texts = [text for s in shots.values() for text in (s.question, *s.options, str(s.gold))]
    settings = Signature.of(
        data=items.data_hash,
        benchmark=items.name,
        design=str(design),
        template=asker.template.hash,
        labels=asker.template.labels,
        shots=f"{asker.template.n_shots}" + (f" {text_hash(texts)}" if texts else ""),
        readout=asker.readout,
        self_referring=options.reading.self_referring,
    )
    return settings.extended(**asker.backend.identity)


def _manifest(settings: Signature, items: ItemSet, design: DesignSpec, template: Template, n_queries: int) -> Manifest:
    from importlib.metadata import PackageNotFoundError, version
    from platform import python_version

    from orderbias.store import Manifest

    versions = {"orderbias": __version__, "python": python_version()}
    for package in ("numpy", "torch", "transformers", "tokenizers"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    sizes = sorted({len(item.options) for item in items})
    designs = {} if design.per_item else {k: design.design(k) for k in sizes}
    return Manifest(
        settings=settings,
        designs=designs,
        template=template.source,
        versions=versions,
        n_queries=n_queries,
    )


def _print_plan(todo: Plan, asker: Asker, n_items: int) -> None:
    stored = f", {todo.n_stored:,} of them stored already" if todo.n_stored else ""
    say(f"Plan: {n_items:,} items, {todo.n_total:,} queries{stored}.")
    if todo.queries:
        work = asker.workload(todo.queries)
        shared = ""
        if work.unique_tokens < work.tokens:
            saved = 1 - work.unique_tokens / work.tokens
            shared = f"; {work.unique_tokens:,} to compute when prefixes are shared ({saved:.0%} saved)"
        say(f"      {work.tokens:,} prompt tokens{shared}.")


def _print_first_prompt(todo: Plan, asker: Asker, *, chat: bool) -> None:
    """Show what the model will read, solved examples and all; what the chat template adds is the model's own."""
    if todo.queries:
        (request,) = asker.requests(todo.queries[:1])
        wrapped = ", before the chat template" if chat else ""
        say(f"The first prompt (item {request.item_id!r}{wrapped}):\n")
        say(indent(request.prompt, "    | ", lambda line: True) + "\n")


def _with_bar(asker: Asker, queries: Sequence[Any], run: Run) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("queries"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
               TimeRemainingColumn())  # fmt: skip
    console = Console(stderr=True)
    with Bar(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(queries))
        told = False

        def report(progress: Progress) -> None:
            nonlocal told
            bar.update(task, completed=progress.n_done)
            # The first batch is one item and includes warming up; the second is the probe.
            if not told and 64 <= progress.n_done < len(queries) and progress.seconds_left >= 1:
                told = True
                say(f"      About {_minutes(progress.seconds_left)} left on this machine.")

        try:
            return collect(asker, queries, run, report)
        except KeyboardInterrupt:
            bar.stop()
            say("What was answered is stored; the same command goes on from there.")
            raise


def _minutes(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
