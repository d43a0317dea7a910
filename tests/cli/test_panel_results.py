"""The panel whose answers are kept with the project: its whole report is made again, and says what the page says."""

import json
import re
from pathlib import Path

import pytest
from markupsafe import escape

from orderbias.cli import run
from orderbias.studies.panel.analyses import ANALYSES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results" / "panel"
PAGE = (ROOT / "docs" / "results.md").read_text()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    files = ["--html", str(out / "page.html"), "--csv", str(out / "csv"), "--latex", str(out / "latex")]
    told = out / "report.json"
    with pytest.MonkeyPatch.context() as patch:
        lines = []
        patch.setattr("click.echo", lambda text="", **kind: lines.append(text) if not kind.get("err") else None)
        assert run(["panel", "report", str(FOLDER), "--json", *files]) == 0
    told.write_text("\n".join(lines))
    return json.loads(told.read_text()), out


def test_every_analysis_is_made_again_from_the_answers(report):
    found, out = report
    findings = {f["name"]: f for f in found["findings"]}
    assert set(findings) == set(ANALYSES)
    done = {name for name, f in findings.items() if f["skipped"] is None}
    assert done == set(ANALYSES) - {"repeats"}
    page = (out / "page.html").read_text()
    assert all(str(escape(f["title"])) in page for f in findings.values())
    assert len(list((out / "csv").iterdir())) > 30


def test_the_page_on_results_says_what_the_answers_say(report):
    findings = {f["name"]: f for f in report[0]["findings"]}
    (cells,) = [t for t in findings["factors"]["tables"] if t["name"] == "cells"]
    told = {(r["benchmark"], r["checkpoint"]): r for r in cells["rows"]}
    models = list(dict.fromkeys(model for _, model in told))
    rows = re.findall(r"^\| ([a-z0-9-]+) \| ((?:[\d.]+ %, [\d.]+ \([\d.]+ %\) ?\|? ?)+)\|$", PAGE, re.M)
    assert {name for name, _ in rows} == {benchmark for benchmark, _ in told}
    for benchmark, row in rows:
        shown = re.findall(r"([\d.]+) %, ([\d.]+) \(([\d.]+) %\)", row)
        for model, (flips, skew, right) in zip(models, shown, strict=True):
            cell = told[benchmark, model]
            assert f"{100 * cell['flip_rate']['value']:.1f}" == flips
            assert f"{cell['positional_skew']['value']:.3f}" == skew
            assert f"{100 * cell['accuracy']['value']:.1f}" == right
