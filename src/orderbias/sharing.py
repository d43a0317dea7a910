"""What queries ask in all, and what several of them have in common; knows no answer and no backend.

A free answer to a question whose options are hidden is the same request under every ordering of them. At temperature 0
it has one reply, so that it is asked once for all queries of one repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from orderbias.backends import LabelReply, LabelRequest, Reply, Request, TextReply
from orderbias.items import Item
from orderbias.strategies import Answer, Asking, advanced

#: Requests under way or answered that a window of queries may still share.
REMEMBERED = 4096

Key = tuple[Request, int]


def sharing_key(request: Request, repeat: int) -> Key | None:
    """Return what equal requests have in common; None for one that has a reply of its own.

    Log-probabilities are not shared: a backend computes their common prefixes once, and counts what it computes.
    """
    drawn = isinstance(request, LabelRequest) or request.temperature > 0
    return None if drawn else (request, repeat)


def distinct(requests: Sequence[Request], repeats: Sequence[int]) -> tuple[list[Request], list[int]]:
    """Return requests without those that an earlier one answers, and for each request which of them does.

    Examples
    --------
    >>> from orderbias.backends import TextRequest
    >>> same = TextRequest("1", (0, 1), "Why?")
    >>> asked, source = distinct([same, TextRequest("1", (0, 1), "How?"), same, same], [0, 0, 0, 1])
    >>> len(asked), source
    (3, [0, 1, 0, 2])
    """
    asked: list[Request] = []
    known: dict[Key, int] = {}
    source = []
    for request, repeat in zip(requests, repeats, strict=True):
        key = sharing_key(request, repeat)
        index = len(asked) if key is None else known.setdefault(key, len(asked))
        if index == len(asked):
            asked.append(request)
        source.append(index)
    return asked, source


def spread(replies: Sequence[Reply], source: Sequence[int]) -> list[Reply]:
    """Return the reply to each of the requests that :func:`distinct` was given; tokens count with the first alone."""
    seen: set[int] = set()
    spent = []
    for index in source:
        spent.append(costless(replies[index]) if index in seen else replies[index])
        seen.add(index)
    return spent


def costless(reply: Reply) -> Reply:
    """Return a reply that was paid for already."""
    return replace(reply, tokens_in=0) if isinstance(reply, LabelReply) else replace(reply, tokens_in=0, tokens_out=0)


@dataclass(slots=True)
class UnderWay:
    """Requests whose replies come later, as futures; an equal request follows the first."""

    _known: dict[Key, Future[Reply]] = field(default_factory=dict)

    def earlier(self, request: Request, repeat: int) -> Future[Reply] | None:
        """Return a future of the reply to an equal request, or None if there was none."""
        key = sharing_key(request, repeat)
        source = None if key is None else self._known.get(key)
        return None if source is None or source.cancelled() else _following(source)

    def remember(self, request: Request, repeat: int, reply: Future[Reply]) -> None:
        """Note a request that was put."""
        key = sharing_key(request, repeat)
        if key is not None:
            self._known[key] = reply
            while len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]


def _following(source: Future[Reply]) -> Future[Reply]:
    follower: Future[Reply] = Future()

    def pass_on(done: Future[Reply]) -> None:
        if not follower.set_running_or_notify_cancel():
            return
        try:
            follower.set_result(costless(done.result()))
        except BaseException as error:  # whatever ended the first ends those that follow
            follower.set_exception(error)

    source.add_done_callback(pass_on)
    return follower


def rehearsed(asking: Asking, item: Item) -> list[Request]:
    """Return every request that a query makes, without asking: its replies are stand-ins, an option's text each.

    A strategy that asks more or less by what it is told makes another number.
    """
    made: list[Request] = []
    while not isinstance(step := advanced(asking, _stand_in(made[-1], item) if made else None), Answer):
        made.append(step)
    return made


def _stand_in(request: Request, item: Item) -> Reply:
    if isinstance(request, LabelRequest):
        return LabelReply((-1.0,) * len(request.labels))
    return TextReply(item.options[0] if item.options else "")
