"""Drawn labels follow the label probabilities at a temperature, and each draw depends on its query alone."""

import numpy as np
import pytest
from scipy import stats

from orderbias.backends import LabelReply
from orderbias.items import Item
from orderbias.prompts import Template
from orderbias.records import Record, from_rows
from orderbias.strategies.sampled_label import SampledLabel

SHARES = np.array([0.5, 0.3, 0.2])
REPLY = LabelReply(tuple(np.log(0.4 * SHARES)), tokens_in=9)


def draw(item_id="1", repeat=0, temperature=1.0, seed=0, reply=REPLY, positions=(0, 1, 2)):
    asking = SampledLabel(temperature, seed)(Item(item_id, "?", ("x", "y", "z")), positions, Template(), (), repeat)
    next(asking)
    with pytest.raises(StopIteration) as done:
        asking.send(reply)
    return done.value.value


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_draws_follow_the_shares(temperature):
    n = 3000
    places = [draw(repeat=i, temperature=temperature).place for i in range(n)]
    expected = SHARES ** (1 / temperature)
    test = stats.chisquare(np.bincount(places, minlength=3), n * expected / expected.sum())
    assert test.pvalue > 0.001


def test_a_draw_depends_on_its_query_and_the_seed():
    many = [
        [draw(item_id=str(i), repeat=r, seed=s).place for i in range(60)] for r, s in ((0, 0), (0, 0), (1, 0), (0, 1))
    ]
    assert many[0] == many[1]
    assert len({tuple(m) for m in many}) == 3


def test_a_low_temperature_takes_the_most_probable():
    assert {draw(repeat=i, temperature=0.01).place for i in range(50)} == {0}


def test_the_record_of_a_draw_is_sound():
    answers = [draw(repeat=i) for i in range(20)]
    assert {a.place for a in answers} == {0, 1, 2}
    assert all(a.logprobs is None and a.mass == pytest.approx(0.4) for a in answers)
    assert answers[0].text == "drawn from A 0.5000, B 0.3000, C 0.2000"
    rows = [Record(item_id="1", positions=(0, 1, 2), place=a.place, mass=a.mass, repeat=i, text=a.text)
            for i, a in enumerate(answers)]  # fmt: skip
    assert from_rows(rows).place.tolist() == [a.place for a in answers]


def test_a_failed_reply_stays_one():
    found = draw(reply=LabelReply(None, 3, "error", "no"))
    assert (found.place, found.status, found.text) == (None, "error", "no")
