"""The generated solar data: repeatable, physically sensible, and with information in neighboring plants."""

import dataclasses
import math

import numpy as np
import pytest

from subcast.datasets.clouds import _draw_waves, clear_sky, generate_clouds
from subcast.errors import InputError

DAY = 144

# of generate_clouds(4, 400 * DAY, seed=7)
STORED_STEPS = (72, 10 * DAY + 80, 200 * DAY + 60, 399 * DAY + 75)
STORED_SHARES = (
    (0.4948101, 0.1553195, 0.1034743, 0.1366384),
    (0.4606654, 0.4671064, 0.4710063, 0.4670986),
    (0.1074797, 0.4105498, 0.3213715, 0.3952768),
    (0.5842443, 0.5827502, 0.5738126, 0.5836758),
)
STORED_CAPACITY = (44.797894, 44.933522, 14.532765, 20.239421)
STORED_WIND = (49.651554, 14.413072)


@pytest.fixture(scope="module")
def field():
    return generate_clouds(40, 60 * DAY, seed=1, start="2007-05-01")


def clearness(field):
    """Output as a share of what a clear sky would give, NaN at night."""
    sun = clear_sky(field.times)[:, None]
    return np.divide(field.values / field.capacity, sun, out=np.full(field.values.shape, np.nan), where=sun > 0.1)


class TestDeterminism:
    def test_stored_values(self):
        field = generate_clouds(4, 400 * DAY, seed=7)
        shares = field.values[list(STORED_STEPS)] / field.capacity
        np.testing.assert_allclose(shares, STORED_SHARES, rtol=0, atol=1e-5)
        np.testing.assert_allclose(field.capacity, STORED_CAPACITY, rtol=1e-6)
        np.testing.assert_allclose(field.wind[399], STORED_WIND, rtol=1e-6)

    def test_longer_field_begins_with_the_shorter_one(self):
        # 250 steps end in the middle of a day
        short, long = generate_clouds(5, 250, seed=3), generate_clouds(5, 5 * DAY, seed=3)
        np.testing.assert_array_equal(short.values, long.values[:250])
        np.testing.assert_array_equal(short.times, long.times[:250])
        np.testing.assert_array_equal(short.wind, long.wind[:2])

    def test_wider_field_begins_with_the_narrower_one(self):
        few, many = generate_clouds(3, 2 * DAY, seed=3), generate_clouds(9, 2 * DAY, seed=3)
        np.testing.assert_allclose(few.values, many.values[:, :3], rtol=1e-6)
        np.testing.assert_array_equal(few.graph, many.graph[:3, :3])
        assert few.names == many.names[:3]

    def test_coarser_steps_sample_the_same_weather(self):
        fine = generate_clouds(3, 3 * DAY, step_minutes=10, noise=0.0)
        coarse = generate_clouds(3, 3 * 24, step_minutes=60, noise=0.0)
        np.testing.assert_allclose(fine.values[::6], coarse.values, rtol=1e-6)

    def test_seeds_differ(self):
        first, second = generate_clouds(3, DAY, seed=0), generate_clouds(3, DAY, seed=1)
        assert not np.allclose(first.positions, second.positions)
        assert not np.allclose(first.values, second.values)


class TestPhysics:
    def test_zero_at_night_and_only_then(self, field):
        night = clear_sky(field.times) == 0
        assert night.any()
        assert (field.values[night] == 0).all()
        assert (field.values[~night] > 0).all()

    def test_never_above_capacity(self, field):
        assert (field.values <= field.capacity).all()
        assert field.values.dtype == np.float32

    def test_days_are_longer_and_brighter_in_summer(self):
        year = np.arange(365 * DAY) * np.timedelta64(600, "s") + np.datetime64("2007-01-01T00:00:00")
        sun = clear_sky(year).reshape(365, DAY)
        assert abs(int(sun.sum(axis=1).argmax()) - 171) <= 3
        assert (sun[171] > 0).sum() > (sun[354] > 0).sum() + 20
        # and the other way round in the south
        assert clear_sky(year, latitude=-33.0).reshape(365, DAY).sum(axis=1)[171] < sun[354].sum() * 1.1

    def test_clear_sky_agrees_with_a_loop(self):
        times = np.datetime64("2007-03-09T00:30:00") + np.arange(24) * np.timedelta64(3600, "s")
        np.testing.assert_allclose(clear_sky(times), [_sun(68, 0.5 + hour, 33.0) for hour in range(24)], atol=1e-12)

    def test_polar_winter_is_dark(self):
        assert (generate_clouds(2, DAY, latitude=80.0).values == 0).all()

    def test_there_are_clear_broken_and_overcast_days(self):
        field = generate_clouds(20, 200 * DAY, seed=2)
        by_day = np.nanmean(clearness(field).reshape(200, DAY, 20), axis=(1, 2))
        assert (by_day > 0.9).mean() > 0.15
        assert (by_day < 0.4).mean() > 0.03
        assert ((by_day > 0.4) & (by_day < 0.9)).mean() > 0.3

    def test_clear_days_are_smooth_and_broken_days_are_not(self):
        field = generate_clouds(20, 100 * DAY, seed=2)
        rough = np.nanmean(np.abs(np.diff(clearness(field).reshape(100, DAY, 20), axis=1)), axis=(1, 2))
        clear, broken = field.cloudiness < -2.0, np.abs(field.cloudiness) < 0.5
        assert rough[clear].max() < 0.025  # the noise of 1 % and little else
        assert np.median(rough[broken]) > 3 * np.median(rough[clear])

    def test_wind_is_correlated_with_the_day_before(self):
        wind = generate_clouds(1, 1000 * 2, step_minutes=720).wind
        east = wind[:, 0] - wind[:, 0].mean()
        assert 0.55 < (east[1:] * east[:-1]).mean() / east.var() < 0.85

    def test_graph_is_of_distance(self, field):
        weight = math.exp(-((math.dist(field.positions[0], field.positions[1]) / 60.0) ** 2))
        assert field.graph[0, 1] == pytest.approx(weight if weight >= 0.1 else 0.0, rel=1e-5)
        np.testing.assert_array_equal(np.diag(field.graph), 1.0)
        np.testing.assert_array_equal(field.graph, field.graph.T)
        assert 0.05 < (field.graph > 0).mean() < 0.5
        assert ((field.graph == 0) | (field.graph >= 0.1)).all()


class TestTwin:
    """The matrix products against one sum of cosines for each plant and step."""

    @pytest.mark.parametrize(("seed", "day"), [(0, 0), (5, 11)])
    def test_values_agree_with_loops(self, seed, day):
        field = generate_clouds(3, (day + 1) * DAY, seed=seed, noise=0.0)
        waves = _draw_waves(seed, day)
        for step in range(0, DAY, 7):
            for plant in range(3):
                hour = step / 6.0
                expected = field.capacity[plant] * _sun(day + 1, hour, 33.0)
                expected *= _sky(waves, hour, field.positions[plant], field.wind[day], field.cloudiness[day])
                assert field.values[day * DAY + step, plant] == pytest.approx(expected, rel=1e-5, abs=1e-12)

    def test_noise_has_the_given_standard_deviation(self):
        noisy, plain = (generate_clouds(10, 20 * DAY, noise=noise) for noise in (0.03, 0.0))
        sun = clear_sky(noisy.times)
        off = (noisy.values - plain.values)[sun > 0.3] / plain.values[sun > 0.3]
        assert off.std() == pytest.approx(0.03, rel=0.05)
        assert abs(off.mean()) < 0.001


class TestNeighbors:
    def test_clouds_reach_the_plant_downwind_after_distance_over_speed(self, field):
        late = [
            measured - expected
            for day in range(60)
            if abs(field.cloudiness[day]) < 0.8
            for measured, expected in _lags(field, day)
        ]
        assert len(late) > 50
        assert abs(np.median(late)) <= 1.0  # steps of 10 minutes
        assert np.mean(np.abs(late) <= 2) > 0.6

    def test_upwind_plants_predict_better_than_downwind_plants(self, field):
        ahead, behind = zip(*(_upwind_and_downwind(field, day) for day in range(60)), strict=True)
        assert np.nanmean(ahead) > np.nanmean(behind) + 0.2

    @pytest.mark.parametrize(("step", "at_most"), [(6, 0.75), (12, 0.85)])
    def test_all_plants_together_forecast_better_than_each_alone(self, field, step, at_most):
        alone, together = _ridge_errors(field, step)
        assert together < at_most * alone


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ({"n_plants": 0}, "n_plants must be a whole number of at least 1, got 0"),
            ({"n_steps": 2.5}, "n_steps must be a whole number of at least 1, got 2.5"),
            ({"n_steps": True}, "n_steps must be a whole number of at least 1, got True"),
            ({"step_minutes": 7}, "step_minutes must divide the 1440 minutes of a day, got 7"),
            ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
            ({"seed": None}, "seed must be a whole number of at least 0, got None"),
            ({"start": "soon"}, "start must be a day such as '2007-01-01', got 'soon'"),
            ({"start": "2007-01-01T06:00"}, "start must be a day"),
            ({"start": "NaT"}, "start must be a day"),
            ({"latitude": 91.0}, "latitude must be between -90 and 90 degrees, got 91.0"),
            ({"latitude": math.nan}, "latitude must be between"),
            ({"region_km": 0.0}, "region_km must be a length above 0, got 0.0"),
            ({"region_km": math.inf}, "region_km must be a length above 0, got inf"),
            ({"noise": -0.1}, "noise must be between 0 and 0.1 of the output, got -0.1"),
        ],
    )
    def test_bad_arguments_are_rejected(self, arguments, sentence):
        with pytest.raises(InputError) as raised:
            generate_clouds(**{"n_plants": 2, "n_steps": 10, **arguments})
        assert sentence in str(raised.value)

    def test_result_is_immutable(self, field):
        with pytest.raises(dataclasses.FrozenInstanceError):
            field.values = None

    def test_one_plant_one_step(self):
        field = generate_clouds(1, 1)
        assert field.values.shape == (1, 1)
        assert field.names == ("plant-000",)
        assert field.graph.tolist() == [[1.0]]

    def test_times_and_names(self):
        field = generate_clouds(2, 3, start="2020-02-29", step_minutes=30)
        assert [str(time) for time in field.times] == [f"2020-02-29T0{t}:00" for t in ("0:00", "0:30", "1:00")]
        assert field.names == ("plant-000", "plant-001")


def _sun(day_of_year, hour, latitude):
    declination = math.radians(23.44) * math.sin(2 * math.pi * (284 + day_of_year) / 365.25)
    phi, angle = math.radians(latitude), math.radians(15 * (hour - 12))
    sine = math.sin(phi) * math.sin(declination)
    sine += math.cos(phi) * math.cos(declination) * math.cos(angle)
    if sine <= 1e-3:
        return 0.0
    share = sine * math.exp(-0.057 / sine)
    return share if share > 1e-3 else 0.0


def _sky(waves, hour, position, wind, cloudiness):
    u = 0.0
    for east, north, drift, phase, amplitude in zip(
        waves.east, waves.north, waves.drift, waves.phase, waves.amplitude, strict=True
    ):
        x, y = position[0] - wind[0] * hour, position[1] - wind[1] * hour
        u += amplitude * math.cos(east * x + north * y + drift * hour + phase)
    return 0.12 + 0.88 * math.exp(-1.2 * math.log(1 + math.exp(3 * (u + cloudiness))) / 3)


def _lags(field, day):
    """Yield (lag of the highest correlation, distance / speed), in steps, for pairs of plants along the wind."""
    sky = clearness(field)[day * DAY : (day + 1) * DAY]
    sky = sky[~np.isnan(sky[:, 0])]
    speed = np.hypot(*field.wind[day])
    for upwind in range(len(field.capacity)):
        for downwind in range(len(field.capacity)):
            apart = field.positions[downwind] - field.positions[upwind]
            along = apart @ field.wind[day] / speed
            expected = 6 * along / speed
            if 2 <= expected <= 9 and np.hypot(*apart) - along < 0.02 * along:
                match = [_match(sky[:, upwind], sky[:, downwind], lag) for lag in range(-12, 19)]
                yield int(np.argmax(match)) - 12, expected


def _match(first, second, lag):
    """Correlate `second` with `first` `lag` steps earlier."""
    length = len(first) - abs(lag)
    return np.corrcoef(first[max(0, -lag) :][:length], second[max(0, lag) :][:length])[0, 1]


def _upwind_and_downwind(field, day):
    """Return the mean correlation, an hour ahead, with the plant about an hour upwind and an hour downwind."""
    sky = clearness(field)[day * DAY : (day + 1) * DAY]
    sky = sky[~np.isnan(sky[:, 0])]
    found = {1: [], -1: []}
    for sign in found:
        for plant in range(len(field.capacity)):
            wanted = field.positions[plant] - sign * field.wind[day]
            away = np.hypot(*(field.positions - wanted).T)
            if away.min() < 12:
                found[sign].append(_match(sky[:, away.argmin()], sky[:, plant], 6))
    return tuple(np.mean(found[sign]) if found[sign] else np.nan for sign in (1, -1))


def _ridge_errors(field, step):
    """Return test MAE by daylight, in shares of capacity, of ridge regressions on own and on all plants' pasts.

    Both know the clear-sky curve now and at the time forecast.
    """
    share, sun = field.values / field.capacity, clear_sky(field.times)
    now = np.arange(11, len(share) - step)
    now = now[sun[now + step] > 0.1]
    train, test = now[now < 42 * DAY - step], now[now >= 42 * DAY + 12]
    known = np.stack([sun[:-step], sun[step:]], axis=1)
    own, every = [], []
    pasts = [np.roll(share, back, axis=0)[:-step] for back in range(4)]
    together = np.concatenate([*pasts, known], axis=1)
    for plant in range(0, share.shape[1], 4):
        past = np.stack([np.roll(share[:, plant], back)[:-step] for back in range(12)], axis=1)
        alone = np.concatenate([past, known], axis=1)
        target = share[:, plant]
        own.append(min(_ridge(alone, target, step, train, test, weight) for weight in (1e-4, 1e-2)))
        every.append(_ridge(together, target, step, train, test, 3e-2))
    return np.mean(own), np.mean(every)


def _ridge(features, target, step, train, test, weight):
    middle, spread = features[train].mean(axis=0), features[train].std(axis=0)
    scaled = (features - middle) / spread
    base = target[train + step].mean()
    square = scaled[train].T @ scaled[train] / len(train) + weight * np.eye(scaled.shape[1])
    slope = np.linalg.solve(square, scaled[train].T @ (target[train + step] - base) / len(train))
    return np.abs(scaled[test] @ slope + base - target[test + step]).mean()
