"""The online form gives what the operations give, and in time."""

import math
import time

import numpy as np
import pytest
from operation_cells import planted

from orderbias.errors import ArgumentError
from orderbias.operations import Debiaser, PriDe, Prior, ReversalProduct, chain
from orderbias.operations.scores import by_content


@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_one_ordering_gives_what_pride_gives(k, alpha):
    cell = planted(20, k, np.linspace(1, -1, k))
    fitted = PriDe(alpha).fit(cell)
    out = fitted.apply(cell)
    expected = np.exp(by_content(out, out.logprobs))
    debias = Debiaser.from_prior(fitted.prior, alpha)
    for i in range(cell.n_items):
        for s in range(cell.n_orderings):
            assert debias(cell.logprobs[i, s], positions=cell.positions[s]) == pytest.approx(expected[i, s])
        assert debias(cell.logprobs[i, 0].tolist()) == pytest.approx(expected[i, 0])


@pytest.mark.parametrize("k", [3, 4, 5, 10])
def test_a_pair_gives_what_pride_and_the_product_give(k):
    cell = planted(20, k, np.linspace(1, -1, k))
    fitted = chain(PriDe(), ReversalProduct()).fit(cell)
    out = fitted.apply(cell)
    expected = np.exp(by_content(out, out.logprobs))
    debias = Debiaser.from_prior(fitted.priors[0])
    bare = Debiaser.from_prior(Prior.uniform(k))
    product = ReversalProduct().fit(cell).apply(cell)
    alone = np.exp(by_content(product, product.logprobs))
    for i in range(cell.n_items):
        for s in range(k):
            pair = (cell.logprobs[i, s], cell.logprobs[i, k + s], cell.positions[s])
            assert debias(*pair) == pytest.approx(expected[i, s])
            assert bare(*pair) == pytest.approx(alone[i, s])


def test_a_request_takes_less_than_fifty_microseconds():
    debias = Debiaser.from_prior(Prior("by-hand", (0.4, 0.3, 0.2, 0.1)))
    forward, backward = np.log([0.1, 0.2, 0.3, 0.4]).tolist(), np.log([0.4, 0.3, 0.2, 0.1]).tolist()
    rounds = []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(200):
            debias(forward, backward, (0, 1, 2, 3))
        rounds.append((time.perf_counter() - start) / 200)
    assert min(rounds) < 50e-6


def test_a_label_without_probability_has_none_after():
    debias = Debiaser.from_prior(Prior("by-hand", (0.5, 0.5)))
    assert debias([-math.inf, -1.0]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (([-1.0, -1.0],), "`logprobs` must hold 3 log-probabilities"),
        (([-1.0, -1.0, math.nan],), "`logprobs` must be numbers below infinity"),
        (([-1.0, -math.inf, math.inf],), "`logprobs` must be numbers below infinity"),
        (([-1.0, -1.0, -1.0], [-1.0]), "`reversed_logprobs` must hold 3"),
        (([-math.inf] * 3,), "No content has any probability"),
        (([-1.0, -1.0, -1.0], None, (0, 1, 1)), "`positions` must hold each of 0..2 once"),
    ],
)
def test_bad_requests_are_refused(call, message):
    with pytest.raises(ArgumentError, match=message):
        Debiaser.from_prior(Prior.uniform(3))(*call)


def test_two_options_have_no_pair():
    with pytest.raises(ArgumentError, match="With 2 options"):
        Debiaser.from_prior(Prior.uniform(2))([-1.0, -1.0], [-1.0, -1.0])
    with pytest.raises(ArgumentError, match="`alpha`"):
        Debiaser.from_prior(Prior.uniform(2), math.inf)
