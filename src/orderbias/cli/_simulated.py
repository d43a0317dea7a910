"""The demo without a model: answers made by known laws, so that what is found can be held against what was planted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orderbias.backends.simulated import SimulatedBackend
from orderbias.benchmarks import load_benchmark
from orderbias.cli._saying import say
from orderbias.collect import Asker, collect, plan
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.strategies.first_token import first_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orderbias.cells import Cells
    from orderbias.records import Record

PREFERENCE = (1.0, 0.3, 0.0, -0.5)


class _InMemory:
    """A place for records that is gone with the process."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, records: Sequence[Record]) -> None:
        self.records.extend(records)


def planted_cells(limit: int | None = None) -> Cells:
    """Return the cell of a simulated model that leans to A, and say what was planted."""
    from orderbias.cells import cells
    from orderbias.records import from_rows

    items = load_benchmark("mmlu-five", limit=limit)
    backend = SimulatedBackend(items.items, PREFERENCE)
    sink = _InMemory()
    asker = Asker(backend, first_token, Template(), benchmark=items.name, readout="first-token")
    collect(asker, plan(items, parse_design("cyclic")).queries, sink)
    planted = ", ".join(f"{label} {b:+.1f}" for label, b in zip("ABCD", PREFERENCE, strict=True))
    say(f"Planted: a preference of {planted} logits for the places. Found:\n")
    return cells(from_rows(sink.records))
