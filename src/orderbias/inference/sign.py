"""The exact sign test and what it could have shown; plain statistics, knows nothing of options or judges."""

from __future__ import annotations

import math

from scipy.special import betainc

from orderbias.errors import ArgumentError

#: No smaller p-value is given: below it, doubles lose digits and soon are a wrong 0.
SMALLEST_P = 1e-300
#: Up to so many signs the tail is a ratio of whole numbers, so that the result is the double nearest to the truth.
_WHOLE_NUMBERS = 512


def sign_test_p(k: int, n: int) -> float:
    """Two-sided exact p-value of ``k`` of ``n`` signs being positive when each is so with probability 1/2.

    Twice the smaller tail of Binomial(n, 1/2), at most 1 (judge-swap, 03). Time and memory do not grow with ``n``.

    Parameters
    ----------
    k, n
        Whole numbers with ``0 <= k <= n``; no sign at all gives 1.

    Returns
    -------
    float
        In ``[1e-300, 1]``; 1e-300 stands for anything smaller, and :func:`p_text` says so.

    Raises
    ------
    ArgumentError
        If ``k`` is outside ``0..n``.

    Examples
    --------
    >>> sign_test_p(5, 10), sign_test_p(0, 5), sign_test_p(40, 40) == 2 / 2**40
    (1.0, 0.0625, True)
    >>> p_text(sign_test_p(0, 1_000_000))
    '< 1e-300'
    """
    if not 0 <= k <= n or k != int(k) or n != int(n):
        raise ArgumentError(f"`k` must be a whole number of 0..`n`. Got k = {k!r}, n = {n!r}.")
    k, n = int(min(k, n - k)), int(n)
    if 2 * k >= n - 1:  # the two tails overlap or meet: this is no less likely than anything else
        return 1.0
    if n <= _WHOLE_NUMBERS:
        tail = sum(math.comb(n, i) for i in range(k + 1)) / 2**n
    else:
        tail = float(betainc(n - k, k + 1, 0.5))
    return float(min(1.0, max(2 * tail, SMALLEST_P)))


def p_text(p: float) -> str:
    """Write a p-value: two digits, and ``< 1e-300`` for what is smaller.

    Examples
    --------
    >>> p_text(0.0421), p_text(0.25), p_text(1.0)
    ('0.042', '0.25', '1')
    """
    return "< 1e-300" if p <= SMALLEST_P else f"{p:.2g}"


def smallest_shown_share(n: int, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the smallest share of positive signs that ``n`` signs would have shown with a given power.

    The sign test rejects at ``alpha`` when at least ``c`` signs agree, ``c`` the smallest count with
    ``sign_test_p(c, n) < alpha``. The share sought is the ``s > 1/2`` with ``P(Binomial(n, s) >= c) = power``.

    Returns
    -------
    float or None
        Between 1/2 and 1; None where not even ``n`` of ``n`` reject, so that no share at all could be shown.

    Examples
    --------
    >>> smallest_shown_share(5) is None
    True
    >>> round(smallest_shown_share(100), 3)
    0.645
    """
    if n < 1 or sign_test_p(n, n) >= alpha:
        return None
    counts = _critical_count(n, alpha)
    # P(X >= c) is the regularised incomplete beta function I_s(c, n - c + 1), which grows with s.
    low, high = 0.5, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if betainc(counts, n - counts + 1, middle) < power:
            low = middle
        else:
            high = middle
    return high


def _critical_count(n: int, alpha: float) -> int:
    """Return the smallest count above half of ``n`` that rejects."""
    low, high = n // 2, n  # the test does not reject at `low`, and does at `high`
    while high - low > 1:
        middle = (low + high) // 2
        if sign_test_p(middle, n) < alpha:
            high = middle
        else:
            low = middle
    return high
