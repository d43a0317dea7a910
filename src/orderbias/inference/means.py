"""A number with its interval, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, its interval (None where there is none) and how many units it is of; all None or 0 for no unit."""

    value: float | None
    interval: tuple[float, float] | None
    n: int

    @property
    def direction(self) -> int | None:
        """-1 or 1 where the interval excludes 0 on that side, else 0; None where there is no interval."""
        if self.interval is None:
            return None
        low, high = self.interval
        return 1 if low > 0 else -1 if high < 0 else 0

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {"value": self.value, "interval": None if self.interval is None else list(self.interval), "n": self.n}
