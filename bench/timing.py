"""Seconds that something takes."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(run: Callable[[], object], times: int = 3) -> float:
    """Best of a few runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)
