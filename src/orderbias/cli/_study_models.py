"""One model for all runs of a study: loaded once, settled anew in each; a server's caps hold over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from orderbias.backends import Reply, Request, Workload
from orderbias.cli._api import ApiOptions
from orderbias.cli._asking import ModelOptions, load_backend, refuse_unused
from orderbias.errors import ArgumentError
from orderbias.items import ItemSet

if TYPE_CHECKING:
    from orderbias.backends import Backend
    from orderbias.backends._limits import Used


@dataclass(slots=True)
class SharedModel:
    """Makes the backend of each run; to be given to ``ask_into`` as ``load``.

    A run's backend settles for itself, so that runs do not depend on which were made before.
    """

    last: Backend | None = None
    _weights: Any = None
    _spent: list[Any] = field(default_factory=list)

    def __call__(self, model: str, items: ItemSet, options: ModelOptions) -> Backend:
        """Return a backend that has not been settled."""
        from orderbias.backends._limits import Used

        kind = model.partition(":")[0]
        if kind == "openai":
            self._count()
            self.last = load_backend(model, items, options)
            self.last.count_before(sum(self._spent, Used()))  # type: ignore[attr-defined]  # only this kind has caps
        elif kind == "local" or model == "demo":
            refuse_unused(options, [f.name for f in fields(ApiOptions)], "openai:NAME", model)
            self.last = self._local(model, options)
        else:
            self.last = load_backend(model, items, options)
        return self.last

    def _local(self, model: str, options: ModelOptions) -> Backend:
        """Put the weights that are there into a backend of their own."""
        from orderbias.backends._cpu import keep_freed_memory
        from orderbias.backends._loading import demo_model, load_model
        from orderbias.backends.local import LocalBackend

        if self._weights is None:
            keep_freed_memory()
            self._weights = load_model(
                str(demo_model()) if model == "demo" else model.partition(":")[2],
                revision=options.revision,
                dtype=options.dtype,
                device=options.device,
                trust_remote_code=options.trust_remote_code,
            )
        return LocalBackend(
            self._weights,
            chat=options.chat,
            label_forms=options.label_forms,
            label_form=options.label_form,
            token_budget=options.token_budget,
            engine=options.engine,
        )

    def _count(self) -> None:
        """Remember what the backend before has used."""
        used = getattr(self.last, "used", None)
        if used is not None:
            self._spent.append(used)
        self.last = None


def cost_of(model: str, options: ModelOptions, used: Used) -> float | None:
    """Return what calls cost at the prices given; None without."""
    from orderbias.backends._prices import read_price

    kind, _, name = model.partition(":")
    if kind != "openai" or options.prices is None:
        return None
    return read_price(options.prices, name).of(used.tokens_in, used.tokens_out)


@dataclass(frozen=True, slots=True)
class Unasked:
    """Stands for a model in a run that takes all its replies from another run: it has the other's identity."""

    identity: Mapping[str, str]

    def settle(self, requests: Sequence[Request]) -> None:
        """Nothing is left open."""

    def workload(self, requests: Sequence[Request]) -> Workload:
        """Nothing is asked."""
        return Workload(0, 0)

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Refuse, as nothing may be asked."""
        if requests:
            raise ArgumentError("A run that takes its replies from another must have nothing to ask.")
        return []
