"""The simulated model against laws worked out without it: what the measures must find of a planted preference."""

import numpy as np
import pytest
from scipy import integrate, stats

from orderbias import orderings
from orderbias.backends import LabelRequest, TextRequest
from orderbias.backends.simulated import SimulatedBackend
from orderbias.errors import ArgumentError, ModelError
from orderbias.items import Item
from orderbias.measurement import measure
from orderbias.predictions import Predictions

N = 4000


def answered(preference, *, skill=0.0, noise=0.0, n=N, gold=True):
    """Ask the model itself, request by request, and arrange its replies."""
    k = len(preference)
    items = tuple(Item(str(i), "?", tuple("wxyz"[:k]), i % k if gold else None) for i in range(n))
    backend = SimulatedBackend(items, preference, skill=skill, noise=noise, seed=5)
    design = orderings.cyclic(k).positions
    shown = orderings.inverse(design)
    requests = [LabelRequest(i.id, tuple(row), "", tuple("ABCD"[:k])) for i in items for row in design.tolist()]
    logprobs = np.array([r.logprobs for r in backend.ask(requests)]).reshape(n, k, k)
    places = logprobs.argmax(axis=2)
    choice = shown[np.arange(k), places]
    return Predictions(choice, design, [i.gold if gold else -1 for i in items], logprobs=logprobs)


def within(share, expected, n=N, z=4.0):
    """Whether an observed share lies within z standard errors of a binomial's."""
    return abs(share - expected) <= z * np.sqrt(expected * (1 - expected) / n) + 1e-12


@pytest.mark.parametrize("lean", [0.3, 1.0, 2.5])
def test_two_options_flip_where_the_strengths_are_closer_than_the_lean(lean):
    # The difference of two strengths is N(0, 2); an item flips exactly when it is smaller than the lean.
    m = measure(answered((lean, 0.0)), resamples=0)
    assert within(m.flip_rate, 2 * stats.norm.cdf(lean / np.sqrt(2)) - 1)
    assert m.positional_skew == 0.5
    assert m.flip_share == (1.0, 0.0)


@pytest.mark.parametrize("k", [3, 4])
def test_the_share_on_the_favoured_place_by_quadrature(k):
    # A content at the favoured place is chosen when its strength + b exceeds k - 1 others.
    b = 0.7
    expected, _ = integrate.quad(lambda x: stats.norm.pdf(x) * stats.norm.cdf(x + b) ** (k - 1), -9, 9)
    m = measure(answered((b, *[0.0] * (k - 1))), resamples=0)
    assert within(m.selection_share[0], expected)
    assert m.selection_share[1:] == pytest.approx([(1 - expected) / (k - 1)] * (k - 1), abs=0.02)


def test_a_model_blind_to_the_order_never_flips():
    m = measure(answered((0.0,) * 4, n=300), resamples=0)
    assert m.flip_rate == 0
    assert m.positional_skew is None
    assert m.pooled_sd == pytest.approx(0)


def test_noise_alone_flips_without_a_lean():
    m = measure(answered((0.0,) * 4, noise=1.5, n=1000), resamples=2000)
    assert m.flip_rate > 0.5
    assert m.tests["rotation"]["p_value"] > 0.01
    assert m.positional_skew == pytest.approx(m.expected["positional_skew"], abs=0.02)


def test_the_accuracy_of_a_blind_model_is_that_of_its_skill_by_quadrature():
    expected, _ = integrate.quad(lambda x: stats.norm.pdf(x - 1.2) * stats.norm.cdf(x) ** 3, -9, 9)
    m = measure(answered((0.0,) * 4, skill=1.2), resamples=0)
    assert within(m.accuracy, expected)


def test_a_rotated_lean_moves_the_skew_to_the_rotated_place():
    first, third = (measure(answered(b, n=500), resamples=0) for b in ((2, 0, 0, 0), (0, 0, 2, 0)))
    assert np.argmax(first.flip_share) == 0
    assert np.argmax(third.flip_share) == 2


def test_bad_laws_and_unknown_items_are_refused():
    items = (Item("1", "?", ("x", "y")),)
    with pytest.raises(ArgumentError, match="mass"):
        SimulatedBackend(items, (0, 0), mass=0)
    with pytest.raises(ArgumentError, match="noise"):
        SimulatedBackend(items, (0, 0), noise=-1)
    backend = SimulatedBackend(items, (0,))
    with pytest.raises(ModelError, match="2 options"):
        backend.ask([LabelRequest("1", (0, 1), "", ("A", "B"))])
    with pytest.raises(ModelError, match="'2'"):
        backend.ask([LabelRequest("2", (0, 1), "", ("A", "B"))])


def test_an_item_with_fewer_options_takes_the_first_places():
    items = (Item("1", "?", ("x", "y")), Item("2", "?", ("x", "y", "z")))
    long, short = SimulatedBackend(items, (2.0, 0.5, -1.0)), SimulatedBackend(items, (2.0, 0.5))
    request = LabelRequest("1", (1, 0), "", ("A", "B"))
    assert long.ask([request])[0].logprobs == short.ask([request])[0].logprobs
    assert len(long.ask([LabelRequest("2", (2, 0, 1), "", ("A", "B", "C"))])[0].logprobs) == 3


def test_a_written_reply_ends_with_the_letter_of_the_best_place():
    items = tuple(Item(str(i), "?", ("x", "y", "tie"), i % 2) for i in range(200))
    backend = SimulatedBackend(items, (1.0, 0.0, -0.5), seed=2)
    orders = [(i.id, order) for i in items for order in ((0, 1, 2), (1, 0, 2))]
    scored = backend.ask([LabelRequest(i, order, "", ("A", "B", "C")) for i, order in orders])
    written = backend.ask([TextRequest(i, order, "a b c") for i, order in orders])
    best = ["ABC"[int(np.argmax(reply.logprobs))] for reply in scored]
    assert [reply.text[-5:] for reply in written] == [f"[[{letter}]]" for letter in best]
    assert {reply.tokens_in for reply in written} == {3}
    (cut,) = backend.ask([TextRequest("0", (0, 1, 2), "", max_tokens=2)])
    assert (cut.tokens_out, cut.finished, "[[" in cut.text) == (2, False, False)


def test_drawn_replies_follow_the_laws():
    items = (Item("1", "?", ("x", "y", "tie"), 0),)
    backend = SimulatedBackend(items, (1.0, 0.0, -0.5), seed=2)
    (scored,) = backend.ask([LabelRequest("1", (1, 0, 2), "", ("A", "B", "C"))])
    weights = np.exp(np.array(scored.logprobs) / 1.5)
    n = 3000
    drawn = backend.ask([TextRequest("1", (1, 0, 2), "", temperature=1.5, seed=s) for s in range(n)])
    observed = [sum(reply.text.endswith(f"[[{letter}]]") for reply in drawn) for letter in "ABC"]
    assert stats.chisquare(observed, n * weights / weights.sum()).pvalue > 0.001
