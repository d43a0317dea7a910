"""Words about a number say no more than its interval."""

import pytest

from orderbias.studies.findings import Number
from orderbias.studies.panel.wording import sign, trend, written


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (Number(0.5, 0.2, 0.7), "rises with accuracy"),
        (Number(-0.5, -0.7, 0.1), "neither clearly rises nor clearly falls"),
        (Number(-0.5), "falls with accuracy over these cells (r_s = -0.50, without an interval)"),
        (Number(None), "no rank correlation"),
    ],
)
def test_a_trend_is_clear_where_the_interval_is_on_one_side(number, said):
    assert said in trend("The flip rate", number)


def test_signs_and_entries():
    assert [sign(n) for n in (Number(-1, -2, -0.5), Number(0.1, 0, 1), Number(0.5, 0.1, 1), Number(3))] == [-1, 0, 1, 0]
    assert (written(None), written(Number(0.25, 0.125, 0.5), 1, 100)) == ("undefined", "25.0 [12.5, 50.0]")
