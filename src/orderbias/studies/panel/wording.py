"""Words that several analyses share: names of statistics, and sentences about a number; computes none."""

from __future__ import annotations

from orderbias.studies.findings import Number

#: What a statistic is called in a sentence and in a table.
WORDS = {
    "flip_rate": "flip rate",
    "positional_skew": "positional skew",
    "pooled_sd": "pooled SD",
    "balanced_rstd": "balanced RStd",
    "per_item_sd": "per-item SD",
    "per_item_kl": "per-item KL",
    "forward_kl": "forward KL",
    "fluctuation_rate": "fluctuation rate",
    "pairwise_disagreement": "pairwise disagreement",
    "content_entropy": "content entropy",
    "scaled_flip_rate": "scaled flip rate",
}


def written(number: object, digits: int = 2, times: float = 1) -> str:
    """Write an entry of a table with its interval for a sentence.

    Parameters
    ----------
    number
        Any entry.
    digits
        Decimals.
    times
        100 for a share in per cent or points.

    Examples
    --------
    >>> written(Number(-0.951, -0.97, -0.93)), written(Number(None)), written(Number(0.125), 1, 100)
    ('-0.95 [-0.97, -0.93]', 'undefined', '12.5')
    """
    if not isinstance(number, Number) or number.value is None:
        return "undefined"
    said = f"{times * number.value:.{digits}f}"
    if number.low is None or number.high is None:
        return said
    return f"{said} [{times * number.low:.{digits}f}, {times * number.high:.{digits}f}]"


def sign(number: Number) -> int:
    """Return 1 or -1 where the whole interval is on that side of 0, else 0; 0 without an interval.

    Examples
    --------
    >>> sign(Number(0.3, 0.1, 0.5)), sign(Number(0.3, -0.1, 0.5)), sign(Number(0.3))
    (1, 0, 0)
    """
    if number.low is None or number.high is None:
        return 0
    return int(number.low > 0) - int(number.high < 0)


def trend(what: str, number: Number) -> str:
    """Say how a statistic goes with accuracy, as far as its interval lets one.

    Examples
    --------
    >>> trend("The flip rate", Number(-0.95, -0.97, -0.93))
    'The flip rate falls with accuracy (r_s = -0.95 [-0.97, -0.93]).'
    >>> trend("The positional skew", Number(0.1, -0.2, 0.4))
    'The positional skew neither clearly rises nor clearly falls with accuracy (r_s = 0.10 [-0.20, 0.40]).'
    """
    if number.value is None:
        return f"{what} has no rank correlation with accuracy here: one of them does not vary."
    way = "rises" if number.value > 0 else "falls"
    if number.low is None:
        return f"{what} {way} with accuracy over these cells (r_s = {written(number)}, without an interval)."
    if not sign(number):
        way = "neither clearly rises nor clearly falls"
    return f"{what} {way} with accuracy (r_s = {written(number)})."


def capitalised(text: str) -> str:
    """Return a text with its first letter a capital, the others as they are."""
    return text[:1].upper() + text[1:]


def counted(n: int, one: str, several: str | None = None) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "cell"), counted(12_000, "cell")
    ('1 cell', '12,000 cells')
    """
    return f"{n:,} {one if n == 1 else several or one + 's'}"
