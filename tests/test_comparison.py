"""Tallies and intervals against plain loops, records that give every interval again, and bad input."""

import json
import math

import numpy as np
import pytest

from subcast.comparison import LEAST_DRAWS, Comparison, Gap, Tally, has_tallies
from subcast.errors import DataError, InputError
from subcast.metrics import Sums, gap
from twins import comparison_twins as twin

WINDOWS, HORIZON, VARIABLES = 130, 3, 4


def examples(draws, spread, seed=0, windows=WINDOWS, missing=0.2):
    """Forecasts and targets of some draws, with missing targets; the same targets for every spread."""
    rng, noise_rng = np.random.default_rng(seed), np.random.default_rng(round(1000 * spread))
    pairs = []
    for _ in range(draws):
        target = rng.normal(size=(windows, HORIZON, VARIABLES)).cumsum(axis=0)
        noise = noise_rng.normal(size=target.shape) * (1 + 0.5 * np.sin(np.arange(windows) / 9))[:, None, None]
        forecast = target + spread * noise
        target[rng.random(target.shape) < missing] = np.nan
        pairs.append((forecast, target))
    return pairs


def compare(draws=8, windows=WINDOWS, steps=None, **spreads):
    pairs = {name: examples(draws, spread, windows=windows) for name, spread in spreads.items()}
    tallies = {name: Tally.join([Tally.of(*pair, steps) for pair in own]) for name, own in pairs.items()}
    subsets = [np.array([draw % VARIABLES, 7]) for draw in range(draws)]
    return Comparison(tallies, subsets, range(5, 5 + 2 * windows, 2)), pairs


@pytest.fixture(scope="module")
def comparison():
    return compare(oracle=0.5, partial=0.8, ours=0.52)[0]


class TestTally:
    @pytest.mark.parametrize(
        "windows", [1, 49, 50, 51, WINDOWS], ids=["one window", "fewer than stretches", "as many", "one more", "many"]
    )
    @pytest.mark.parametrize("step", [1, 3])
    def test_against_loops(self, windows, step):
        forecast, target = examples(1, 0.5, seed=windows, windows=windows)[0]
        tally = Tally.of(forecast, target)
        by_step, by_stretch = twin.tally(forecast, target, step)
        for sums, expected in ((tally.by_step, by_step), (tally.by_stretch[step], by_stretch)):
            absolute, squared, count = zip(*expected, strict=True)
            np.testing.assert_allclose(sums.absolute, [absolute])
            np.testing.assert_allclose(sums.squared, [squared])
            np.testing.assert_array_equal(sums.count, [count])

    def test_steps_by_stretch_can_be_chosen(self):
        pair = examples(1, 0.5)[0]
        some, every = Tally.of(*pair, steps=(2,)), Tally.of(*pair)
        assert list(some.by_stretch) == [2]
        assert list(every.by_stretch) == [1, 2, 3]
        np.testing.assert_array_equal(some.by_stretch[2].absolute, every.by_stretch[2].absolute)

    def test_joined_draws_keep_their_order(self):
        tallies = [Tally.of(*pair) for pair in examples(3, 0.5)]
        joined = Tally.join(tallies)
        assert joined.by_step.count.shape == (3, HORIZON)
        np.testing.assert_array_equal(joined.by_stretch[3].squared[2], tallies[2].by_stretch[3].squared[0])


class TestGap:
    @pytest.mark.parametrize("metric", ["mae", "rmse"])
    @pytest.mark.parametrize(("draws", "level", "seed"), [(6, 0.95, 0), (9, 0.8, 3)])
    def test_against_loops(self, metric, draws, level, seed):
        comparison, pairs = compare(draws, oracle=0.5, ours=0.7)
        found = comparison.gap("ours", metric, 2, level=level, resamples=60, seed=seed)
        loops = {name: [twin.tally(*pair, step=2)[1] for pair in own] for name, own in pairs.items()}
        means = {name: sum(twin.mean_error(cells, metric) for cells in own) / draws for name, own in loops.items()}
        lower, upper = twin.interval(loops["ours"], loops["oracle"], metric, level, 60, seed)
        assert found.gap == pytest.approx(100 * (means["ours"] / means["oracle"] - 1))
        assert (found.lower, found.upper) == pytest.approx((lower, upper), rel=1e-9)
        assert (found.level, found.draws) == (level, draws)

    def test_stretches_without_any_target(self):
        """Resamplings that give a draw no target at all are left out, as the loops do."""
        pairs = {name: examples(6, spread, windows=6, missing=0.8) for name, spread in (("oracle", 0.5), ("ours", 0.7))}
        tallies = {name: Tally.join([Tally.of(*pair) for pair in own]) for name, own in pairs.items()}
        assert (tallies["ours"].by_stretch[1].count == 0).any()
        comparison = Comparison(tallies, [np.array([0])] * 6, range(6))
        found = comparison.gap("ours", "mae", 1, resamples=80)
        loops = {name: [twin.tally(*pair, step=1)[1] for pair in own] for name, own in pairs.items()}
        expected = twin.interval(loops["ours"], loops["oracle"], "mae", 0.95, 80, 0)
        assert (found.lower, found.upper) == pytest.approx(expected, rel=1e-9)

    def test_the_interval_allows_for_windows(self):
        """One stretch in which two methods differ: all draws agree on the gap, periods do not."""
        even = Sums(np.full((20, 4), 1.0), np.full((20, 4), 1.0), np.full((20, 4), 1))
        uneven = Sums(np.tile([2.0, 1.0, 1.0, 1.0], (20, 1)), even.squared, even.count)
        tallies = {
            name: Tally(
                Sums(sums.absolute.sum(axis=1, keepdims=True), np.full((20, 1), 4.0), np.full((20, 1), 4)), {1: sums}
            )
            for name, sums in (("oracle", even), ("ours", uneven))
        }
        found = Comparison(tallies, [np.array([0])] * 20, range(4)).gap("ours")
        assert found.gap == pytest.approx(25.0)
        assert found.lower == pytest.approx(0.0)
        assert found.upper >= 50.0

    def test_the_interval_allows_for_draws(self):
        """Draws that differ in their gap, alike in all windows."""
        ones = np.ones((10, 5))
        ratios = np.linspace(1.0, 1.4, 10)[:, None]
        tallies = {
            name: Tally(
                Sums(5 * scale, 5 * scale, np.full((10, 1), 5)), {1: Sums(scale * ones, scale * ones, ones.astype(int))}
            )
            for name, scale in (("oracle", np.ones((10, 1))), ("ours", ratios))
        }
        found = Comparison(tallies, [np.array([0])] * 10, range(5)).gap("ours")
        assert found.gap == pytest.approx(20.0)
        assert 5 < found.lower < 17
        assert 23 < found.upper < 35

    def test_pairing_makes_a_constant_ratio_certain(self):
        comparison, _ = compare(oracle=0.5)
        oracle = comparison.tallies["oracle"]

        def scaled(sums):
            return Sums(1.1 * sums.absolute, 1.21 * sums.squared, sums.count)

        ours = Tally(scaled(oracle.by_step), {step: scaled(sums) for step, sums in oracle.by_stretch.items()})
        both = Comparison({"oracle": oracle, "ours": ours}, comparison.draws, comparison.starts)
        for metric in ("mae", "rmse"):
            found = both.gap("ours", metric)
            assert (found.lower, found.gap, found.upper) == pytest.approx((10.0, 10.0, 10.0))

    def test_is_of_the_mean_errors_not_the_mean_of_gaps(self, comparison):
        ours, best = (comparison.errors(name, "mae", 3) for name in ("ours", "oracle"))
        assert comparison.gap("ours").gap == pytest.approx(gap(ours.mean(), best.mean()))
        assert comparison.gap("ours").gap != pytest.approx(np.mean(100 * (ours / best - 1)), rel=1e-6)

    def test_holds_the_truth_about_as_often_as_it_says(self):
        """Forecasts with independent errors whose spreads have the ratio 1.1: the true gap is 10 %."""
        rng, held = np.random.default_rng(5), 0
        for trial in range(120):
            draws = rng.normal(size=(2, 8, 60, 1, 3))  # method, draw, b, h, s
            draws += rng.normal(size=(2, 1, 60, 1, 1))  # windows matter in every draw
            target = np.zeros((60, 1, 3))
            tallies = {
                name: Tally.join([Tally.of(scale * errors, target) for errors in own])
                for (name, scale), own in zip((("oracle", 1.0), ("ours", 1.1)), draws, strict=True)
            }
            found = Comparison(tallies, [np.array([0])] * 8, range(60)).gap(
                "ours", level=0.9, resamples=200, seed=trial
            )
            held += found.lower <= 10.0 <= found.upper
        assert 0.78 < held / 120 < 0.98

    def test_same_seed_same_interval(self, comparison):
        assert comparison.gap("ours") == comparison.gap("ours")
        assert comparison.gap("ours") != comparison.gap("ours", seed=1)

    def test_few_draws_have_no_interval(self):
        few, _ = compare(LEAST_DRAWS - 1, oracle=0.5, ours=0.8)
        found = few.gap("ours")
        assert found.gap > 0
        assert math.isnan(found.lower)
        assert math.isnan(found.upper)
        assert found.interval is None
        assert "to" not in str(found)
        enough, _ = compare(LEAST_DRAWS, oracle=0.5, ours=0.8)
        assert enough.gap("ours").interval is not None

    def test_prints_its_interval(self):
        assert str(Gap(-1.25, -2.0, 0.04, 0.95, 20)) == "-1.2 % (-2.0 to 0.0)"

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ({"method": "magic"}, "there is no method 'magic'; there are oracle, partial, ours"),
            ({"base": "magic"}, "there is no method 'magic'"),
            ({"metric": "mape"}, "metric must be mae or rmse, got 'mape'"),
            ({"step": 4}, "step must be between 1 and the horizon of 3, got 4"),
            ({"step": 0}, "step must be between 1 and the horizon of 3, got 0"),
            ({"level": 95}, "level must be between 0 and 1, such as 0.95, got 95"),
            ({"resamples": 0}, "resamples must be at least 1, got 0"),
        ],
    )
    def test_bad_input_raises_one_sentence(self, comparison, arguments, sentence):
        with pytest.raises(InputError) as raised:
            comparison.gap(**{"method": "ours", **arguments})
        assert sentence in str(raised.value)

    def test_a_draw_without_targets_is_named(self):
        target = np.zeros((20, 1, 1))
        tallies = [Tally.of(target + 1, target if draw != 3 else target * np.nan) for draw in range(6)]
        comparison = Comparison({"oracle": Tally.join(tallies)}, [np.array([0])] * 6, range(20))
        with pytest.raises(
            InputError, match="'oracle' has no error at step 1 under draw 3: none of its targets counts"
        ):
            comparison.gap("oracle")


class TestRecord:
    def read_back(self, record):
        return json.loads(json.dumps(record, allow_nan=False))

    def test_every_interval_is_computed_again_from_the_record(self, comparison):
        """Both the gap to the oracle and that of two other methods; 8 digits of the sums are kept."""
        again = Comparison.from_record(self.read_back(comparison.to_record()))
        for metric in ("mae", "rmse"):
            for base in ("oracle", "partial"):
                found, expected = again.gap("ours", metric, base=base), comparison.gap("ours", metric, base=base)
                assert (found.gap, found.lower, found.upper) == pytest.approx(
                    (expected.gap, expected.lower, expected.upper), abs=1e-4
                )

    def test_rounding_happens_once(self, comparison):
        """What is printed from the rounded sums is printed from the record on disk, to the bit."""
        rounded = Comparison.from_record(comparison.to_record(2))
        again = Comparison.from_record(self.read_back(rounded.to_record(2)))
        assert again.row("ours", 2) == rounded.row("ours", 2)
        assert again.to_record(2) == rounded.to_record(2)

    def test_it_holds_windows_draws_and_counts_once(self, comparison):
        record = comparison.to_record(3)
        assert record["windows"] == {"first": 5, "last": 5 + 2 * (WINDOWS - 1), "every": 2, "count": WINDOWS}
        assert record["stretches"] == 50
        assert record["draws"][1] == [1, 7]
        assert np.shape(record["count_by_stretch"]) == (8, 50)
        assert set(record["methods"]["ours"]) == {
            "absolute_by_step", "squared_by_step", "absolute_by_stretch", "squared_by_stretch",
        }  # fmt: skip
        value = record["methods"]["ours"]["absolute_by_stretch"][0][0]
        assert value == float(f"{comparison.tallies['ours'].by_stretch[3].absolute[0, 0]:.8g}")
        again = Comparison.from_record(self.read_back(record))
        assert again.starts == comparison.starts
        np.testing.assert_array_equal(again.draws[3], comparison.draws[3])

    def test_errors_of_all_steps_but_intervals_of_one(self, comparison):
        again = Comparison.from_record(comparison.to_record(2))
        np.testing.assert_allclose(again.mae["ours"], comparison.mae["ours"], rtol=1e-7)
        assert again.gap("ours", step=2).interval is not None
        with pytest.raises(InputError, match=r"step must be one that is tallied by stretch of windows \(2\), got 3"):
            again.gap("ours", step=3)

    def test_joined_draws_are_the_whole(self):
        whole, pairs = compare(6, oracle=0.5, ours=0.8)
        single = [
            Comparison({name: Tally.of(*own[draw]) for name, own in pairs.items()}, [whole.draws[draw]], whole.starts)
            for draw in range(6)
        ]
        joined = Comparison.join(single)
        assert joined.gap("ours") == whole.gap("ours")
        assert [draw.tolist() for draw in joined.draws] == [draw.tolist() for draw in whole.draws]

    def test_tallies_are_found_in_records(self, comparison):
        tallies = self.read_back(comparison.to_record())
        expected = comparison.gap("ours").gap
        places = [({"tallies": tallies}, None), ({"figures": {"tallies": tallies}}, None)]
        places += [({"figures": {"tallies": {"15%": tallies}}}, group) for group in (None, "15%")]
        for record, group in places:
            assert has_tallies(record)
            assert Comparison.from_record(record, group).gap("ours").gap == pytest.approx(expected)

    def test_a_record_without_tallies(self):
        assert not has_tallies({"figures": {"groups": {}}})
        with pytest.raises(DataError, match=r"the record has no tallies, .*: run its command again"):
            Comparison.from_record({"figures": {"groups": {}}})

    def test_a_record_with_several_groups_needs_one(self, comparison):
        tallies = comparison.to_record()
        record = {"figures": {"tallies": {"15%": tallies, "50%": tallies}}}
        with pytest.raises(InputError, match=r"group must be one of .* \(15%, 50%\), got None"):
            Comparison.from_record(record)
        assert Comparison.from_record(record, "50%").methods == comparison.methods
