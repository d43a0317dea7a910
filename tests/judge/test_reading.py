"""A table of verdicts that anyone can write: what is read, what is said, what is refused."""

import csv
import gzip
import hashlib
import io
import itertools
import json
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orderbias.errors import ArgumentError, DataError
from orderbias.judge import in_pair_terms, read_judgments
from orderbias.judge.columns import majority

COLUMNS = ("pair_id", "order", "verdict")


def write(path, rows, columns=COLUMNS):
    """Write rows in the format that the name of a file says."""
    records = [row if isinstance(row, dict) else dict(zip(columns, row, strict=True)) for row in rows]
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        out = io.StringIO()
        names = list(dict.fromkeys(name for record in records for name in record))
        writer = csv.DictWriter(out, names, delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        path.write_text(out.getvalue())
    return path


@pytest.fixture
def read(tmp_path):
    def reading(rows, columns=COLUMNS, name="verdicts.csv", **options):
        found = read_judgments([write(tmp_path / name, rows, columns)], **options)
        return found[0] if len(found) == 1 else found

    return reading


def both(pair, first, second, *rest):
    return [(pair, "AB", first, *rest), (pair, "BA", second, *rest)]


FULL = ("pair_id", "order", "verdict", "judge", "model_a", "model_b", "human", "group", "len_a", "len_b")


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.jsonl", "v.parquet"])
def test_every_kind_of_file(read, name):
    rows = [
        *both("p1", "first", "tie", "gpt", "m1", "m2", "a", "law", 120, 80),
        *both("p2", "second", "second", "gpt", "m1", "m3", "tie", "law", 10, 20.5),
    ]
    found = read(rows, FULL, name)
    assert found.judge == "gpt"
    assert found.pair_ids.tolist() == ["p1", "p2"]
    assert found.calls.tolist() == [[0, 2], [1, 1]]
    assert found.human.tolist() == [0, 2]
    assert found.model_a.tolist() == ["m1", "m1"]
    assert found.model_b.tolist() == ["m2", "m3"]
    assert found.group.tolist() == ["law", "law"]
    assert found.len_a.tolist() == [120, 10]
    assert found.len_b.tolist() == [80, 20.5]
    assert (found.identical, found.raters, found.logprobs) == (None, None, None)
    assert found.source == "generic"
    assert found.notices[0] == "Read as a table of verdicts."


def test_only_what_is_needed(read):
    found = read(both(1, "first", "second"), name="my-judge.csv")
    assert found.judge == "my-judge"
    assert "There is no column `judge`: its name is that of the file." in found.notices
    assert all(getattr(found, name) is None for name in ("human", "model_a", "model_b", "group", "len_a", "len_b"))


def test_the_hash_is_of_the_bytes(read, tmp_path):
    found = read(both(1, "first", "second"))
    data = (tmp_path / "verdicts.csv").read_bytes()
    assert found.data_hash == hashlib.sha256(data).hexdigest()[:12]
    write(tmp_path / "pairs.csv", [(1, "a")], ("pair_id", "human"))
    more = read(both(1, "first", "second"), pairs=tmp_path / "pairs.csv")
    assert more.data_hash != found.data_hash


def test_arrays_are_read_only(read):
    found = read(both(1, "first", "second", "a"), (*COLUMNS, "human"))
    for array in (found.verdicts, found.human, found.pair_ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


# ------------------------------------------------------------------------------------------------ pairs and orders


@pytest.mark.parametrize("ids", [(1, "1"), (1, 1.0), ("1", " 1 "), (1.0, "1")])
def test_one_id_however_it_is_written(read, ids):
    found = read([(ids[0], "AB", "first"), (ids[1], "BA", "tie")], name="v.jsonl")
    assert found.pair_ids.tolist() == ["1"]


@pytest.mark.parametrize("pair_id", [None, float("nan"), "", "  ", True, [1], {"a": 1}, "nan"])
def test_an_id_that_is_none(read, pair_id):
    with pytest.raises(DataError, match=r"v\.jsonl line 2: `pair_id` must"):
        read([(1, "AB", "first"), (pair_id, "BA", "tie")], name="v.jsonl")


@pytest.mark.parametrize("order", ["ab", "AB", " Ab "])
def test_orders_in_any_case(read, order):
    assert read([(1, order, "second")]).calls.tolist() == [[1, -2]]


@pytest.mark.parametrize("order", [None, "", "A", "AA", "BAB", 0, True, "first", ["AB"], {}])
def test_an_order_that_is_none(read, order):
    with pytest.raises(DataError, match=r"line 1: `order` must be AB .* Got"):
        read([(1, order, "first")], name="v.jsonl")


def test_rows_in_any_order_of_any_number_of_judges(tmp_path):
    """Against a loop over dictionaries that knows nothing of arrays."""
    rng = random.Random(5)
    rows, expected = [], {}
    for judge, pair, order, repeat in itertools.product(("x", "y"), range(40), ("AB", "BA"), range(2)):
        if rng.random() < 0.7:
            word, code = rng.choice([("first", 0), ("second", 1), ("tie", 2), ("no idea", -1)])
            rows.append((pair, order, word, judge, repeat, pair % 3 or "tie"))
            expected[judge, str(pair), order, repeat] = code
    rng.shuffle(rows)
    columns = (*COLUMNS, "judge", "repeat", "human")
    found = read_judgments([write(tmp_path / "v.jsonl", rows, columns)])
    assert [judge.judge for judge in found] == list(dict.fromkeys(row[3] for row in rows))
    for judge in found:
        assert judge.pair_ids.tolist() == list(dict.fromkeys(str(row[0]) for row in rows if row[3] == judge.judge))
        for i, pair in enumerate(judge.pair_ids):
            assert judge.human[i] == {0: 2, 1: 0, 2: 1}[int(pair) % 3]
            for (o, order), repeat in itertools.product(enumerate(("AB", "BA")), range(2)):
                assert judge.verdicts[i, o, repeat] == expected.get((judge.judge, pair, order, repeat), -2)


def test_one_order_only(read):
    found = read([(i, "AB", "first") for i in range(3)])
    assert not found.complete.any()
    assert found.calls.tolist() == [[0, -2]] * 3


def test_both_orders_for_one_pair_in_ten(read):
    found = read([row for i in range(10) for row in both(i, "first", "second")[: 1 + (i == 3)]])
    assert (found.n_pairs, int(found.complete.sum())) == (10, 1)


def test_two_files_are_one_reading(tmp_path):
    one = write(tmp_path / "one.csv", [(1, "AB", "first", "gpt")], (*COLUMNS, "judge"))
    two = write(tmp_path / "two.jsonl", [(1, "BA", "A", "gpt"), (2, "AB", "model_a", "gpt")], (*COLUMNS, "judge"))
    (found,) = read_judgments([one, two])
    assert found.calls.tolist() == [[0, 1], [0, -2]]  # each file has words of its own
    assert any(notice.endswith("read in pair terms. (two.jsonl)") for notice in found.notices)
    assert "Read as a table of verdicts." in found.notices


# ---------------------------------------------------------------------------------------------------------- repeats


REPEATED = (*COLUMNS, "repeat")


def test_repeats(read):
    found = read([(1, "AB", "first", 0), (1, "AB", "tie", 1), (1, "BA", "second", 0), (2, "AB", "tie", None)], REPEATED)
    assert found.verdicts.tolist() == [[[0, 2], [1, -2]], [[2, -2], [-2, -2]]]


def test_repeats_numbered_from_one(read):
    found = read([(1, "AB", "first", 1), (1, "AB", "tie", 2), (1, "BA", "second", 1)], REPEATED)
    assert found.verdicts.tolist() == [[[0, 2], [1, -2]]]


@pytest.mark.parametrize("repeat", ["-1", "x", "0.5", "inf"])
def test_a_repeat_that_is_none(read, repeat):
    with pytest.raises(DataError, match=r"line 2: `repeat` must be a"):
        read([(1, "AB", "first", repeat)], REPEATED)


def test_a_repeat_that_counts_rows(read):
    with pytest.raises(DataError, match=r"more than 100 different repeats"):
        read([(i, "AB", "first", i) for i in range(200)], REPEATED)


def test_the_same_call_twice(read):
    rows = [*both(1, "first", "second"), (1, "AB", "tie"), (1, "AB", "tie")]
    with pytest.raises(DataError) as error:
        read(rows)
    assert len(error.value.faults) == 2
    assert "verdicts.csv line 4: verdicts has judged the pair '1' in the order AB before (verdicts.csv line 2)" in str(
        error.value
    )
    found = read(rows, duplicates="first")
    assert found.calls.tolist() == [[0, 1]]
    assert found.notices[-1].startswith("2 calls of a pair and order that had been judged already left out")
    assert "(verdicts.csv line 4, 5;" in found.notices[-1]


def test_the_same_file_twice(read, tmp_path):
    read(both(1, "first", "second"))
    path = tmp_path / "verdicts.csv"
    with pytest.raises(DataError, match=r"before \(verdicts\.csv line 2\)"):
        read_judgments([path, path])


# ------------------------------------------------------------------------------------------------------------ terms


PLACES = {"first": 0, "second": 1, "tie": 2}
MEMBERS = {"model_a": 0, "model_b": 1, "tie": 2}


@pytest.mark.parametrize("word", PLACES)
def test_words_for_places(read, word):
    found = read([*both(1, word, word), *both(2, "first", "A")])
    assert found.calls[0].tolist() == [PLACES[word]] * 2
    assert found.calls[1].tolist() == [0, 0]
    assert any("read in shown terms" in notice for notice in found.notices)


@pytest.mark.parametrize("word", MEMBERS)
def test_words_for_members(read, word):
    found = read([*both(1, word, word), *both(2, "model_b", "B")])
    assert in_pair_terms(found.calls).tolist() == [[MEMBERS[word]] * 2, [1, 1]]
    assert any("read in pair terms" in notice for notice in found.notices)


def test_the_name_of_a_model_is_a_word_for_a_member(read):
    rows = [*both(1, "gpt-4", "GPT-4 ", "gpt-4", "llama"), *both(2, "llama", "A", "gpt-4", "llama")]
    found = read(rows, (*COLUMNS, "model_a", "model_b"))
    assert in_pair_terms(found.calls).tolist() == [[0, 0], [1, 0]]


def test_a_model_against_itself_is_no_verdict(read):
    found = read(both(1, "gpt-4", "gpt-4", "gpt-4", "gpt-4"), (*COLUMNS, "model_a", "model_b"))
    assert found.calls.tolist() == [[-1, -1]]


def test_models_that_are_called_as_the_other_word(read):
    with pytest.raises(DataError, match=r"line 2: `verdict` 'b' is the name of model_a, and a word with another"):
        read(both(1, "b", "b", "b", "a"), (*COLUMNS, "model_a", "model_b"))


def test_models_that_are_called_as_their_word_leave_it_open(read):
    with pytest.raises(DataError, match="two ways"):
        read(both(1, "a", "b", "A", "B"), (*COLUMNS, "model_a", "model_b"))


@pytest.mark.parametrize("words", [("A", "B"), ("1", "2"), ("[[A]]", "[[B]]"), ("a", "b"), ("A>B", "B>>A")])
def test_letters_are_never_guessed(read, words):
    rows = both(1, words[0], words[1])
    with pytest.raises(DataError) as error:
        read(rows)
    message = str(error.value)
    assert "1 verdict in the order BA" in message
    assert words[1] in message
    assert "--terms shown" in message
    assert "--terms pair" in message
    assert "verdicts.csv line 3" in message
    assert read(rows, terms="shown").calls.tolist() == [[0, 1]]
    assert read(rows, terms="pair").calls.tolist() == [[0, 0]]


def test_a_second_verdict_that_is_mapped_back_or_not(read):
    """The same letters are consistency in one reading and a lean to the first place in the other."""
    rows = [row for i in range(20) for row in both(i, "A", "A")]
    assert (read(rows, terms="pair").calls == [0, 1]).all()
    assert (read(rows, terms="shown").calls == [0, 0]).all()


def test_letters_under_one_order_need_no_flag(read):
    rows = [(1, "AB", "A"), (2, "AB", "B"), (3, "AB", "C")]
    found = read(rows)
    assert found.calls[:, 0].tolist() == [0, 1, 2]
    assert read(rows, terms="pair").calls.tolist() == found.calls.tolist()


def test_ties_and_unreadable_verdicts_leave_nothing_open(read):
    assert read([(1, "AB", "A"), (1, "BA", "C"), (2, "BA", "dunno"), (3, "BA", "tie")]).calls.tolist() == [
        [0, 2],
        [-2, -1],
        [-2, 2],
    ]


def test_words_that_contradict_one_another(read):
    with pytest.raises(DataError) as error:
        read([(1, "AB", "first"), (1, "BA", "model_b")])
    assert "'first' (verdicts.csv line 2)" in str(error.value)
    assert "'model_b' (verdicts.csv line 3)" in str(error.value)


@pytest.mark.parametrize(("word", "terms"), [("first", "pair"), ("model_a", "shown")])
def test_words_that_contradict_the_flag(read, word, terms):
    with pytest.raises(DataError, match=rf"--terms {terms} does not fit: verdicts name a .*'{word}'"):
        read(both(1, word, word), terms=terms)


# --------------------------------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("a", 0),
        ("[[A]]", 0),
        ("**B**", 1),
        ("Tie", 2),
        ("C", 2),
        ("", -1),
        (None, -1),
        ("nope", -1),
        (float("nan"), -1),
        (True, -1),
        (1, 0),
        (2.0, 1),
        (3, -1),
        (["A"], -1),
        ({"x": 1}, -1),
        ("[[B]] rather than [[A]]", -1),
        ("I think that the answer of B is the better of the two. [[B]]", 1),
        ("<think>[[A]] or [[B]]?</think> The verdict: [[B]]", 1),
        ("The first is better, I think, for it is longer", -1),
    ],
)
def test_forms_of_a_verdict(read, word, code):
    assert read([(1, "AB", word), (2, "AB", "first")], name="v.jsonl").calls[0, 0] == code


@pytest.mark.parametrize("zero", [0, "0", 0.0])
def test_zero_is_never_guessed(read, zero):
    with pytest.raises(DataError, match="`verdict` 0 can be a tie, or the first of 0 and 1"):
        read([(1, "AB", zero), (2, "AB", 1)], name="v.jsonl")


def test_unreadable_verdicts_are_counted_with_their_lines(read):
    words = ["", "first", "maybe", "", "[[B]] or [[A]]", "x", "y", "z"]
    found = read([(i, "AB", word) for i, word in enumerate(words)])
    assert found.calls[:, 0].tolist() == [-1, 0, -1, -1, -1, -1, -1, -1]
    assert found.notices[-1] == (
        "7 verdicts cannot be read; they count as unreadable, never as a choice "
        "(verdicts.csv line 2, 4, 5, 6, 7, ...; such as 'maybe')."
    )


def test_unreadable_verdicts_name_their_judge(read):
    one, two = read([(1, "AB", "first", "x"), (1, "AB", "???", "y")], (*COLUMNS, "judge"))
    assert not any("cannot be read" in notice for notice in one.notices)
    assert two.notices[-1].startswith("y: 1 verdict cannot be read")


def test_replies_are_not_kept(tmp_path):
    """40 MB of replies and texts, of which nothing but codes and lengths is held."""
    path = tmp_path / "v.csv"
    reply = "word " * 2000
    with path.open("w") as stream:
        stream.write("pair_id,order,verdict,answer_a,answer_b\n")
        for i in range(1000):
            stream.writelines(f"{i},{order},{reply}{i} [[B]],{reply},{reply}\n" for order in ("AB", "BA"))
    tracemalloc.start()
    (found,) = read_judgments([path], terms="shown")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.calls == 1).all()
    assert peak < 4_000_000


# ------------------------------------------------------------------------------------------------ facts of the pair


@pytest.mark.parametrize(
    ("label", "code"),
    [("a", 0), ("B", 1), ("model_a", 0), (2, 1), (1.0, 0), ("tie", 2), ("A>B", 0), ("m2", 1), ("", -1), (None, -1)],
)
def test_labels_of_people(read, label, code):
    rows = [(1, "AB", "first", "m1", "m2", label), (2, "AB", "first", "m1", "m2", "b")]
    assert read(rows, (*COLUMNS, "model_a", "model_b", "human"), "v.jsonl").human.tolist() == [code, 1]


@pytest.mark.parametrize("label", ["first", "second", "unclear", "C3PO"])
def test_labels_that_are_none_are_counted(read, label):
    """People say which member is better; a place would have to say in which order they saw them."""
    found = read([(1, "AB", "first", label), (2, "AB", "first", "b")], (*COLUMNS, "human"))
    assert found.human.tolist() == [-1, 1]
    assert any(
        notice == f"Labels of people that cannot be read count as unknown: 1 (verdicts.csv line 2; such as {label!r})."
        for notice in found.notices
    )


def test_a_label_of_zero_is_never_guessed(read):
    with pytest.raises(DataError, match="a label of a person must say a, b or tie"):
        read([(1, "AB", "first", "0"), (2, "AB", "first", "1")], (*COLUMNS, "human"))


def test_several_people(read):
    columns = (*COLUMNS, "rater_1", "rater_2", "rater_3")
    rows = [(1, "AB", "first", "a", "a", "b"), (2, "AB", "first", "a", "b", "tie"), (3, "AB", "first", "", "b", "")]
    found = read(rows, columns)
    assert found.raters.tolist() == [[0, 0, 1], [0, 1, 2], [-1, 1, -1]]
    assert found.human.tolist() == [0, 2, 1]


@pytest.mark.parametrize("names", [("human_1", "human_2"), ("rater1", "rater2"), ("Annotator_x", "annotator_y")])
def test_names_of_people(read, names):
    found = read([(1, "AB", "first", "a", "tie")], (*COLUMNS, *names))
    assert found.raters.tolist() == [[0, 2]]


def test_one_person_is_the_label(read):
    found = read([(1, "AB", "first", "b")], (*COLUMNS, "rater_1"))
    assert (found.human.tolist(), found.raters) == ([1], None)


def test_a_label_of_its_own_beside_people(read):
    found = read([(1, "AB", "first", "b", "a", "a")], (*COLUMNS, "human", "rater_1", "rater_2"))
    assert (found.human.tolist(), found.raters.tolist()) == ([1], [[0, 0]])


@given(st.lists(st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=3, max_size=3), min_size=1, max_size=20))
def test_majority_against_counting(labels):
    for label, row in zip(majority(np.array(labels, np.int8)), labels, strict=True):
        said = [code for code in row if code >= 0]
        best = max((said.count(code) for code in said), default=0)
        winners = {code for code in said if said.count(code) == best}
        assert label == (-1 if not said else winners.pop() if len(winners) == 1 else 2)


@pytest.mark.parametrize("name", ["model_a", "model_b", "human", "group", "len_a"])
def test_a_fact_that_differs_between_orders(read, name):
    here, there = ("3", "4") if name == "len_a" else ("a", "b")
    with pytest.raises(DataError) as error:
        read([(1, "AB", "first", here), (1, "BA", "first", there)], (*COLUMNS, name))
    assert f"verdicts.csv line 3: `{name}` is" in str(error.value)
    assert "not the answer shown first" in str(error.value)


def test_a_fact_that_one_row_leaves_out(read):
    found = read([(1, "AB", "first", "a"), (1, "BA", "first", ""), (2, "AB", "tie", ""), (2, "BA", "tie", "b")],
                 (*COLUMNS, "human"))  # fmt: skip
    assert found.human.tolist() == [0, 1]


@pytest.mark.parametrize("names", [("answer_a", "answer_b"), ("output_1", "output_2"), ("response_A", "response_B")])
def test_texts_give_lengths_and_identity(read, names):
    rows = [(1, "AB", "first", "same ", " same"), (2, "AB", "first", "short", "longer"), (3, "AB", "first", "x", None)]
    found = read(rows, (*COLUMNS, *names), "v.jsonl")
    assert found.identical.tolist() == [True, False, False]
    assert found.len_a.tolist() == [5, 5, 1]
    assert found.len_b[:2].tolist() == [5, 6]
    assert np.isnan(found.len_b[2])


def test_texts_in_the_order_shown_are_noticed(read):
    with pytest.raises(DataError, match="`len_a` is"):
        read([(1, "AB", "first", "short", "longer"), (1, "BA", "first", "longer", "short")],
             (*COLUMNS, "answer_a", "answer_b"))  # fmt: skip


@pytest.mark.parametrize("length", ["-1", "inf", "long"])
def test_a_length_that_is_none(read, length):
    with pytest.raises(DataError, match="line 2: `len_a` must be a"):
        read([(1, "AB", "first", length)], (*COLUMNS, "len_a"))


def test_columns_that_are_not_read_are_said(read):
    found = read(both(1, "first", "second", "long text", 3), (*COLUMNS, "question", "temperature"))
    assert "Columns that are not read: temperature." in found.notices
    found = read([{"pair_id": 1, "ORDER": "AB", "order": "BA", "Verdict": "tie", "extra": 1}], name="v.jsonl")
    assert "Columns that are not read: ORDER, extra." in found.notices
    assert found.calls.tolist() == [[-2, 2]]


# ---------------------------------------------------------------------------------------------------- probabilities


def test_probabilities_of_the_places(read):
    columns = (*COLUMNS, "p_first", "p_second", "p_tie")
    found = read([(1, "AB", "model_a", 0.6, 0.2, 0.0), (1, "BA", "model_b", 0.25, 0.5, 0.25)], columns)
    assert np.exp(found.logprobs[0]) == pytest.approx(np.array([[0.75, 0.25, 0], [0.25, 0.5, 0.25]]))
    assert found.calls.tolist() == [[0, 0]]  # verdicts are turned, probabilities are of places already


@pytest.mark.parametrize("cell", [[-1, -2, -3], [-1, -2], {"first": -1, "second": -2}, "-1 -2", "[-1, -2]"])
def test_logprobs(read, cell):
    found = read([(1, "AB", "first", cell), (2, "AB", "first", None)], (*COLUMNS, "logprobs"), "v.jsonl")
    assert np.exp(found.logprobs[0, 0]).sum() == pytest.approx(1)
    assert found.logprobs[0, 0, 0] - found.logprobs[0, 0, 1] == pytest.approx(1)
    assert np.isnan(found.logprobs[0, 1]).all()
    assert np.isnan(found.logprobs[1]).all()


@pytest.mark.parametrize("cell", ["x", [1, 2], [-1], [-1, -2, -3, -4], [None, None], 0.5, "[-1,", [float("nan"), -1]])
def test_logprobs_that_are_none(read, cell):
    with pytest.raises(DataError, match="line 1: `logprobs` must"):
        read([(1, "AB", "first", cell)], (*COLUMNS, "logprobs"), "v.jsonl")


@pytest.mark.parametrize("cells", [(0.7, 0.7, 0), (-0.1, 0.5, 0), (0, 0, 0), (0.5, None, 0), ("x", 0.5, 0)])
def test_probabilities_that_are_none(read, cells):
    with pytest.raises(DataError, match="line 1: `p_"):
        read([(1, "AB", "first", *cells)], (*COLUMNS, "p_first", "p_second", "p_tie"), "v.jsonl")


# --------------------------------------------------------------------------------------------------- a file of pairs


def test_pairs_supply_what_verdicts_lack(read, tmp_path):
    rows = [("1", "m1", "m2", "law", "short", "longer", "a"), ("3", "x", "y", "art", "t", "t", "b")]
    columns = ("pair_id", "model_a", "model_b", "group", "answer_a", "answer_b", "human")
    pairs = write(tmp_path / "pairs.jsonl", rows, columns)
    verdicts = [*both(1, "first", "second", "a"), *both(2, "tie", "tie", "")]
    found = read(verdicts, (*COLUMNS, "human"), pairs=pairs)
    assert found.model_a.tolist() == ["m1", None]
    assert found.group.tolist() == ["law", None]
    assert found.human.tolist() == [0, -1]
    assert found.identical.tolist() == [False, False]
    assert found.len_b[0] == 6
    assert np.isnan(found.len_b[1])
    assert "1 of 2 pairs are not in the file of pairs." in found.notices
    assert "1 pair of the file of pairs has no verdict." in found.notices


def test_pairs_that_deny_the_verdicts(read, tmp_path):
    pairs = write(tmp_path / "pairs.csv", [(1, "b")], ("pair_id", "human"))
    with pytest.raises(DataError, match="`human` of the pair '1' is a beside the verdicts and b"):
        read(both(1, "first", "second", "a"), (*COLUMNS, "human"), pairs=pairs)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([(1, "a"), (1, "b")], ("pair_id", "human"), "line 3: a pair must have one row"),
        ([("a",)], ("human",), "line 2: a file of pairs needs the column pair_id. Got human"),
        ([(9, "a")], ("pair_id", "human"), "no pair_id of it occurs"),
        ([(None, "a")], ("pair_id", "human"), "`pair_id` must not be empty"),
    ],
)
def test_pairs_that_are_no_use(read, tmp_path, rows, columns, message):
    pairs = write(tmp_path / "pairs.csv", rows, columns)
    with pytest.raises(DataError, match=message):
        read(both(1, "first", "second"), pairs=pairs)


# ------------------------------------------------------------------------------------------------- bad files, errors


def test_every_fault_is_named(read):
    rows = [(1, "AB", "first", 3), (2, "XX", "first", 3), (None, "AB", "tie", 3), (4, "AB", "first", "far")]
    with pytest.raises(DataError) as error:
        read(rows, (*COLUMNS, "len_a"))
    assert [fault.split(":")[0] for fault in error.value.faults] == [f"verdicts.csv line {n}" for n in (3, 4, 5)]


def test_faults_end(read):
    with pytest.raises(DataError) as error:
        read([(i, "??", "first") for i in range(5000)])
    assert len(error.value.faults) == 1001
    assert error.value.faults[-1] == "Reading stopped here."


@pytest.mark.parametrize("missing", COLUMNS)
def test_a_column_that_is_missing(read, missing):
    columns = [name for name in COLUMNS if name != missing]
    with pytest.raises(DataError) as error:
        read([("AB", "first")], columns)
    message = str(error.value)
    assert message.startswith("verdicts.csv line 2: a table of verdicts needs the columns pair_id, order")
    assert f"Found {', '.join(columns)}." in message
    assert "docs/judge.md" in message
    assert "fastchat" in message


def test_a_key_that_is_missing_from_one_row(read):
    with pytest.raises(DataError, match=r"line 2: needs the columns order\. Got pair_id, verdict"):
        read([{"pair_id": 1, "order": "AB", "verdict": "first"}, {"pair_id": 1, "verdict": "first"}], name="v.jsonl")


@pytest.mark.parametrize("content", ["", "pair_id,order,verdict\n", "\n\n"])
def test_a_file_without_verdicts(tmp_path, content):
    path = tmp_path / "empty.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=r"empty\.csv holds no verdicts"):
        read_judgments([path])


def test_broken_lines_are_all_named(tmp_path):
    path = tmp_path / "v.jsonl"
    good = json.dumps({"pair_id": 1, "order": "AB", "verdict": "first"})
    path.write_text(f'{good}\n{good[:-5]}\n[1]\n{{"pair_id": 1, "pair_id": 2}}\n')
    with pytest.raises(DataError) as error:
        read_judgments([path])
    assert [fault.split(":")[0] for fault in error.value.faults] == [f"v.jsonl line {n}" for n in (2, 3, 4)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("packed", [False, True])
def test_marks_line_ends_and_compression(tmp_path, end, mark, packed):
    text = mark + end.join(["pair_id,order,verdict", "1,AB,first", "1,BA,second", ""])
    path = tmp_path / ("judge.csv.gz" if packed else "judge.csv")
    data = text.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    (found,) = read_judgments([path])
    assert (found.judge, found.calls.tolist()) == ("judge", [[0, 1]])


def test_a_huge_cell(read):
    rows = [(1, "AB", "first", "x" * 2_000_000), (2, "AB", "y" * 2_000_000 + "[[B]]", "")]
    found = read(rows, (*COLUMNS, "answer_a"))
    assert found.len_a[0] == 2_000_000
    assert found.calls.tolist() == [[0, -2], [1, -2]]


@pytest.mark.parametrize("bad", [b"\xff", b""])
def test_a_compressed_file_that_is_cut_short(tmp_path, bad):
    path = tmp_path / "v.csv.gz"
    path.write_bytes(gzip.compress(b"pair_id,order,verdict\n1,AB," + bad + b"first\n")[:-9])
    with pytest.raises(DataError, match=r"v\.csv\.gz.*(cannot be read|UTF-8)"):
        read_judgments([path])


def test_text_that_is_no_unicode(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_text('{"pair_id": "\\ud800", "order": "AB", "verdict": "first"}\n')
    with pytest.raises(DataError, match="line 1: text must be valid Unicode"):
        read_judgments([path])


def test_a_column_of_judges_that_is_none(read):
    rows = [(i, "AB", "first", f"reply {i}") for i in range(1500)]
    with pytest.raises(DataError, match="more than 1000 judges"):
        read(rows, (*COLUMNS, "judge"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"terms": "original"}, r"`terms` must be one of shown, pair\. Got 'original'"),
        ({"format": "mtbench"}, r"`format` must be one of generic, fastchat, llmbar, .*pandalm\. Got 'mtbench'"),
        ({"duplicates": "last"}, r"`duplicates` must be one of error, first"),
        ({"duplicates": None}, r"`duplicates` must be one of error, first"),
    ],
)
def test_arguments(read, options, message):
    with pytest.raises(ArgumentError, match=message):
        read(both(1, "first", "second"), **options)


def test_no_file_and_one_file(read, tmp_path):
    with pytest.raises(ArgumentError, match="at least one file"):
        read_judgments([])
    with pytest.raises(ArgumentError, match="no file"):
        read_judgments([tmp_path / "nothing.csv"])
    read(both(1, "first", "second"))
    assert len(read_judgments(str(tmp_path / "verdicts.csv"))) == 1


def test_no_path_of_a_file_is_kept(read, tmp_path):
    found = read(both(1, "first", "oops"))
    assert not any(str(tmp_path) in text for text in (*found.notices, found.judge, found.source))
