"""The file that describes a label-free study: models, benchmarks, strategies; read and checked before anything else."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from orderbias.backends.embedding import DEFAULT_EMBEDDER
from orderbias.cli._asking import ItemOptions, ModelOptions
from orderbias.cli._readouts import WritingOptions
from orderbias.errors import ArgumentError
from orderbias.report.text import short
from orderbias.strategies.writing import LONG

Strategy = Literal["direct", "cyclic", "pride", "two-stage", "independent", "grid", "hybrid"]
STRATEGIES: tuple[Strategy, ...] = ("direct", "cyclic", "pride", "two-stage", "independent", "grid", "hybrid")

#: A file of settings has a few kilobytes; longer is some other file.
MAX_BYTES = 1_000_000

_Positive = Annotated[int, Field(ge=1, le=10**12)]
_Count = Annotated[int, Field(ge=0)]
_Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
_Kind = TypeVar("_Kind", bound=BaseModel)


class Strict(BaseModel):
    """A table of settings: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ModelSettings(Strict):
    """A model and how it is loaded; the keys are the options of ``orderbias run``, with underscores."""

    model: _Text
    name: _Text | None = None
    system: str | None = None
    chat: bool = False
    revision: str | None = None
    dtype: Literal["float32", "bfloat16", "float16", "auto"] = "float32"
    device: str = "auto"
    engine: Literal["auto", "tree", "plain"] = "auto"
    token_budget: _Positive = 2048
    trust_remote_code: bool = False
    label_forms: Literal["best", "sum"] = "best"
    base_url: str | None = None
    key_env: str | None = None
    endpoint: Literal["auto", "chat", "completions"] = "auto"
    concurrency: _Positive = 8
    rpm: _Positive | None = None
    tpm: _Positive | None = None
    timeout: Annotated[float, Field(gt=0)] = 120.0
    retries: _Count = 5
    max_calls: _Count | None = None
    max_tokens_total: _Count | None = None
    max_cost: Annotated[float, Field(ge=0)] | None = None
    prices: str | None = None
    extra_body: str | None = None

    @property
    def shown(self) -> str:
        """The name given, else the last part of the model's own."""
        last = self.model.partition(":")[2].replace("\\", "/").rstrip("/").rpartition("/")[2]
        return self.name or last or self.model

    @property
    def loading(self) -> ModelOptions:
        """As a command's options."""
        return ModelOptions(**self.model_dump(include={f.name for f in fields(ModelOptions)}))


class ItemSettings(Strict):
    """Items, and which of them are drawn."""

    source: _Text
    name: _Text | None = None
    n_items: _Positive | None = None
    groups: _Positive | None = None
    per_group: _Positive | None = None
    data_dir: str | None = None
    self_referring: Literal["keep", "drop"] = "keep"
    fields: tuple[str, ...] = ()
    gold_base: Literal[0, 1] | None = None
    duplicates: Literal["error", "first"] = "error"
    split: str | None = None

    @field_validator("fields", mode="before")
    @classmethod
    def _tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one_way_to_draw(self) -> Self:
        if self.n_items is not None and (self.groups or self.per_group):
            raise ValueError("n_items must not go with groups and per_group: items are drawn in one way")
        if (self.groups is None) != (self.per_group is None):
            raise ValueError("groups and per_group must go together, such as groups = 50 and per_group = 20")
        return self

    @property
    def shown(self) -> str:
        """The name given, else a benchmark's own, else a file's."""
        return self.name or Path(self.source.rpartition(":")[2]).stem

    @property
    def reading(self) -> ItemOptions:
        """As a command's options."""
        return ItemOptions(**self.model_dump(include={f.name for f in fields(ItemOptions)}))


class BenchmarkSettings(ItemSettings):
    """Items, and how many more of them calibrate."""

    calibration: _Count = 50


class ReplySettings(Strict):
    """How replies are written, and letters read from them."""

    max_tokens: _Positive | None = None
    thinking_tokens: _Count = 0
    temperature: Annotated[float, Field(ge=0, le=100)] = 0.0
    letters: Literal["four", "all"] = "four"
    fallback: Literal["always", "finished", "never"] = "always"


class WritingSettings(ReplySettings):
    """How replies are written and read, the same in every strategy."""

    embedder: _Text = DEFAULT_EMBEDDER
    min_characters: _Positive = 4
    min_cosine: Annotated[float, Field(ge=-1, le=1)] = 0.30


class StudySettings(Strict):
    """A whole study."""

    seed: _Count = 42
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    strategies: tuple[Strategy, ...] | None = None
    reasoning: Literal["none", "all", "published"] = "none"
    models: Annotated[tuple[ModelSettings, ...], Field(min_length=1)]
    benchmarks: Annotated[tuple[BenchmarkSettings, ...], Field(min_length=1)]
    writing: WritingSettings = WritingSettings()

    @field_validator("models", "benchmarks", "strategies", mode="before")
    @classmethod
    def _tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.strategies is not None:
            if "direct" not in self.strategies:
                raise ValueError('strategies must have "direct": the others are compared with it')
            if len(set(self.strategies)) < len(self.strategies):
                raise ValueError("strategies must each be named once")
        if self.repeats > 1 and not any(self.times(model) > 1 for model in self.models):
            raise ValueError(
                "repeats above 1 needs temperature above 0 in [writing], or a model behind an API: any other gives the "
                "same answer again"
            )
        if "pride" in (self.strategies or ()) and not all(benchmark.calibration for benchmark in self.benchmarks):
            raise ValueError("pride needs a `calibration` of 1 or more in every benchmark: leave one of the two out")
        check_names("models", self.models)
        check_names("benchmarks", self.benchmarks)
        return self

    @property
    def wanted(self) -> tuple[Strategy, ...]:
        """The strategies, in one order."""
        return tuple(s for s in STRATEGIES if self.strategies is None or s in self.strategies)

    def times(self, model: ModelSettings) -> int:
        """Return how often a model is asked for each written answer: once, where a second could not differ."""
        return self.repeats if self.writing.temperature or model.model.startswith("openai:") else 1

    def options(self, **given: Any) -> WritingOptions:
        """Return how one strategy writes; ``given`` is its own.

        All write at the same length, the published one unless the file says another: what is cut off has no answer.
        """
        common = self.writing.model_dump(include={"thinking_tokens", "temperature"})
        common["max_tokens"] = self.writing.max_tokens or LONG
        return WritingOptions(**{**common, "seed": self.seed, **given})


def folder(name: str) -> str:
    """Return a name as that of a folder.

    Examples
    --------
    >>> folder("Qwen/Qwen2.5 7B"), folder("..")
    ('Qwen-Qwen2.5-7B', 'unnamed')
    """
    plain = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFKC", name))[:80].strip(".-")
    # A file system counts bytes; half a letter at the end is left out.
    return plain.encode()[:200].decode(errors="ignore") or "unnamed"


class Named(Protocol):
    """What has a folder of its own."""

    @property
    def shown(self) -> str:
        """Its name."""
        ...


def check_names(key: str, entries: Sequence[Named]) -> None:
    """Raise ValueError if two entries would have one folder."""
    by_folder: dict[str, list[str]] = {}
    for entry in entries:
        by_folder.setdefault(folder(entry.shown).casefold(), []).append(short(entry.shown))
    for name, shown in by_folder.items():
        if len(shown) > 1:
            raise ValueError(
                f"{key} must have different names, also as folders: {', '.join(shown)} would all be in {name}. "
                "Set `name` in each"
            )


def read_study(path: str) -> StudySettings:
    """Read the file of a label-free study; see :func:`read_settings`."""
    return read_settings(path, StudySettings, "STUDY", "docs/study.md")


def read_settings(path: str, kind: type[_Kind], argument: str, page: str) -> _Kind:
    """Read a file of settings; ``argument`` is what the command calls it, ``page`` describes it.

    Raises
    ------
    ArgumentError
        If it is no TOML, or a key is unknown, missing or has a value outside its rule; each fault names its key.
    """
    with Path(path).open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ArgumentError(f"{argument} must be a file of at most {MAX_BYTES:,} bytes. Got {path}.")
    try:
        table = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # both readers' errors are of the first kind
        raise ArgumentError(f"{argument} must be a TOML file ({page}). {path}: {error}.") from error
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        raise ArgumentError("\n".join(_fault(path, kind, fault) for fault in _innermost(error.errors()))) from error


def _innermost(faults: Sequence[Any]) -> list[Any]:
    """Leave out that a list lacks an entry which is there and has a fault of its own."""
    inside = {fault["loc"][:n] for fault in faults for n in range(1, len(fault["loc"]))}
    return [fault for fault in faults if fault["loc"] not in inside]


def _fault(path: str, kind: type[BaseModel], fault: Any) -> str:
    """Say one fault: file, key, rule, what was got."""
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    what = fault["type"]
    if what == "extra_forbidden":
        return f"{path}: `{key}` is no setting. The settings there are: {', '.join(_table(kind, fault).model_fields)}."
    if what == "missing":
        return f"{path}: `{key}` must be given."
    if what == "tuple_type":
        entries = f" [[{key}]] begins each of its entries." if key in ("models", "benchmarks") else ""
        return f"{path}: `{key}` must be a list.{entries}"
    if what == "too_short":
        return f"{path}: `{key}` must have at least one entry."
    rule = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    if what == "value_error":
        return f"{path}{f': {key}' if key else ''}: {rule}."
    # Of a table or a list nothing is repeated: it may be long, or hold what belongs elsewhere.
    got = "" if isinstance(fault["input"], dict | list | tuple) else f" Got {fault['input']!r:.80}."
    return f"{path}: `{key}`: {rule}.{got}"


def _table(kind: type[BaseModel], fault: Any) -> type[BaseModel]:
    """Return the table that a fault is in: the settings as a whole, or those of an entry."""
    where = fault["loc"]
    declared = kind.model_fields[where[0]].annotation if len(where) > 1 else None
    inner = [declared, *get_args(declared)]
    return next((t for t in inner if isinstance(t, type) and issubclass(t, BaseModel)), kind)
