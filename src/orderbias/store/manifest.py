"""What a run is: the settings that must not change, its designs, template and items; knows no answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orderbias.errors import ArgumentError, RunError
from orderbias.items import Item, ItemSet
from orderbias.orderings import Design
from orderbias.signature import Signature, text_hash
from orderbias.store.atomic import PARTIAL

FORMAT = 1

#: What a run directory holds, and nothing else before it has a manifest.
_OURS = frozenset({"manifest.json", "items.jsonl", "records", "lock"})

#: Secrets and places of this machine have no business in a directory that is passed on.
_PATH = re.compile(r"(?:^|(?<=[\s:=(,;\"']))(?:/(?!/)\S|~/|[A-Za-z]:[\\/](?!/)|\\\\)|\bfile:")
_KEY = re.compile(r"\b(sk-|hf_|ghp_|gsk_|xai-)[A-Za-z0-9_-]{24,}|\bBearer\s")


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that makes a run what it is.

    Parameters
    ----------
    settings
        All that must not change while it is filled: data hash, design, template hash, readout, labels, model ...
    designs
        The design of each number of options, where all items of that number share one; empty for designs per item.
    template
        The text of the prompt's template.
    versions
        Package versions, for the reader; they may change.
    n_queries
        How many queries the run plans.

    Raises
    ------
    ArgumentError
        If a setting looks like a path of this machine or a key.
    """

    settings: Signature
    designs: Mapping[int, Design] = field(default_factory=dict)
    template: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    n_queries: int = 0
    format: int = FORMAT

    def __post_init__(self) -> None:
        for name, value in (*self.settings.entries, *self.versions.items()):
            if _PATH.search(value) or _KEY.search(value):
                raise ArgumentError(
                    f"A setting of a run must be neither a path of this machine nor a key. `{name}` looks like one. "
                    "Give a name instead."
                )

    @property
    def design_hash(self) -> str:
        """Hash of the design arrays, with which orderings are presented."""
        return text_hash(
            part
            for k, design in sorted(self.designs.items())
            for part in (str(k), str(design.positions.tolist()), str(design.presented.tolist()))
        )

    @property
    def template_hash(self) -> str:
        """Hash of the template's text."""
        return text_hash(self.template)

    def differences(self, other: Manifest) -> tuple[str, ...]:
        """Name what must not differ and does, as ``name: mine -> theirs``."""
        changes = list(self.settings.differences(other.settings))
        for name in ("design_hash", "template_hash", "n_queries"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                changes.append(f"{name}: {mine} -> {theirs}")
        return tuple(changes)

    def to_json(self, items: ItemSet) -> str:
        """Return the text of ``manifest.json``; the items' hashes stand in it."""
        stored = {
            "format": self.format,
            "settings": self.settings.as_dict(),
            "n_queries": self.n_queries,
            "n_items": len(items),
            "data_hash": items.data_hash,
            "shots_hash": shots_hash(items),
            "design_hash": self.design_hash,
            "template_hash": self.template_hash,
            "template": self.template,
            "designs": {
                str(k): {"positions": d.positions.tolist(), "presented": d.presented.tolist()}
                for k, d in sorted(self.designs.items())
            },
            "versions": dict(self.versions),
        }
        return json.dumps({**stored, "manifest_hash": manifest_hash(stored)}, indent=1)

    @classmethod
    def from_json(cls, text: str, where: str) -> tuple[Manifest, dict[str, str], dict[str, str]]:
        """Read ``manifest.json``; returns it, the hashes written there, and those that can be derived from it again.

        Raises
        ------
        RunError
            If it is no manifest, or one of a later format.
        """
        try:
            stored = json.loads(text)
            if type(stored["format"]) is not int or stored["format"] != FORMAT:
                raise RunError(f"{where} must be of format {FORMAT}. Got {stored['format']!r}. Use a newer orderbias.")
            manifest = cls(
                settings=Signature.from_mapping(_texts(stored["settings"])),
                designs={int(k): _design(int(k), d) for k, d in stored["designs"].items()},
                template=_text(stored["template"]),
                versions=_texts(stored["versions"]),
                n_queries=_count(stored["n_queries"]),
            )
            written = {name: _text(stored[name]) for name in HASHES if name != "manifest_hash" or name in stored}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise RunError(f"{where} must be the manifest of a run. It is damaged: {error!r}.") from error
        derived = {"design_hash": manifest.design_hash, "template_hash": manifest.template_hash}
        if "manifest_hash" in written:  # an early orderbias wrote none
            derived["manifest_hash"] = manifest_hash({k: v for k, v in stored.items() if k != "manifest_hash"})
        return manifest, written, derived


#: What is written of hashes in a manifest.
HASHES = ("data_hash", "shots_hash", "design_hash", "template_hash", "manifest_hash")


def manifest_hash(stored: Mapping[str, Any]) -> str:
    """Hash of everything else in a manifest, by which a change of hand shows."""
    return text_hash(json.dumps(stored, sort_keys=True))


def hash_faults(derived: Mapping[str, str], written: Mapping[str, str]) -> list[str]:
    """Return a sentence for each hash that is not the one written."""
    return [
        f"The {name.replace('_', ' ')} must be {written[name]}, as the manifest says. Got {found}."
        for name, found in derived.items()
        if written[name] != found
    ]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text where {value!r} stands")
    return value


def _texts(value: Mapping[str, object]) -> dict[str, str]:
    return {name: _text(entry) for name, entry in value.items()}


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"a number from 0 where {value!r} stands")
    return value


def _design(n_options: int, stored: Mapping[str, Any]) -> Design:
    design = Design(stored["positions"], stored["presented"])
    if design.n_options != n_options:
        raise ValueError(f"a design of {design.n_options} options under {n_options}")
    return design


# --- items -------------------------------------------------------------------------------------------------------


def shots_hash(items: ItemSet) -> str:
    """Hash of the solved examples."""
    return ItemSet("", items.shots).data_hash


def items_to_jsonl(items: ItemSet) -> str:
    """Return a set of items as JSON lines: its name and notices first, then items, then solved examples."""
    return "".join(json.dumps(line) + "\n" for line in _lines(items))


def _lines(items: ItemSet) -> Iterator[dict[str, Any]]:
    yield {"name": items.name, "notices": items.notices, "n_items": len(items.items), "n_shots": len(items.shots)}
    for item in (*items.items, *items.shots):
        yield {name: getattr(item, name) for name in Item.__dataclass_fields__}


def items_from_jsonl(text: str, where: str) -> ItemSet:
    """Read what :func:`items_to_jsonl` wrote, exactly.

    Raises
    ------
    RunError
        If it is damaged.
    """
    try:
        head, *rows = [json.loads(line) for line in text.split("\n") if line]
        if len(rows) != head["n_items"] + head["n_shots"]:
            raise ValueError(f"{len(rows)} lines of {head['n_items'] + head['n_shots']}")
        made = tuple(_item(row) for row in rows)
        n = head["n_items"]
        return ItemSet(head["name"], made[:n], made[n:], tuple(head["notices"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunError(f"{where} must be the items of a run. It is damaged: {error!r}.") from error


def _item(row: dict[str, Any]) -> Item:
    options = row["options"]
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise TypeError(f"texts where {options!r} stands")
    if row["gold"] is not None and not 0 <= _count(row["gold"]) < len(options):
        raise ValueError(f"gold {row['gold']} of {len(options)} options")
    return Item(**{**row, "options": tuple(options), "pinned": tuple(row["pinned"])})


def may_hold_run(root: Path) -> bool:
    """Whether a directory is missing, empty, a run, or what a killed process left of one."""
    if not root.exists():
        return True
    if not root.is_dir():
        return False
    return (
        all(path.name.removesuffix(PARTIAL) in _OURS for path in root.iterdir()) or (root / "manifest.json").is_file()
    )
