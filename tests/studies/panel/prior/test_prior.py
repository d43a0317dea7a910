"""The held-out prior over a panel: tables by loops and SciPy, a planted lean found, none found where none is."""

from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel
from scipy.stats import rankdata, spearmanr

from orderbias.studies.findings import Number
from orderbias.studies.panel import Panel, Settings, panel_cell
from orderbias.studies.panel.prior import prior
from orderbias.studies.panel.prior.letter_priors import held_out

SETTINGS = Settings(resamples=500, seed=2)


def changed(panel, **how):
    cells = [
        panel_cell(replace(c.predictions, **{k: f(c.predictions) for k, f in how.items()}), c.checkpoint)
        for c in panel.cells
    ]
    return Panel(tuple(cells), settings=panel.settings)


def by(table, *keys):
    """Return the rows of a table as mappings, by their first columns."""
    names = [column.key for column in table.columns]
    return {row[: len(keys)]: dict(zip(names, row, strict=True)) for row in table.rows}


@pytest.fixture(scope="module")
def panel():
    return simulated_panel(10, 4, 150, settings=SETTINGS, design="cyclic", options=(4, 4, 2, 10))


@pytest.fixture(scope="module")
def finding(panel):
    return prior(panel)


def test_the_planted_lean_is_found(finding):
    """Skew rises with the prior, points where it points, and falls when it is divided out, unlike a permuted one."""
    lean = by(finding.table("held-out-prior"), "statistic")
    assert lean["partial Spearman of the skew and the SD of PriDe's prior, given accuracy",]["value"].low > 0.4
    assert lean["median cosine of g and the prior, four options",]["value"].low > 0.8
    permuted = lean["median cosine of g and the prior with its letters permuted, four options",]["value"]
    assert -0.5 < permuted.low < permuted.high < 0.3
    assert lean["difference of the two medians",]["value"].low > 0.5
    changes = by(finding.table("prior-divided-out"), "alpha", "prior")
    for alpha in (0.5, 1.0):
        assert changes[alpha, "estimated"]["log_skew"].high < -0.15
        assert changes[alpha, "letters permuted"]["log_skew"].low > 0
        assert changes[alpha, "estimated minus permuted"]["log_skew"].high < -0.2
        assert changes[alpha, "estimated"]["accuracy"].low > 0
    assert changes[1.0, "estimated"]["log_skew"].value < changes[0.5, "estimated"]["log_skew"].value


def test_nobody_leans_and_nothing_is_found():
    flat = simulated_panel(40, 3, 60, settings=SETTINGS, laws=Laws(lean=0), design="cyclic", options=(4,))
    finding = prior(flat)
    lean = by(finding.table("held-out-prior"), "statistic")
    # Nothing ties the cells: a rank correlation has a standard error of 1 / sqrt(n), and so has the median of cosines,
    # which are uniform over -1..1 for random directions of four letters' deviations.
    for name in (
        "median cosine of g and the prior, four options",
        "partial Spearman of the skew and the SD of PriDe's prior, given accuracy",
    ):
        assert abs(lean[name,]["value"].value) < 3.5 / np.sqrt(120)
    difference = by(finding.table("prior-divided-out"), "alpha", "prior")[1.0, "estimated minus permuted"]["log_skew"]
    assert abs(difference.value) < difference.high - difference.low


def test_correlations_are_scipys(panel, finding):
    found = [held_out(cell, SETTINGS.seed) for cell in panel.cells]
    rows = by(finding.table("prior-nonuniformity"), "estimator", "cells")
    assert len(rows) == 8
    for name, spread in (
        ("PriDe's prior", [h.prior.std() for h in found]),
        ("the mean option-symbol profile", [h.profile.std() for h in found]),
    ):
        for scope, k in (("all", None), ("2 options", 2), ("4 options", 4), ("10 options", 10)):
            here = [i for i, c in enumerate(panel.cells) if k in (None, c.n_options)]
            x = [spread[i] for i in here]
            y = [found[i].before.skew[0] for i in here]
            z = [panel.cells[i].measures["accuracy"] for i in here]
            row = rows[name, scope]
            assert row["n_cells"] == row["n_cells_given"] == len(here)
            assert row["spearman"].value == pytest.approx(spearmanr(x, y).statistic)
            # Residuals of ranks on ranks.
            design = np.stack([np.ones(len(here)), rankdata(z)], axis=1)
            left = [rankdata(v) - design @ np.linalg.lstsq(design, rankdata(v), rcond=None)[0] for v in (x, y)]
            assert row["given_accuracy"].value == pytest.approx(np.corrcoef(*left)[0, 1])


def test_mean_changes_by_loops(panel, finding):
    rows = by(finding.table("prior-divided-out"), "alpha", "prior")
    for alpha in (0.5, 1.0):
        own, permuted = [], []
        for cell in panel.cells:
            h = held_out(cell, SETTINGS.seed)
            logs = [
                np.log(s / h.before.skew[0]) if s > 0 and h.before.skew[0] > 0 else None for s in h.after[alpha].skew
            ]
            if None not in logs:
                own.append(logs[0])
                permuted.append(sum(logs[1:]) / (len(logs) - 1))
        assert rows[alpha, "estimated"]["n_cells_skew"] == len(own)
        assert rows[alpha, "estimated"]["log_skew"].value == pytest.approx(np.mean(own))
        assert rows[alpha, "letters permuted"]["log_skew"].value == pytest.approx(np.mean(permuted))
        difference = rows[alpha, "estimated minus permuted"]["log_skew"].value
        assert difference == pytest.approx(np.mean(own) - np.mean(permuted))


def test_figures_and_sentences_say_the_tables_numbers(panel, finding):
    table = by(finding.table("prior-divided-out"), "alpha", "prior")
    assert len(finding.series["dividing-out"]) == 8
    for point in finding.series["dividing-out"]:
        number = table[point["alpha"], point["prior"]][point["measure"]]
        assert (point["value"], point["low"], point["high"]) == (number.value, number.low, number.high)
    assert len(finding.series["prior-and-skew"]) == len(panel.cells)
    words = " ".join(finding.sentences)
    assert "rises with the SD of PriDe's prior" in words
    assert f"{table[1.0, 'estimated']['log_skew'].value:.3f}" in words
    assert finding.as_dict() == prior(panel).as_dict()


def test_what_is_missing_is_said(panel):
    silent = changed(panel, logprobs=lambda p: None)
    assert prior(silent).skipped == (
        "needs first-token cells with log-probabilities of two items or more and a prior above 0; there are none."
    )
    half = Panel((*panel.cells[:20], *silent.cells[20:]), settings=SETTINGS)
    assert "Cells left out, without log-probabilities: 20." in prior(half).table("prior-nonuniformity").notes
    few = Panel(panel.cells[20:23], settings=SETTINGS)  # two options
    assert prior(few).parts_skipped == (
        "Prior and skew (all): needs at least 4 cells with a flip; there are 3.",
        "Prior and skew (2 options): needs at least 4 cells with a flip; there are 3.",
        "The cosine of g and the prior: needs four-option cells with a flip; there are 0.",
    )
    assert [t.name for t in prior(few).tables] == ["prior-divided-out"]


def test_without_golds_there_is_no_accuracy(panel):
    finding = prior(changed(Panel(panel.cells[:20], settings=SETTINGS), gold=lambda p: np.full(p.n_items, -1)))
    row = by(finding.table("prior-divided-out"), "alpha", "prior")[1.0, "estimated"]
    assert row["accuracy"] == Number(None)
    assert row["n_cells_accuracy"] == 0
    assert row["log_skew"].value is not None
    assert "accuracy by" not in finding.sentences[-1]
    assert all("gold answers are known; there are 0." in part for part in finding.parts_skipped)
    assert len(finding.parts_skipped) == 2


def test_answers_that_never_move_have_no_skew():
    still = simulated_panel(5, 2, 40, settings=SETTINGS, laws=Laws(lean=0, wobble=0), design="cyclic", options=(4,))
    finding = prior(still)
    assert [t.name for t in finding.tables] == ["prior-divided-out"]
    row = by(finding.tables[0], "alpha", "prior")[1.0, "estimated"]
    assert (row["log_skew"], row["log_flip_rate"]) == (Number(None), Number(None))
    assert row["accuracy"].value == 0
    assert len(finding.parts_skipped) == 5


def test_one_checkpoint_has_no_interval():
    finding = prior(simulated_panel(1, 5, 60, settings=SETTINGS, options=(4,)))
    assert by(finding.table("prior-nonuniformity"), "estimator")["PriDe's prior",]["spearman"].low is None
    assert "There is one checkpoint" in " ".join(finding.table("prior-divided-out").notes)
    assert "has this rank correlation with" in finding.sentences[0]
