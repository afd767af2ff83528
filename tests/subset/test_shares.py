"""Shares of the experts: losses and choices against loops, and rows that give the shares back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.subset.blend import Blend
from subcast.subset.shares import (
    BLOCKS,
    MOST_VARIABLES,
    USUAL_SHARES,
    ExpertErrors,
    mixtures,
    parts_of_rows,
    rows_of_shares,
    steady_shares,
)
from twins import experts_twins as twins

NAMES = ("model", "specialist", "linear", "boosted")


def errors_of(experts, b, h, s, seed=0, holes=0.2):
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(experts, b, h, s)).astype(np.float32)
    errors[:, rng.random((b, h, s)) < holes] = np.nan
    return ExpertErrors(errors)


# Errors and losses


def test_errors_in_units_of_the_spread():
    rng = np.random.default_rng(0)
    forecasts = [rng.normal(size=(4, 2, 3)).astype(np.float32) for _ in range(2)]
    targets = rng.normal(size=(4, 2, 3)).astype(np.float32)
    targets[1, 0, 2] = np.nan
    spread = np.array([1.0, 2.0, 0.5])
    found = ExpertErrors.of(forecasts, targets, spread).errors
    for expert in range(2):
        for index in np.ndindex(4, 2, 3):
            expected = (float(forecasts[expert][index]) - float(targets[index])) / spread[index[2]]
            np.testing.assert_allclose(found[(expert, *index)], expected, rtol=1e-5)


def test_of_many_variables_some_from_the_first_to_the_last_are_taken():
    s = 3 * MOST_VARIABLES
    targets = np.zeros((2, 1, s), dtype=np.float32)
    forecast = np.broadcast_to(np.arange(s, dtype=np.float32), targets.shape)
    taken = ExpertErrors.of([forecast], targets, np.ones(s)).errors[0, 0, 0]
    assert len(set(taken.tolist())) == MOST_VARIABLES
    assert (taken[0], taken[-1]) == (0, s - 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38])
def test_forecasts_that_are_not_numbers_get_no_share(bad):
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(40, 2, 3)).astype(np.float32)
    targets[3] = np.nan
    good = targets + 0.1 * rng.normal(size=targets.shape).astype(np.float32)
    broken = np.full_like(targets, bad)
    errors = ExpertErrors.of([broken, good], targets, np.ones(3))
    for metric in ("mae", "rmse"):
        tried = mixtures(("model", "boosted"))
        shares = steady_shares(tried, errors.losses(tried, metric))
        np.testing.assert_allclose(shares, [[0, 1]] * 2, atol=1e-6)


@pytest.mark.parametrize("metric", ["mae", "rmse"])
@pytest.mark.parametrize("b", [1, 4, 23])
def test_losses_against_loops(metric, b):
    errors = errors_of(3, b, 2, 3)
    tried = np.array([[0.2, 0.3, 0.5], [1, 0, 0], [0, 0.9, 0.1]], dtype=np.float32)
    table = errors.losses(tried, metric)
    blocks = min(b, BLOCKS)
    assert table.shape == (3, blocks, 2)
    bounds = [int(b * number / blocks) for number in range(blocks + 1)]
    for number, shares in enumerate(tried.tolist()):
        for block in range(blocks):
            for step in range(2):
                expected = twins.mixture_loss(
                    errors.errors, shares, range(bounds[block], bounds[block + 1]), step, 1 if metric == "mae" else 2
                )
                assert table[number, block, step] == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("metric", ["mae", "rmse"])
def test_losses_of_steps_against_loops(metric):
    errors = errors_of(2, 6, 3, 2)
    shares = np.array([[0.1, 0.9], [0.5, 0.5], [1.0, 0.0]])
    found = errors.losses_of_steps(shares, metric)
    for step in range(3):
        expected = twins.mixture_loss(errors.errors, shares[step], range(6), step, 1 if metric == "mae" else 2)
        assert found[step] == pytest.approx(expected, rel=1e-5)


def test_without_any_target_the_losses_are_0():
    errors = ExpertErrors(np.full((2, 4, 2, 3), np.nan, dtype=np.float32))
    assert (errors.losses(mixtures(("model", "linear")), "mae") == 0).all()
    assert errors.losses_of_steps(np.full((2, 2), 0.5), "mae").tolist() == [0, 0]


# Mixtures


@pytest.mark.parametrize("count", [1, 2, 4, 5, 6, 7])
def test_mixtures_are_all_multiples_once(count):
    names = (*NAMES, "mine", "yours", "theirs")[:count]
    tried = mixtures(names)
    np.testing.assert_allclose(tried.sum(axis=1), 1, rtol=1e-5)
    usual = [USUAL_SHARES.get(name, USUAL_SHARES["specialist"]) for name in names]
    np.testing.assert_allclose(tried[0], np.array(usual) / sum(usual), rtol=1e-6)
    parts = 10 if count <= 6 else 5
    whole = np.rint(tried[1:] * parts)
    np.testing.assert_allclose(tried[1:] * parts, whole, atol=1e-5)
    assert (whole >= 0).all()
    ways = 1  # the number of ways to divide `parts` among `count`
    for number in range(1, count):
        ways = ways * (parts + number) // number
    assert len({tuple(row) for row in whole.tolist()}) == len(whole) == ways


def test_variables_that_stay_where_they_are_move_the_usual_shares_to_their_own_regression():
    names = (*NAMES, "own_linear")
    usual, moved = mixtures(names)[0], mixtures(names, 0.75)[0]
    np.testing.assert_allclose(moved, 0.25 * usual + 0.75 * np.array([0, 0, 0, 0, 1]), rtol=1e-6)
    np.testing.assert_array_equal(mixtures(names, 0.75)[1:], mixtures(names)[1:])
    np.testing.assert_array_equal(mixtures(NAMES, 0.75), mixtures(NAMES))


def test_many_experts_are_no_problem():
    names = (*NAMES, *(f"own_{number}" for number in range(8)))
    assert mixtures(names).shape == (4369, 12)


def test_mixtures_cannot_be_changed_by_a_caller():
    with pytest.raises(ValueError, match="read-only"):
        mixtures(NAMES)[0] = 0


# Shares


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 4), st.floats(0.01, 2), st.integers(0, 2**32 - 1))
def test_steady_shares_against_loops(blocks, h, noise, seed):
    rng = np.random.default_rng(seed)
    tried = mixtures(("model", "linear", "boosted"))
    best = rng.dirichlet([1, 1, 1])
    losses = 1 + ((tried - best) ** 2).sum(axis=1)[:, None, None] + noise * rng.random((len(tried), blocks, h))
    expected = twins.steady_shares(tried.tolist(), losses.tolist())
    np.testing.assert_allclose(steady_shares(tried, losses), expected, rtol=1e-5, atol=1e-7)
    best_ones = twins.steady_shares(tried.tolist(), losses.tolist(), doubt=0.0)
    np.testing.assert_allclose(steady_shares(tried, losses, 0.0), best_ones, rtol=1e-5, atol=1e-7)


def test_an_expert_that_cannot_forecast_gets_no_share_even_if_little_is_known():
    tried = mixtures(("model", "linear", "boosted"))
    rng = np.random.default_rng(0)
    losses = 1 + tried[:, 0, None, None] + 3 * rng.random((len(tried), 4, 1))  # noise that hides what the model does
    losses[np.flatnonzero(tried[:, 0] == 1)] = 8.0
    assert steady_shares(tried, losses)[0, 0] == 0


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_shares_add_up_to_1_and_are_not_negative(seed):
    tried = mixtures(NAMES)
    losses = np.random.default_rng(seed).random((len(tried), 5, 3))
    shares = steady_shares(tried, losses)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    assert (shares >= 0).all()


def test_where_nothing_is_clear_the_shares_are_the_usual_ones():
    tried = mixtures(NAMES)
    shares = steady_shares(tried, np.ones((len(tried), 10, 2)))
    np.testing.assert_allclose(shares, [tried[0]] * 2)


@pytest.mark.parametrize("winner", range(4))
@pytest.mark.parametrize("metric", ["mae", "rmse"])
def test_the_one_expert_that_is_right_gets_everything(winner, metric):
    errors = errors_of(4, 50, 3, 4, holes=0.1).errors.copy()
    errors[winner] *= 0
    tried = mixtures(NAMES)
    shares = steady_shares(tried, ExpertErrors(errors).losses(tried, metric))
    np.testing.assert_allclose(shares, [np.eye(4)[winner]] * 3, atol=1e-6)


def test_the_one_expert_that_is_wrong_gets_nothing():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(4, 80, 2, 6)).astype(np.float32)
    errors[0] = 30 * rng.normal(size=errors[0].shape)
    tried = mixtures(NAMES)
    for metric in ("mae", "rmse"):
        shares = steady_shares(tried, ExpertErrors(errors).losses(tried, metric))
        assert (shares[:, 0] == 0).all()


# Rows


@st.composite
def share_tables(draw):
    count, h, n_shares = draw(st.integers(2, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    whole = rng.multinomial(10, np.full(count, 1 / count), size=(n_shares, h))
    whole[rng.random((n_shares, h)) < 0.2] = 10 * np.eye(count, dtype=int)[rng.integers(count)]
    return (*NAMES, "mine")[:count], [table / 10 for table in whole]


@settings(max_examples=60)
@given(share_tables())
def test_rows_give_the_shares_back(case):
    names, tables = case
    rows = rows_of_shares(names, tables)
    assert list(rows) == list(names[1:])
    for number, table in enumerate(tables):
        for step, shares in enumerate(table):
            parts = parts_of_rows(rows, number, step)
            assert list(parts) == list(names)
            np.testing.assert_allclose(list(parts.values()), shares, atol=4e-4)


@settings(max_examples=30)
@given(share_tables())
def test_a_blend_of_the_rows_is_the_weighted_sum_of_the_forecasts(case):
    names, tables = case
    h, knots = len(tables[0]), tuple(np.linspace(0.2, 0.8, len(tables)))
    blend = Blend(knots, rows_of_shares(names, tables))
    rng = np.random.default_rng(0)
    forecasts = {name: rng.normal(size=(2, h, 3)).astype(np.float32) for name in names}
    others = {name: (lambda own=forecasts[name]: own) for name in names[1:]}
    for share, table in zip(knots, tables, strict=True):
        found = blend.combine(forecasts["model"], others, share)
        expected = sum(table[None, :, [k]] * forecasts[name] for k, name in enumerate(names))
        np.testing.assert_allclose(found, expected, atol=5e-3)
        left = np.broadcast_to(blend.rest(share), h)
        np.testing.assert_allclose(left, table[:, 0], atol=4e-4)
        assert ((left == 0) == (table[:, 0] == 0)).all()  # so that a model without a share is not run
