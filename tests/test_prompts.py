"""Prompts: the body of the paper to the letter, solved examples, labels, and templates that must not escape."""

import pytest

from orderbias.errors import ArgumentError, DataError
from orderbias.items import Item
from orderbias.prompts import LABEL_STYLES, Template, pick_shots

RADIATOR = Item(
    "1", "Which type of energy does a radiator give off ?", ("heat", "light", "solar", "electrical"), 0, group="physics"
)


def test_the_body_of_the_paper():
    assert Template().render(RADIATOR, (0, 1, 2, 3)) == (
        "Question: Which type of energy does a radiator give off ?\nA. heat\nB. light\nC. solar\nD. electrical\nAnswer:"
    )


def test_rotations_put_the_contents_where_the_paper_says():
    # "Under pi_1, pi_2 and pi_3 the gold option moves to B, C and D, and position A holds electrical, solar, light."
    firsts = []
    for s in range(4):
        lines = Template().render(RADIATOR, [(j + s) % 4 for j in range(4)]).splitlines()
        assert lines[1 + s].endswith("heat")
        firsts.append(lines[1][3:])
    assert firsts == ["heat", "electrical", "solar", "light"]


def test_the_passage_precedes_the_question():
    item = Item("1", "Who?", ("a", "b"), passage="Once.")
    assert Template().render(item, (1, 0)) == "Once.\nQuestion: Who?\nA. b\nB. a\nAnswer:"


@pytest.mark.parametrize(
    ("style", "line", "labels"),
    [
        ("letters", "A. heat", ("A", "B")),
        ("lower", "a. heat", ("a", "b")),
        ("digits", "1. heat", ("1", "2")),
        ("parentheses", "(A) heat", ("(A)", "(B)")),
    ],
)
def test_label_styles(style, line, labels):
    template = Template(labels=style)
    assert line in template.render(RADIATOR, (0, 1, 2, 3)).splitlines()
    assert template.labels_for(2) == labels
    assert style in LABEL_STYLES


def test_solved_examples_are_the_groups_own_and_do_not_move_with_the_ordering():
    shots = [Item(f"d{i}", f"Q{i}?", ("x", "y"), i % 2, group=g) for i, g in enumerate(["art", "physics"] * 3)]
    template = Template(n_shots=2)
    straight, turned = (template.render(RADIATOR, p, shots) for p in ((0, 1, 2, 3), (3, 2, 1, 0)))
    assert straight.startswith(
        "Question: Q1?\nA. x\nB. y\nAnswer: B\n\nQuestion: Q3?\nA. x\nB. y\nAnswer: B\n\nQuestion: W"
    )
    assert straight.rsplit("\n\n", 1)[0] == turned.rsplit("\n\n", 1)[0]


def test_an_item_is_never_its_own_example():
    assert RADIATOR not in pick_shots(RADIATOR, [RADIATOR, Item("2", "?", ("a", "b"), 0)], 1)


def test_too_few_examples_or_one_without_gold_are_errors():
    with pytest.raises(DataError, match="5 solved examples"):
        Template(n_shots=5).render(RADIATOR, (0, 1, 2, 3), [])
    with pytest.raises(DataError, match="gold"):
        Template(n_shots=1).render(RADIATOR, (0, 1, 2, 3), [Item("d", "?", ("a", "b"))])


def test_text_of_an_item_is_never_read_as_a_template():
    item = Item("1", "{{ 7 * 7 }}", ("{% raw %}", "{{ question }}"))
    assert Template().render(item, (0, 1)) == "Question: {{ 7 * 7 }}\nA. {% raw %}\nB. {{ question }}\nAnswer:"


@pytest.mark.parametrize(
    "source", ["{{ ''.__class__.__mro__ }}", "{{ nope }}", "{{ question.__init__.__globals__ }}", "{{ 1 / 0 }}"]
)
def test_a_template_cannot_reach_python_or_unknown_names(source):
    with pytest.raises(ArgumentError, match="template"):
        Template(source=source).render(RADIATOR, (0, 1, 2, 3))


def test_bad_settings_are_refused():
    with pytest.raises(ArgumentError, match="parse"):
        Template(source="{{ question")
    with pytest.raises(ArgumentError, match="letters"):
        Template(labels="roman")
    with pytest.raises(ArgumentError, match="n_shots"):
        Template(n_shots=-1)
    with pytest.raises(ArgumentError, match="permutation"):
        Template().render(RADIATOR, (0, 1, 2))


def test_the_hash_changes_with_every_setting():
    templates = [
        Template(),
        Template(labels="lower"),
        Template(n_shots=1),
        Template(system="s"),
        Template("{{question}}"),
    ]
    assert len({t.hash for t in templates}) == len(templates)
