"""Every strategy once with the demonstration model: real replies, read and stored, the same when asked again."""

from importlib.util import find_spec

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from embedder_files import minilm
from orderbias.backends._loading import demo_model
from orderbias.backends.embedding import SentenceEmbedder
from orderbias.backends.local import LocalBackend
from orderbias.benchmarks import load_benchmark
from orderbias.collect import Asker, collect, plan
from orderbias.items import ItemSet
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.records import found_counts, from_rows
from orderbias.strategies.chain_of_thought import ChainOfThought
from orderbias.strategies.direct import Direct
from orderbias.strategies.independent import Independent, Scores
from orderbias.strategies.matching import Matcher
from orderbias.strategies.two_stage import Stages, TwoStage
from orderbias.strategies.writing import Writing

pytestmark = pytest.mark.model

MINILM = minilm()
SHORT, LONGER = Writing(3), Writing(8)


@pytest.fixture(scope="module")
def backend():
    return LocalBackend.load(demo_model(), chat=True)


def answered(backend, strategy, design="cyclic", n_items=3):
    items = load_benchmark("mmlu-five", limit=n_items)
    sink = []
    asker = Asker(backend, strategy, Template(), benchmark="five", readout="r")
    collect(
        asker, plan(ItemSet("five", items.items), parse_design(design)).queries, type("S", (), {"append": sink.extend})
    )
    return sink


def test_direct_answers_open_with_a_letter(backend):
    records = answered(backend, Direct(SHORT))
    assert len(records) == 12
    for record in records:
        assert record.status in ("ok", "unparsed")
        if record.found == "opening":
            assert record.text.lstrip(" (*")[0] == "ABCD"[record.place]
    assert found_counts(from_rows(records))["opening"] > 0
    assert answered(backend, Direct(SHORT), n_items=1)[0].text == records[0].text


def test_chain_of_thought_keeps_replies_that_were_cut_off_without_an_answer(backend):
    records = answered(backend, ChainOfThought(LONGER), "canonical")
    assert len(records) == 3
    for record in records:
        assert record.tokens_out <= 8
        assert (record.place is None) == (record.status != "ok")


def test_hidden_options_are_answered_once_and_matched_without_a_flip(backend):
    near = MINILM is not None and find_spec("sentence_transformers") is not None
    matcher = Matcher(SentenceEmbedder(str(MINILM))) if near else Matcher()  # without one, its last step is left out
    records = answered(backend, TwoStage(second="match", writing=LONGER, matcher=matcher))
    for start in range(0, 12, 4):
        rotations = records[start : start + 4]
        assert len({Stages.split(r.text).first for r in rotations}) == 1
        assert len({None if r.place is None else r.positions.index(r.place) for r in rotations}) == 1
        assert [r.tokens_out == 0 for r in rotations] == [False, True, True, True]


def test_two_stages_with_the_model_in_both(backend):
    for record in answered(backend, TwoStage("visible", "model", writing=LONGER), "canonical", 1):
        stages = Stages.split(record.text)
        assert stages.first.text
        assert stages.second is not None


def test_scores_are_the_same_under_every_ordering(backend):
    records = answered(backend, Independent(writing=LONGER), n_items=1)
    assert len({r.text for r in records}) == 1
    assert len({r.positions.index(r.place) for r in records}) == 1
    assert len(Scores.split(records[0].text).scores) == 4
