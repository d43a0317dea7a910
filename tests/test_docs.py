"""Documentation that is wrong fails the build."""

import re
import sys
from pathlib import Path

import pytest

from orderbias.cli import COMMANDS
from orderbias.measures.table import MEASURES

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


def test_the_python_of_the_readme_runs():
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
