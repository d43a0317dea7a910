"""Documentation that is wrong fails the build."""

import re
import sys
from pathlib import Path

import pytest

from orderbias import parse_design, read_cells
from orderbias.cli import COMMANDS
from orderbias.judge_prompts import JudgeTemplate, check_pair_shown
from orderbias.measures.table import MEASURES
from orderbias.orderings import DESIGN_KINDS
from orderbias.prompts import BODY
from orderbias.readers import read_items
from orderbias.readers.field_map import FIELDS
from orderbias.readers.pairs import read_pairs

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_command_reference_is_current():
    sys.path.insert(0, str(ROOT))
    try:
        from tools.docs import command_reference
    finally:
        sys.path.remove(str(ROOT))
    assert (ROOT / "docs" / "cli.md").read_text() == command_reference(), "run `make docs`"


def test_every_measure_is_explained():
    text = (ROOT / "docs" / "measures.md").read_text()
    assert not [name for name in MEASURES if f"`{name}`" not in text]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_shown_exist(page):
    shown = re.findall(r"^(?:\$ )?orderbias ([a-z-]+)", page.read_text(), re.M)
    assert set(shown) <= set(COMMANDS)


def blocks(page, language):
    found = re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert found
    return found


@pytest.mark.parametrize("page", ["README.md", "docs/strategies.md"])
def test_the_python_of_a_page_runs(page):
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), {})


def test_a_log_with_letters_becomes_the_records_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (log,) = [b for b in blocks("docs/records.md", "csv") if b.startswith("question,")]
    Path("log.csv").write_text(log + "q2,BDAC,D,B\nq2,ABCD,,B\n")
    (script,) = blocks("docs/records.md", "python")
    exec(compile(script, "records.md", "exec"), {})
    # q1: A stood at place 0, then C did, so the third option was chosen. q2: option 1 at 2, 2 at 0, 3 at 3, 4 at 1.
    assert Path("answers.csv").read_text().split() == [
        "item_id,positions,place,gold", "q1,0", "1", "2", "3,0,2", "q1,2", "3", "0", "1,0,2",
        "q2,2", "0", "3", "1,3,1", "q2,0", "1", "2", "3,,1",
    ]  # fmt: skip
    (cell,) = read_cells("answers.csv").predictions
    assert cell.choice.tolist()[0] in ([0, 2], [2, 0])


def test_the_page_on_items_says_what_is_so(tmp_path):
    text = (ROOT / "docs" / "items.md").read_text()
    (body,) = blocks("docs/items.md", "jinja")
    assert body == BODY + "\n"
    forms = [":".join((kind, *numbers)) for kind, numbers in DESIGN_KINDS.items()]
    table = {name: cells for name, *cells in re.findall(r"^\| `([a-z-]+[^`]*)` \| (.*) \| *(yes)? *\|$", text, re.M)}
    assert list(table)[-len(forms) :] == forms
    for name in forms:
        design = parse_design(name.replace("SEED", "3").replace("M", "3")).design(4, "q", 1)
        assert design.balanced == (table[name][1] == "yes")
    assert [part for part in FIELDS if f"| `{part}` |" in text] == list(FIELDS)
    (example,) = blocks("docs/items.md", "json")
    (tmp_path / "own.jsonl").write_text(example)
    (item,) = read_items(tmp_path / "own.jsonl").items
    assert (item.id, item.gold, item.group) == ("q1", 2, "numbers")


def test_the_pair_and_the_template_of_the_page_on_judges_work(tmp_path):
    (example,) = blocks("docs/judge.md", "json")
    (tmp_path / "pairs.jsonl").write_text(example)
    (pair,) = read_pairs(tmp_path / "pairs.jsonl").items
    assert (pair.id, pair.options, pair.gold, pair.group) == ("q1", ("7", "9", "tie"), 0, "maths")
    (source,) = blocks("docs/judge.md", "jinja")
    assert check_pair_shown(JudgeTemplate(source), [pair]) == ()


def test_the_python_of_the_page_on_judges_runs_on_its_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (table,) = [block for block in blocks("docs/judge.md", "csv") if block.startswith("pair_id,order,verdict")]
    (tmp_path / "verdicts.csv").write_text(table)
    for block in blocks("docs/judge.md", "python"):
        exec(compile(block, "docs/judge.md", "exec"), {})
    assert "Not enough data: 2 pairs in both orders" in capsys.readouterr().out
