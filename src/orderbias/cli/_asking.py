"""What the commands that ask a model share: from words on the command line to items and a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from orderbias.cli._api import ApiOptions, load_api, unused
from orderbias.errors import ArgumentError
from orderbias.items import ItemSet

if TYPE_CHECKING:
    from orderbias.backends import Backend

SIMULATED_PREFERENCE = 0.8


@dataclass(frozen=True, slots=True)
class ItemOptions:
    """How items are read; the fields are the command's options."""

    data_dir: str | None = None
    limit: int | None = None
    self_referring: str = "keep"
    fields: tuple[str, ...] = ()
    gold_base: int | None = None
    duplicates: str = "error"
    split: str | None = None
    shots_from: str | None = None


@dataclass(frozen=True, slots=True)
class ModelOptions(ApiOptions):
    """How a model is loaded; the fields are the command's options, but for what a resumed run has settled."""

    revision: str | None = None
    dtype: str = "float32"
    device: str = "auto"
    chat: bool = False
    label_forms: Literal["best", "sum"] = "best"
    label_form: str | None = None
    token_budget: int = 2048
    trust_remote_code: bool = False
    engine: Literal["auto", "tree", "plain"] = "auto"
    settled: Mapping[str, str] = field(default_factory=dict)

    #: What only a model on this machine is loaded with.
    LOCAL: ClassVar = ("revision", "dtype", "device", "token_budget", "trust_remote_code", "engine")


def load_items(source: str, options: ItemOptions) -> ItemSet:
    """Read a benchmark by name, a file, or a hub dataset (``hf:...``)."""
    from dataclasses import replace

    from orderbias.benchmarks import benchmark_names, load_benchmark
    from orderbias.readers import read_items
    from orderbias.readers.field_map import parse_fields

    def read(place: str, split: str | None) -> ItemSet:
        return read_items(
            place,
            fields=parse_fields(options.fields),
            gold_base=options.gold_base,
            self_referring=options.self_referring,
            duplicates=options.duplicates,
            split=split,
        )

    if not source.strip():
        raise ArgumentError(f"SOURCE must be a name or a file. Got {source!r}.")
    if source in benchmark_names():
        _refuse_reading(source, options)
        items = load_benchmark(
            source, data_dir=options.data_dir, limit=options.limit, self_referring=options.self_referring
        )
    elif source.startswith("hf:") or Path(source).exists():
        items = read(source, options.split)
        items = replace(items, items=items.items[: options.limit])
    else:
        raise ArgumentError(
            f"SOURCE must be a benchmark's name ({', '.join(benchmark_names())}), an existing file, or hf:NAME. "
            f"Got {source!r}."
        )
    if options.shots_from is not None:
        items = replace(items, shots=read(options.shots_from, None).items)
    return items


def _refuse_reading(source: str, options: ItemOptions) -> None:
    """A benchmark known by name says itself how it is read; an option that would change nothing is an error."""
    given = {"--field": options.fields, "--gold-base": options.gold_base, "--split": options.split}
    unused = [name for name, value in given.items() if value not in (None, ())]
    if options.duplicates != "error":
        unused.append("--duplicates")
    if unused:
        raise ArgumentError(
            f"{', '.join(unused)} must go with a file or hf:NAME. {source} is a benchmark with its own."
        )


def refuse_unused(options: ModelOptions, names: Sequence[str], goes_with: str, model: str) -> None:
    """An option that would change nothing is an error."""
    given = unused(options, names)
    if given:
        raise ArgumentError(f"{', '.join(given)} must go with {goes_with}. Got --model {model}.")


def check_model(model: str, options: ModelOptions) -> None:
    """Refuse what can be seen to be wrong before a model is loaded.

    Raises
    ------
    ArgumentError
        If the name is of no kind that there is, or an option would change nothing.
    """
    kind, _, name = model.partition(":")
    if kind == "openai":
        refuse_unused(options, ModelOptions.LOCAL, "a model on this machine", model)
        return
    refuse_unused(options, [f.name for f in fields(ApiOptions)], "openai:NAME", model)
    if not (model in ("demo", "simulated") or (kind in ("local", "simulated") and name)):
        raise ArgumentError(
            "--model must be local:NAME (a hub id, a folder or a .gguf file), openai:NAME, demo, or simulated. "
            f"Got {model!r}."
            + ("" if ":" in model or not model.strip() else f" A hub id or a folder is named as local:{model}.")
        )


def load_backend(model: str, items: ItemSet, options: ModelOptions) -> Backend:
    """Load ``local:NAME``, ``openai:NAME``, ``demo``, ``simulated`` or ``simulated:NAME``."""
    check_model(model, options)
    kind, _, name = model.partition(":")
    if kind == "openai":
        return load_api(name, options, chat=options.chat, label_forms=options.label_forms, settled=options.settled)
    if kind == "simulated":
        return _simulated(name, items)
    from orderbias.backends._loading import demo_model
    from orderbias.backends.local import LocalBackend

    return LocalBackend.load(
        str(demo_model()) if model == "demo" else name,
        revision=options.revision,
        dtype=options.dtype,
        device=options.device,
        chat=options.chat,
        label_forms=options.label_forms,
        label_form=options.label_form,
        token_budget=options.token_budget,
        trust_remote_code=options.trust_remote_code,
        engine=options.engine,
    )


def _simulated(name: str, items: ItemSet) -> Backend:
    """Return the simulated model: one with a name has skill, noise and preferences of its own, drawn from the name."""
    from orderbias.backends.simulated import SimulatedBackend
    from orderbias.orderings import item_rng

    n_options = max((len(item.options) for item in items), default=2)
    if not name:
        return SimulatedBackend(items.items, [SIMULATED_PREFERENCE] + [0.0] * (n_options - 1))
    rng = item_rng(0, name)
    skill, noise, lean = rng.uniform(0.0, 3.0), rng.uniform(0.2, 1.0), rng.uniform(0.2, 1.2)
    preference = (lean * rng.standard_normal(n_options)).round(3).tolist()
    return SimulatedBackend(items.items, preference, round(skill, 3), round(noise, 3))
