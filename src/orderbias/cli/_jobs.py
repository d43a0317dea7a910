"""The job of every command that asks a model: plan, say what it costs, ask, store, say how it went."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

from orderbias import __version__
from orderbias.cli._asking import ModelOptions, load_backend
from orderbias.cli._found import found_outcome, say_found
from orderbias.cli._job import Job, possible_readout, wanted_readout
from orderbias.cli._saying import say
from orderbias.collect import Asker, Plan, Progress, Query, Sink, all_queries, collect, plan
from orderbias.errors import AskingStopped, RunError
from orderbias.instructions import snapshot
from orderbias.orderings import DesignSpec
from orderbias.signature import Signature

if TYPE_CHECKING:
    from orderbias.backends import Backend, Request
    from orderbias.items import ItemSet
    from orderbias.store import Manifest, Run

__all__ = ["Job", "ask_into", "run_job"]

#: The first queries of a run, on which a backend settles what is open (the token form of the labels).
SETTLING_QUERIES = 64


def run_job(job: Job) -> int:
    """Ask what is left of a run and return the exit code: 0 when every query has an answer, 2 when some have none."""
    progress, todo = ask_into(job)
    asked, found = job.nouns[1], found_outcome(job)
    outcome = {
        "path": job.out,
        "n_queries": todo.n_total,
        "n_stored_before": todo.n_stored,
        "n_asked": progress.n_done,
        "n_failed": progress.n_failed,
        "n_unparsed": progress.n_unparsed,
        **found,
        "stopped": progress.stopped,
    }
    if job.as_json:
        click.echo(json.dumps(outcome))
    elif job.dry_run:
        say("Nothing was asked: --dry-run.")
    elif not todo.queries:
        say(f"Nothing to do: all {todo.n_total:,} {asked} of {job.out} are answered.")
    else:
        unread = f", {progress.n_unparsed:,} without an answer that can be read" if progress.n_unparsed else ""
        say(f"{progress.n_done:,} {asked} answered, {progress.n_failed:,} of them with an error{unread}.")
        say_found(found)
        if job.following is not None and progress.stopped is None:
            say(f"Next: orderbias {job.following} {shlex.quote(job.out)}")
    if progress.stopped is not None:
        say(f"Stopped: {progress.stopped} What was answered is stored; the same command goes on from there.")
    return 2 if progress.n_failed or progress.stopped is not None else 0


def ask_into(job: Job, load: Callable[[str, ItemSet, ModelOptions], Backend] | None = None) -> tuple[Progress, Plan]:
    """Plan and ask into ``job.out``; returns how far it came and what the plan was.

    ``load`` makes the backend, where a model that is there already is to be asked; the backend is settled anew.
    """
    from orderbias.store import Run

    existing = Run.open(job.out) if Run.exists(job.out) else None
    with _closed_after((load or load_backend)(job.model, job.items, _loading(job, existing))) as backend:
        return _ask(job, backend, existing)


@contextmanager
def _closed_after(backend: Backend) -> Iterator[Backend]:
    """End the thread of a backend that has one."""
    try:
        yield backend
    finally:
        close = getattr(backend, "close", None)
        if close is not None:
            close()


def _ask(job: Job, backend: Backend, existing: Run | None) -> tuple[Progress, Plan]:
    job = wanted_readout(job)
    asker = _asker(job, backend)
    # To settle a server takes calls: whoever pays for them sees the plan before the first.
    by_asking = not getattr(backend, "settled", True)
    if by_asking:
        if existing is not None:
            existing.check(job.settings.extended(**backend.identity))
        todo = plan(job.items, job.design, frozenset(), job.repeats)
        _print_plan(job, todo, asker)
        if job.dry_run:
            _print_first_prompt(todo, asker, chat=True)
            return Progress(), todo
    try:
        backend.settle(asker.requests(islice(all_queries(job.items, job.design), SETTLING_QUERIES)))
    except AskingStopped as stop:
        return Progress(n_left=len(todo.queries), stopped=str(stop)), todo
    planned, job = job, possible_readout(job, backend, existing)
    asker = _asker(job, backend)
    settings = job.settings.extended(**backend.identity)
    if existing is not None:
        existing.check(settings)
    stored = existing.stored(failed=False) if existing is not None else frozenset()
    todo = plan(job.items, job.design, stored, job.repeats)
    if not by_asking or job is not planned:
        _print_plan(job, todo, asker)
    for notice in getattr(backend, "notices", ()):
        say(notice)
    if job.dry_run:
        _print_first_prompt(todo, asker, chat=job.loading.chat)
    if job.dry_run or (not todo.queries and existing is not None and _has_items(existing)):
        return Progress(), todo
    with _written_to(job, _manifest(job, settings, todo.n_total, getattr(backend, "chat_template", None))) as sink:
        try:
            return _with_bar(asker, _held_first(asker, todo.queries), sink, job.nouns[1]), todo
        finally:
            for note in getattr(backend, "closing_notes", tuple)():
                say(note)


@contextmanager
def _written_to(job: Job, manifest: Manifest) -> Iterator[Sink]:
    """Open the run for writing; where it has a mirror, its manifest is pushed before any answer."""
    from orderbias.store import Run
    from orderbias.store.mirror import Pushed

    mirror = job.mirror
    with Run.create(job.out, manifest, job.items, first_part=mirror.claim() if mirror is not None else 0) as run:
        for notice in run.notices:
            say(notice)
        if mirror is None:
            yield run
        else:
            mirror.push()
            yield Pushed(run, mirror)
    if mirror is not None:
        mirror.push()  # closing merges small parts


def _asker(job: Job, backend: Backend) -> Asker:
    return Asker(backend, job.strategy, job.template, job.items.shots, job.items.name, job.readout)


def _held_first(asker: Asker, queries: Sequence[Query]) -> Sequence[Query]:
    """Put first what was answered while settling: it is paid for, and stored whatever happens to the rest."""
    held: frozenset[Request] = getattr(asker.backend, "held", frozenset())
    if not held:
        return queries
    first = queries[:SETTLING_QUERIES]
    answered = [not held.isdisjoint(asker.requests([query])) for query in first]
    return [
        *(q for q, there in zip(first, answered, strict=True) if there),
        *(q for q, there in zip(first, answered, strict=True) if not there),
        *queries[SETTLING_QUERIES:],
    ]


def _has_items(run: Run) -> bool:
    """Whether a complete run has its items still; making it again writes them anew."""
    try:
        run.items()
    except RunError:
        return False
    return True


def _loading(job: Job, existing: Run | None) -> ModelOptions:
    """Ask a resumed run as it was settled when it began."""
    if existing is None:
        return job.loading
    settled = existing.manifest.settings.as_dict()
    return replace(job.loading, label_form=settled.get("label_form"), settled=settled)


def _manifest(job: Job, settings: Signature, n_queries: int, chat_template: str | None) -> Manifest:
    from importlib.metadata import PackageNotFoundError, version
    from platform import python_version

    from orderbias.store import Manifest

    versions = {"orderbias": __version__, "python": python_version()}
    for package in ("numpy", "torch", "transformers", "tokenizers", "openai"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    design = job.design
    shared = isinstance(design, DesignSpec) and not design.per_item
    sizes = sorted({len(item.options) for item in job.items}) if shared else []
    return Manifest(
        settings=settings,
        designs={k: design.design(k) for k in sizes} if isinstance(design, DesignSpec) else {},
        template=snapshot(
            job.template.source, job.texts, {"system": job.template.system, "chat template": chat_template}
        ),
        versions=versions,
        n_queries=n_queries,
    )


def _print_plan(job: Job, todo: Plan, asker: Asker) -> None:
    items, asked = job.nouns
    stored = f", {todo.n_stored:,} of them stored already" if todo.n_stored else ""
    say(f"Plan: {len(job.items):,} {items}, {todo.n_total:,} {asked}{stored}.")
    for note in job.notes:
        say(f"      {note}")
    if todo.queries:
        work = asker.workload(todo.queries)
        if work.calls != len(todo.queries):
            say(f"      {work.calls:,} calls of the model.")
        shared = ""
        if work.unique_tokens < work.tokens:
            saved = 1 - work.unique_tokens / work.tokens
            shared = f"; {work.unique_tokens:,} to compute when prefixes are shared ({saved:.0%} saved)"
        say(f"      {work.tokens:,} prompt tokens{shared}.")
        if work.reply_tokens:
            say(f"      At most {work.reply_tokens:,} tokens of replies.")
        notes = getattr(asker.backend, "plan_notes", None)
        for note in () if notes is None else notes(work.calls, work):
            say(f"      {note}")


def _print_first_prompt(todo: Plan, asker: Asker, *, chat: bool) -> None:
    """Show what the model will read, solved examples and all; what the chat template adds is the model's own."""
    if todo.queries:
        (request,) = asker.requests(todo.queries[:1])
        wrapped = ", before the chat template" if chat else ""
        say(f"The first prompt (item {request.item_id!r}{wrapped}):\n")
        say(indent(request.prompt, "    | ", lambda line: True) + "\n")


def _with_bar(asker: Asker, queries: Sequence[Any], sink: Sink, asked: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(asked), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
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
            return collect(asker, queries, sink, report)
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
