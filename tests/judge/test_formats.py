"""Files of other tools: each is recognised by its shape, says so, and is read as its tool wrote it."""

import csv
import json

import numpy as np
import pytest

from orderbias.errors import DataError
from orderbias.judge import in_pair_terms, read_judgments
from orderbias.judge.formats import FORMATS
from orderbias.verdicts import Terms


@pytest.fixture
def read(tmp_path):
    def reading(*rows, name="rows.jsonl", **options):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(rows) if path.suffix == ".json" else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(text)
        found = read_judgments([path], **options)
        return found[0] if len(found) == 1 else found

    return reading


def fastchat(question=81, winners=("model_1", "model_1"), **more):
    return {
        "question_id": question, "model_1": "alpaca", "model_2": "gpt-4", "g1_winner": winners[0],
        "g2_winner": winners[1], "judge": ["gpt-4", "pair-v2"], "g1_judgment": "[[A]]", "g2_judgment": "[[B]]",
        "turn": 1, "tstamp": 1.5, **more,
    }  # fmt: skip


def llmbar(winners=("1", "1"), **more):
    calls = [{"completion": ["Output (a)", "stop"], "winner": winner} for winner in winners]
    results = [dict(zip(("swap = False", "swap = True"), calls, strict=True))]
    return {"input": "q", "output_1": "one", "output_2": "three", "label": 1, "results": results, **more}


def judgebench(decisions=("A>B", "B>A"), **more):
    games = [{"judgment": {"judge_model": "o1-mini", "response": "..."}, "decision": d} for d in decisions]
    return {
        "pair_id": "p1", "original_id": 3, "source": "mmlu-pro-law", "question": "q", "response_model": "gpt-4o",
        "response_A": "yes", "response_B": "no", "label": "A>B", "judge_name": "arena_hard", "judgments": games, **more,
    }  # fmt: skip


def shi(first="vicuna", second="baize", verdict="A", **more):
    return {"question_id": "81", "shown_first": first, "shown_second": second, "verdict": verdict, **more}


def alpacaeval(preference=1.0, instruction="How do I make escargot?", **more):
    return {
        "instruction": instruction, "output_1": "reference", "generator_1": "gpt4", "dataset": "helpful_base",
        "output_2": "mine", "generator_2": "tiny", "annotator": "weighted_gpt4", "preference": preference, **more,
    }  # fmt: skip


def pandalm(verdict="1", **more):
    return {"idx": 0, "cmp_key": "bloom_llama", "rater1": 2, "rater2": 2, "rater3": 0, "gpt_verdict": verdict, **more}


ROWS = {
    "generic": {"pair_id": 1, "order": "AB", "verdict": "first"},
    "fastchat": fastchat(),
    "llmbar": llmbar(),
    "judgebench": judgebench(),
    "shi": shi(),
    "alpacaeval": alpacaeval(),
    "pandalm": pandalm(),
}


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_contract(read, kind):
    """Each format fits its own row and no other, says what it was read as, and takes no other terms than its own."""
    assert [other.name for other in FORMATS if other.fits(frozenset(ROWS[kind.name]))] == [kind.name]
    found = read(ROWS[kind.name])
    assert found.source == kind.name
    assert found.notices[0] == f"Read as {kind.title}."
    assert read(ROWS[kind.name], format=kind.name).data_hash == found.data_hash
    if kind.terms is not None:
        other = Terms.PAIR if kind.terms is Terms.SHOWN else Terms.SHOWN
        assert read(ROWS[kind.name], terms=str(kind.terms)).calls.tolist() == found.calls.tolist()
        with pytest.raises(DataError, match=f"--terms {other} does not fit"):
            read(ROWS[kind.name], terms=str(other))
    with pytest.raises(DataError, match=rf"line 1: the format {kind.name} needs the columns .*Found x\. See docs"):
        read({"x": 1}, format=kind.name)


def faults_of(read, *rows):
    """Return the faults of some rows; any other error than one of data is not caught."""
    try:
        read(*rows, duplicates="first")
    except DataError as error:
        return error.faults
    return ()


@pytest.mark.parametrize("kind", [name for name in ROWS if name != "generic"])
def test_rows_that_lose_a_column(read, kind):
    """A row that lacks what the first one had is a fault with its line, or is read as if its cell were empty."""
    for column in ROWS[kind]:
        row = {name: value for name, value in ROWS[kind].items() if name != column}
        assert all(fault.startswith("rows.jsonl line 2: ") for fault in faults_of(read, ROWS[kind], row))


@pytest.mark.parametrize("kind", [name for name in ROWS if name != "generic"])
@pytest.mark.parametrize("value", [None, 1, 1.5, float("nan"), True, "", "x", [], [None], {}, {"a": 1}, "\ud800"])
def test_cells_of_any_kind(read, kind, value):
    """Whatever a cell holds, it is read, counted or named with its line; nothing else is ever raised."""
    for column in ROWS[kind]:
        faults = faults_of(read, ROWS[kind], {**ROWS[kind], column: value})
        assert all(fault.startswith("rows.jsonl line 2: ") for fault in faults)


# --------------------------------------------------------------------------------------------------------- FastChat


@pytest.mark.parametrize(
    ("winners", "shown"),
    [
        (("model_1", "model_1"), [0, 1]),
        (("model_1", "model_2"), [0, 0]),
        (("model_2", "model_1"), [1, 1]),
        (("tie", "model_2"), [2, 0]),
        (("error", "model_1"), [-1, 1]),
    ],
)
def test_fastchat_winners_are_members(read, winners, shown):
    found = read(fastchat(winners=winners))
    assert found.calls.tolist() == [shown]
    assert found.judge == "gpt-4 pair-v2"
    assert (found.model_a[0], found.model_b[0], found.group[0]) == ("alpaca", "gpt-4", "turn 1")
    assert found.pair_ids[0] == "81/1/alpaca/gpt-4"


def test_fastchat_turns_and_judges(read):
    one, two = read(fastchat(), fastchat(turn=2), fastchat(judge=["gpt-4", "pair-math-v1"], question=99))
    assert (one.judge, one.n_pairs) == ("gpt-4 pair-v2", 2)
    assert (two.judge, two.n_pairs) == ("gpt-4 pair-math-v1", 1)


def test_fastchat_the_same_models_the_other_way_round(read):
    """The pair is the same, so that it is not counted twice; its games are its games in the other order."""
    swapped = fastchat(winners=("tie", "model_1"), model_1="gpt-4", model_2="alpaca")
    with pytest.raises(DataError, match="has judged the pair"):
        read(fastchat(), swapped)
    found = read(fastchat(), {**swapped, "judge": ["claude", "pair-v2"]})
    assert [judge.pair_ids.tolist() for judge in found] == [["81/1/alpaca/gpt-4"]] * 2
    # Its game 1 showed gpt-4 first, which is this pair's BA: a tie. Game 2 was won by gpt-4, shown second.
    assert found[1].calls.tolist() == [[1, 2]]


# ----------------------------------------------------------------------------------------------------------- LLMBar


def test_llmbar_winners_are_outputs(read):
    found = read(llmbar(("1", "2")), llmbar(("2", "2"), label=2), llmbar((None, "1")), name="result.json")
    assert found.calls.tolist() == [[0, 0], [1, 0], [-1, 1]]
    assert found.human.tolist() == [0, 1, 0]
    assert found.len_a.tolist() == [3, 3, 3]
    assert found.judge == "result"
    assert found.group is None


def test_llmbar_folders_name_judge_and_set(read, tmp_path):
    (tmp_path / "Natural").mkdir()
    (tmp_path / "Natural" / "dataset.json").write_text("[]")
    found = read(llmbar(), name="Natural/GPT-4/CoT/result.json")
    assert (found.judge, found.group[0], found.pair_ids[0]) == ("GPT-4 CoT", "Natural", "Natural/1")


def test_folders_of_another_layout_are_not_read(read):
    found = read(llmbar(), name="home/somebody/secret/result.json")
    assert not any("secret" in str(value) for value in (found.judge, found.pair_ids, found.notices))


# ------------------------------------------------------------------------------------------------------- JudgeBench


def test_judgebench_second_game_is_in_shown_terms(read):
    found = read(judgebench(("A>B", "A>B")))
    assert found.calls.tolist() == [[0, 0]]
    assert in_pair_terms(found.calls).tolist() == [[0, 1]]
    assert found.judge == "o1-mini arena_hard"
    assert (found.human[0], found.group[0], found.model_a[0], found.len_a[0]) == (0, "mmlu-pro-law", "gpt-4o", 3)


def test_judgebench_games_that_failed_or_were_not_played(read):
    rows = [judgebench(("A=B", None)), judgebench(("B>A",), pair_id="p2")]
    rows.append({**judgebench(pair_id="p3"), "judgments": [None, rows[0]["judgments"][0]]})
    found = {judge.judge: judge for judge in [read(*rows)]}["o1-mini arena_hard"]
    assert found.calls.tolist() == [[2, -1], [1, -2], [-1, 2]]


def test_judgebench_as_decisions_only(read):
    row = {"pair_id": "p", "source": "s", "label": "B>A", "judge_model": "o1", "decision_game1": "A>B"}
    found = read({**row, "decision_game2_swapped": "B>A"})
    assert (found.judge, found.calls.tolist(), found.human.tolist()) == ("o1", [[0, 1]], [1])


# ------------------------------------------------------------------------------------------------------ Shi and others


def test_shi_first_shown_first_is_a(read):
    found = read(shi("baize", "vicuna", "B"), shi("vicuna", "baize", "A"), shi("vicuna", "x", "C"), name="judge.jsonl")
    assert found.calls.tolist() == [[1, 0], [2, -2]]
    assert found.model_a.tolist() == ["baize", "vicuna"]
    assert found.judge == "judge"


def record(first, second, reply, **more):
    return {
        "cmp_index": f"q;1;{first};{second}", "question": "?", "answer1": f"text of {first}",
        "answer2": f"text of {second}", "A": first, "B": second, "task": "uml", "claude": reply, **more,
    }  # fmt: skip


def test_shi_records(tmp_path):
    """The tables that hold whole replies: one column a judge, texts in the order shown."""
    replies = [
        ("human", "gpt", "Choice: A\nReason: [[B]] is quoted"),
        ("gpt", "human", "It is [[B]], I think"),
        ("human", "llama", "**Choice:** B\nChoice: A"),
        ("llama", "human", ""),
    ]
    path = tmp_path / "record.tsv"
    rows = [record(*reply, gemini="Choice: B") for reply in replies]
    with path.open("w") as stream:
        writer = csv.DictWriter(stream, rows[0], delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
    claude, gemini = read_judgments([path])
    assert claude.judge == "claude"
    assert claude.pair_ids.tolist() == ["q;1/human/gpt", "q;1/human/llama"]
    assert claude.calls.tolist() == [[0, 1], [-1, -1]]
    assert gemini.calls.tolist() == [[1, 1], [1, 1]]
    assert claude.len_a.tolist() == [len("text of human")] * 2
    assert claude.len_b.tolist() == [len("text of gpt"), len("text of llama")]
    assert claude.group.tolist() == ["uml", "uml"]


@pytest.mark.parametrize("index", ["no parts", "q;m", "q;;m", ";", None])
def test_shi_index_that_is_none(read, index):
    with pytest.raises(DataError, match="line 1: `cmp_index` must be"):
        read(record("a", "b", "Choice: A") | {"cmp_index": index})


# ------------------------------------------------------------------------------------------------------- AlpacaEval

#: What was shown second, by published annotations: their replies rank the answers as shown, and their preferences as
#: stored. ``choice`` in place of ``choices`` gets the third and others wrong.
SWITCHED = {
    "How do I make escargot?": True,
    'Prove the given statement using your information.\n\n"If x is a positive integer or a solution to x+3>4, then '
    'x>0 and x>12."': True,
    "What are some famous world music artists?": True,
    "What are the differences between plant-based and animal-based protein sources?": False,
    "You are a script-writer. Write a script for the opening scene of a Miami-based dark comedy show which depicts a "
    "typical miami beach club called Beefy's Beach Club run buy a british man known by the Alias Beefy, and the pool "
    "bar staff are JdeG and a blonde british woman with the Alias SophieSnazz": False,
}


@pytest.mark.parametrize(("instruction", "switched"), SWITCHED.items())
def test_alpacaeval_order(read, instruction, switched):
    found = read(alpacaeval(2.0, instruction), name="annotations.json")
    assert found.calls.tolist() == [[-2, 0] if switched else [1, -2]]
    assert in_pair_terms(found.calls)[0, int(switched)] == 1


def test_alpacaeval_order_that_is_stored(read):
    assert read(alpacaeval(1, is_switched_outputs=False)).calls.tolist() == [[0, -2]]


@pytest.mark.parametrize(
    ("preference", "member"),
    [(1, 0), (2.0, 1), (1.5, 2), (0, 2), (1.2, 0), (1.51, 1), (None, -1), (float("nan"), -1), (-1, -1), (3, -1)],
)
def test_alpacaeval_preferences_are_of_outputs(read, preference, member):
    found = read(alpacaeval(preference))
    assert in_pair_terms(found.calls).tolist() == [[-2, member]]
    assert (found.judge, found.model_a[0], found.model_b[0]) == ("weighted_gpt4", "gpt4", "tiny")
    assert (found.len_a[0], found.group[0]) == (9, "helpful_base")


def test_alpacaeval_preferences_are_probabilities(read):
    found = read(alpacaeval(1.2), alpacaeval(1.9, next(q for q, s in SWITCHED.items() if not s)), alpacaeval(1.0, "?"))
    p = np.exp(found.logprobs)
    assert p[0, 1] == pytest.approx([0.2, 0.8, 0])  # output 2 was shown first
    assert p[1, 0] == pytest.approx([0.1, 0.9, 0])
    assert np.isnan(p[2]).all()  # a whole number is a verdict and no probability
    assert np.isnan(p[0, 0]).all()


def test_alpacaeval_ties_that_nobody_gave(read):
    found = read(alpacaeval(1.5, output_2="reference"), alpacaeval(1.0), alpacaeval(0, "?", output_2="reference"))
    assert found.n_pairs == 1
    assert (
        "Ties given to identical answers without asking the judge left out: 2 (rows.jsonl line 1, 3; such as 'tie')."
        in found.notices
    )


# ---------------------------------------------------------------------------------------------------------- PandaLM


@pytest.mark.parametrize(
    ("word", "code"), [("1", 0), (2, 1), ("Tie", 2), ("0", 2), (0, 2), ("garbage", -1), (None, -1)]
)
def test_pandalm_verdicts(read, word, code):
    found = read(pandalm(word))
    assert found.calls.tolist() == [[code, -2]]
    assert (found.judge, found.model_a[0], found.model_b[0]) == ("gpt", "bloom", "llama")
    assert (found.raters.tolist(), found.human.tolist()) == ([[1, 1, 2]], [1])


def test_pandalm_as_published(read, tmp_path):
    """Verdicts in one file; people and texts in another, which is one of pairs."""
    people = tmp_path / "testset-v1.json"
    texts = {"response1": "one", "response2": "one", "annotator1": 0, "annotator2": 1, "annotator3": 0}
    people.write_text(json.dumps([{"idx": 7, "cmp_key": "bloom-7b_opt-7b", "input": float("nan"), **texts}]))
    found = read({"idx": 7, "gpt_result": "Tie", "gpt_reason": "..."}, name="gpt.json", pairs=people)
    assert found.judge == "gpt"
    assert found.raters.tolist() == [[2, 0, 2]]
    assert (found.human[0], found.identical[0], found.model_b[0]) == (2, True, "opt-7b")
