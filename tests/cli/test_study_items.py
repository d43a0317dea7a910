"""The items of the label-free study, drawn from the real benchmarks as its paper draws them."""

from collections import Counter
from pathlib import Path

import pytest

from orderbias.cli._study_items import draw, ranked
from orderbias.cli._study_settings import BenchmarkSettings

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")


def drawn(seed=42, **settings):
    return draw(BenchmarkSettings(**settings, data_dir=str(DATA)), seed, n_calibration=50)


def test_fifty_subjects_of_twenty_and_fifty_others_that_calibrate():
    found = drawn(source="mmlu", groups=50, per_group=20)
    assert Counter(Counter(item.group for item in found.items).values()) == {20: 50}
    assert len(found.calibration) == 50
    assert not {i.id for i in found.items} & {i.id for i in found.calibration}


def test_a_thousand_of_arc_and_fifty_others_that_calibrate():
    found = drawn(source="arc-challenge", n_items=1000)
    assert (len(found.items), len(found.calibration)) == (1000, 50)
    assert not {i.id for i in found.items} & {i.id for i in found.calibration}
    # Fewer are some of the same; another seed draws others.
    assert {i.id for i in drawn(source="arc-challenge", n_items=100).items} < {i.id for i in found.items}
    assert {i.id for i in drawn(7, source="arc-challenge", n_items=1000).items} != {i.id for i in found.items}
    assert list(ranked(reversed(found.items.items), 42)) == list(ranked(found.items.items, 42))
