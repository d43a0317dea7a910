"""Templates that run away, draw, reach out or hide the ordering are refused; ordinary ones are rendered."""

import time

import pytest

from orderbias.errors import ArgumentError
from orderbias.items import Item
from orderbias.prompts import Template, check_order_shown
from orderbias.templating import Sandboxed

ITEM = Item("1", "Which one?", ("red", "green", "blue"), 0)

RUNAWAYS = {
    "a range": "{% for i in range(10**9) %}x{% endfor %}",
    "nested ranges": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "nested loops over constants": "{% for a in [1, 2, 3, 4, 5, 6, 7, 8, 9] %}" * 9 + "{% endfor %}" * 9,
    "nested loops over a text": "{% for a in text %}" * 4 + "{% endfor %}" * 4,
    "a macro that calls itself twice":
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "a macro that never ends": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "a text repeated": "{{ 'x' * 10**10 }}",
    "a power": "{{ 9 ** (9 ** 9) }}",
    "powers upon powers": "{% set a = 10 ** 60 %}{{ a ** 60 }}",
    "a padded text": "{{ 'x'.center(10**10) }}",
    "a format": "{{ '{:>10000000000}'.format(1) }}",
    "a format of old": "{{ '%10000000000d' % 1 }}",
    "a filter's width": "{{ text | indent(10**10) }}",
    "a filter's count": "{{ text | batch(10**10, 'x') | list }}",
    "doubling by +": "{% set a = 'xxxxxxxxxx' %}" + "{% set a = a + a %}" * 40,
    "doubling by ~": "{% set a = 'xxxxxxxxxx' %}" + "{% set a = a ~ a %}" * 40,
    "doubling by blocks": "{% set a = 'xxxxxxxxxx' %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40,
    "doubling by lists": "{% set a = [1] %}" + "{% set a = [a, a] %}" * 60 + "{{ a }}",
    "doubling by join": "{% set a = 'xxxxxxxxxx' %}" + "{% set a = [a, a] | join(a) %}" * 40,
    "replacing": "{% set a = 'xxxxxxxxxx' %}" + "{% set a = a.replace('x', a) %}" * 40,
    "replacing by the filter": "{% set a = 'xxxxxxxxxx' %}" + "{% set a = a | replace('', a) %}" * 40,
    "doubling in a namespace":
        "{% set n = namespace(a='x') %}{% for i in range(99) %}{% set n.a = n.a ~ n.a %}{% endfor %}",
    "much text": "{{ lipsum(n=10**9) }}",
    "a recursive loop": "{% for x in [1] recursive %}{{ loop(range(99999)) }}{% endfor %}",
}  # fmt: skip


@pytest.mark.parametrize("case", RUNAWAYS)
def test_a_template_that_runs_away_is_stopped(case):
    started = time.monotonic()
    with pytest.raises(ArgumentError, match="template"):
        Template(RUNAWAYS[case].replace("text", "question")).render(Item("1", "?" * 50, ("red", "green")), (0, 1))
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "source",
    ["{{ [1, 2, 3] | random }}", "{{ lipsum() }}", "{{ options | pprint }}", "{{ namespace }}", "{{ range }}"],
)
def test_what_is_drawn_or_names_an_address_in_memory_is_refused(source):
    with pytest.raises(ArgumentError, match="template"):
        Template(source).render(ITEM, (0, 1, 2))


@pytest.mark.parametrize(
    "source",
    [
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{{ self._TemplateReference__context }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ question | attr('__class__') }}",
        "{{ options | map(attribute='__class__') | list }}{{ (options | map(attribute='__class__') | list)[0].mro() }}",
        "{{ ''['__class__'] }}",
        "{{ 'a{0.__class__}'.format(1) }}",
        "{{ ('a' | string).format_map({}) }}",
    ],
)
def test_a_template_reaches_nothing(source):
    with pytest.raises(ArgumentError, match="template"):
        Template(source).render(ITEM, (0, 1, 2))


def test_a_passage_that_is_not_there_is_never_shown_as_none():
    with pytest.raises(ArgumentError, match="NoneType"):
        Template("{{ passage }}{{ question }}").render(ITEM, (0, 1, 2))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ text.strip().upper() | replace('E', '3') }}", "R3D"),
        ("{% for x in xs %}{{ loop.index }}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}", "1a, 2b"),
        ("{{ xs | join('; ') }} {{ 2 * 3 + 1 }} {{ text ~ 1 }} {{ xs | length }}", "a; b 7  red1 2"),
        ("{% set n = namespace(k=0) %}{% for x in xs %}{% set n.k = n.k + 1 %}{% endfor %}{{ n.k }}", "2"),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(1) }}{{ m(2) }}", "<1><2>"),
        ("{{ text | trim | indent(2, first=true) }}{{ xs | tojson }}", '  red["a", "b"]'),
        ("{{ rows | map(attribute='t') | join(',') }}{{ rows | join('+', attribute='t') }}", "u,vu+v"),
        ("{{ missing | default('none') }}", "none"),
        ("line\n", "line\n"),
    ],
)
def test_ordinary_templates_are_rendered(source, expected):
    made = Sandboxed(source)
    for _ in range(3):
        assert made.render(text=" red", xs=["a", "b"], rows=[{"t": "u"}, {"t": "v"}]) == expected


def test_the_budget_is_that_of_one_prompt():
    made = Sandboxed("{% for i in range(60000) %}x{% endfor %}")
    assert [len(made.render()) for _ in range(4)] == [60000] * 4


LOOP = "{% for option in options %}{{ option.label }} {{ option.text }}\n{% endfor %}"


def test_a_template_must_show_the_ordering():
    check_order_shown(Template(), [ITEM])
    check_order_shown(Template("{{ question }}\n" + LOOP), [ITEM])
    for source in ("", "{{ question }}", LOOP.replace("options", "options[:2]"), "{{ options | length }}" + LOOP[:0],
                   LOOP.replace("in options", "in options | sort(attribute='text')").replace("{{ option.label }}", ""),
                   ):  # fmt: skip
        with pytest.raises(ArgumentError, match="stays the same"):
            check_order_shown(Template(source), [ITEM])


def test_every_number_of_options_is_looked_at_and_options_of_one_text_are_not():
    two = Item("2", "?", ("yes", "no"))
    double = Item("3", "?", ("x", "x ", "y", "z"))
    with pytest.raises(ArgumentError, match=r"item '1'.*place 2"):
        check_order_shown(Template(LOOP.replace("options", "options[:2]")), [two, double, ITEM])
    check_order_shown(Template("{{ question }}"), [double])
