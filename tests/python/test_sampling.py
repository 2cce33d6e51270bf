"""Draws that are made of others: their distributions, shapes and errors."""

import math

import pytest

import shunt


@pytest.fixture(autouse=True)
def _seeded():
    shunt.manual_seed(11)


N = 20000


def near(values, mean, variance):
    error = 6 * math.sqrt(variance / N)
    assert abs(float(values.double().mean()) - mean) < error, float(values.double().mean())
    assert float(values.double().var()) == pytest.approx(variance, rel=0.12)


def test_multinomial_draws_by_weight():
    weights = shunt.tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    drawn = weights.multinomial(N, replacement=True)
    assert drawn.shape == (2, N) and drawn.dtype is shunt.int64
    assert float((drawn[0] == 2).double().mean()) == pytest.approx(0.75, abs=0.02)
    assert not bool((drawn[0] == 1).any()) and bool((drawn[1] == 1).all())
    first = [int(shunt.multinomial(shunt.tensor([1.0, 3.0]), 2)[0]) for _ in range(2000)]
    assert sum(first) / 2000 == pytest.approx(0.75, abs=0.05)
    one = shunt.tensor([[1.0, 3.0]]).expand(N, 2).multinomial(1)
    assert one.shape == (N, 1) and float(one.double().mean()) == pytest.approx(0.75, abs=0.02)
    assert sorted(shunt.multinomial(shunt.ones(5), 5).tolist()) == [0, 1, 2, 3, 4]
    g = [shunt.multinomial(shunt.ones(50), 5, generator=shunt.Generator().manual_seed(3)).tolist() for _ in range(2)]
    assert g[0] == g[1]


@pytest.mark.parametrize(
    "weights, count, replacement",
    [
        ([1.0, -1.0], 1, True),
        ([math.nan, 1.0], 1, True),
        ([math.inf, 1.0], 1, True),
        ([0.0, 0.0], 1, True),
        ([1.0, 1.0], 3, False),
        ([1.0], 0, True),
        ([[[1.0]]], 1, True),
        ([1, 2], 1, True),
    ],
)
def test_what_multinomial_refuses(weights, count, replacement):
    with pytest.raises(RuntimeError):
        shunt.multinomial(shunt.tensor(weights), count, replacement)


def test_draws_in_place():
    x = shunt.empty(N)
    assert x.exponential_(2.0) is x
    near(x, 0.5, 0.25)
    near(x.geometric_(0.25), 4, 12)
    assert float(x.min()) == 1
    near(x.log_normal_(0.0, 0.5).log(), 0.0, 0.25)
    x.cauchy_(1.0, 2.0)
    assert float((x < 3).double().mean()) == pytest.approx(0.75, abs=0.02) and float(
        (x < 1).double().mean()
    ) == pytest.approx(0.5, abs=0.02)
    assert shunt.empty(3, dtype=shunt.int64).geometric_(0.5).dtype is shunt.int64
    for call in (
        lambda: x.exponential_(0),
        lambda: x.geometric_(1.5),
        lambda: x.cauchy_(0, -1),
        lambda: x.log_normal_(0, 0),
    ):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.parametrize("rate", [0.3, 4.0, 9.5, 10.5, 200.0])
def test_poisson(rate):
    near(shunt.poisson(shunt.full((N,), rate)), rate, rate)


def test_poissons_probabilities():
    for rate in (2.0, 12.0):
        drawn = shunt.poisson(shunt.full((N,), rate, dtype=shunt.float64))
        assert drawn.dtype is shunt.float64
        for k in (int(rate) - 1, int(rate), int(rate) + 3):
            expected = math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))
            assert float((drawn == k).double().mean()) == pytest.approx(expected, abs=0.012)
    assert shunt.poisson(shunt.zeros(3)).tolist() == [0.0] * 3
    with pytest.raises(RuntimeError, match="rate"):
        shunt.poisson(shunt.tensor([-1.0]))


@pytest.mark.parametrize("count, prob", [(1, 0.3), (10, 0.9), (300, 0.5)])
def test_binomial(count, prob):
    near(
        shunt.binomial(shunt.full((N,), float(count)), shunt.tensor(prob).expand(N)),
        count * prob,
        count * prob * (1 - prob),
    )


def test_binomials_ends():
    assert shunt.binomial(shunt.tensor([5.0, 5.0, 0.0]), shunt.tensor([0.0, 1.0, 0.5])).tolist() == [0.0, 5.0, 0.0]
    with pytest.raises(RuntimeError):
        shunt.binomial(shunt.tensor([1.0]), shunt.tensor([1.5]))


def test_multinomial_never_draws_what_has_no_weight():
    # A uniform draw is 0 once in 2^24; the wait of a category without weight was 0 / 0 then.
    weights = shunt.zeros(500, 50000)
    weights[:, 7] = 1.0
    generator = shunt.Generator().manual_seed(0)
    assert all(bool((weights.multinomial(1, generator=generator) == 7).all()) for _ in range(2))
    tiny = shunt.tensor([0.0, 1e-40, 1.0])
    assert all(sorted(tiny.multinomial(2).tolist()) == [1, 2] for _ in range(20))
    # Only where nothing else is left, and then last.
    drawn = shunt.tensor([0.0, 1.0, 0.0, 1.0]).multinomial(4).tolist()
    assert sorted(drawn[:2]) == [1, 3] and sorted(drawn[2:]) == [0, 2]


@pytest.mark.parametrize("count, prob", [(25, 0.4), (60, 0.25), (1000, 0.5), (40, 0.7)])
def test_binomials_probabilities(count, prob):
    # Chi squared over places that each have many draws; the bound is passed once in a million.
    draws = shunt.binomial(shunt.full((N,), float(count)), shunt.full((N,), prob))
    seen = draws.to(shunt.int64).bincount(minlength=count + 1).tolist()
    expected = [N * math.comb(count, k) * prob**k * (1 - prob) ** (count - k) for k in range(count + 1)]
    cells = [(s, e) for s, e in zip(seen, expected) if e >= 10]
    chi = sum((s - e) ** 2 / e for s, e in cells)
    assert chi < len(cells) + 6 * math.sqrt(2 * len(cells)), (chi, len(cells))
    assert sum(s for s, e in zip(seen, expected) if e < 10) < 10 * (count + 1)


def test_binomial_of_many_trials(monkeypatch):
    from shunt._composites import sampling

    calls, uniform = [], sampling._uniform
    monkeypatch.setattr(sampling, "_uniform", lambda *args: calls.append(1) or uniform(*args))
    count = shunt.full((N,), 3e9, dtype=shunt.float64)
    draws = shunt.binomial(count, shunt.full_like(count, 0.3))
    spread = math.sqrt(3e9 * 0.3 * 0.7)
    assert abs(float(draws.mean()) - 9e8) < 6 * spread / math.sqrt(N)
    assert abs(float(draws.std()) / spread - 1) < 6 / math.sqrt(2 * N) and len(calls) < 100
    endless = shunt.tensor([math.inf, math.inf, math.inf])
    assert shunt.binomial(endless, shunt.tensor([0.3, 0.0, 1.0])).tolist() == [math.inf, 0.0, math.inf]


def test_rates_and_counts_that_are_no_numbers():
    with pytest.raises(RuntimeError, match="non-negative"):
        shunt.poisson(shunt.tensor([math.nan, 1.0]))
    with pytest.raises(RuntimeError, match="expected counts from 0"):
        shunt.binomial(shunt.tensor([math.nan]), shunt.tensor([0.5]))
