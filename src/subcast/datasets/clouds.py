"""Generated data: solar plants under drifting clouds, without a download.

The output of a plant is its capacity x clear sky x transmission of the clouds. The cloud field of a day is a sum of
plane waves that move with the wind, each at a slightly different speed. A cloud over one plant therefore reaches the
plants downwind later and changed, so neighboring plants carry information that a plant's own past does not have.

Plants, days and steps do not depend on the size of the data: a larger field begins with the smaller one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_whole
from subcast.errors import InputError

MINUTES_A_DAY = 1440

# Capacities, in MW: lognormal, limited to the range of large plants.
MEDIAN_CAPACITY, CAPACITY_SPREAD, CAPACITY_RANGE = 20.0, 0.7, (3.0, 90.0)

# The weather of a day, correlated with the day before: the wind (km/h, mostly from the west) and the cloudiness, in
# standard deviations of the cloud field (-2 is a clear day, 0 broken clouds, +2 overcast).
MEAN_WIND, WIND_SPREAD, WIND_MEMORY = (45.0, 10.0), 8.0, 0.7
MEAN_CLOUDINESS, CLOUDINESS_SPREAD, CLOUDINESS_MEMORY = -0.4, 1.3, 0.5

# The cloud field: waves from fair-weather clouds to fronts; long waves are stronger and live longer.
N_WAVES = 256
WAVELENGTHS = (40.0, 600.0)  # km
STRENGTH_EXPONENT = 0.5  # amplitude grows as wavelength to this power
LIFETIME_HOURS, LIFETIME_WAVELENGTH, LIFETIME_EXPONENT = 5.0, 150.0, 0.7

# From the cloud field to its transmission: optical thickness, then light.
SHARPNESS, THICKNESS, DARKEST = 3.0, 1.2, 0.12

GRAPH_LENGTH, GRAPH_THRESHOLD = 60.0, 0.1  # km, and the weight below which there is no edge
FIRST_LIGHT = 1e-3  # below this share of its capacity under a clear sky, a plant has no output


@dataclass(frozen=True)
class CloudField:
    """Output of solar plants, and the weather behind it.

    Attributes
    ----------
    values
        output in MW, float32 [t, n]; exactly 0 at night, above 0 by day
    times
        datetime64[s] [t], in local solar time
    names
        'plant-000', 'plant-001', ...
    positions
        km east and north of the region's south-west corner [n, 2]
    capacity
        MW [n]
    graph
        exp(-(distance / 60 km)^2), 0 where that is below 0.1, float32 [n, n]; the diagonal is 1
    wind
        km/h towards east and north, one row per day [days, 2]
    cloudiness
        one number per day [days]: about -2 is clear, 0 broken clouds, +2 overcast
    """

    values: NDArray[np.float32]
    times: NDArray[np.datetime64]
    names: tuple[str, ...]
    positions: NDArray[np.float64]
    capacity: NDArray[np.float64]
    graph: NDArray[np.float32]
    wind: NDArray[np.float64]
    cloudiness: NDArray[np.float64]


def generate_clouds(
    n_plants: int = 137,
    n_steps: int = 52560,
    *,
    seed: int = 0,
    step_minutes: int = 10,
    start: str = "2007-01-01",
    latitude: float = 33.0,
    region_km: float = 250.0,
    noise: float = 0.01,
) -> CloudField:
    """Generate the output of solar plants at random positions under clouds that drift with the wind.

    Parameters
    ----------
    n_plants, n_steps
        number of plants and time steps; a larger field begins with the smaller one
    seed
        random seed, 0 or above; the same seed gives the same values on any machine, to about 1e-6 of the capacity
    step_minutes
        minutes between steps, a divisor of 1440
    start
        the first day; it decides on the season
    latitude
        degrees north, between -90 and 90
    region_km
        side length of the square in which the plants lie
    noise
        standard deviation of the noise of each reading, as a share of the output

    Returns
    -------
    CloudField
        values [t, n] with times, names, positions, capacity, graph, wind and cloudiness

    Notes
    -----
    Clear sky is sin(e) exp(-0.057 / sin(e)) at solar elevation e (Haurwitz, 1945). The cloud field at position x and
    hour t of a day is u = sum_j a_j cos(k_j . (x - wind t) + o_j t + p_j) with unit variance; the o_j, of deviation
    1 / lifetime, make it change as it drifts. The transmission is 0.12 + 0.88 exp(-z), where the optical
    thickness z is 1.2 softplus(3 (u + cloudiness)) / 3.

    Examples
    --------
    >>> field = generate_clouds(n_plants=5, n_steps=288)
    >>> field.values.shape, field.names[0], str(field.times[-1])
    ((288, 5), 'plant-000', '2007-01-02T23:50:00')
    >>> float(field.values[0].max())  # midnight
    0.0
    """
    first_day = _first_day(start)
    _check_sizes(n_plants, n_steps, seed, step_minutes)
    _check_physics(latitude, region_km, noise)
    positions, capacity = _draw_plants(n_plants, seed, region_km)  # [n, 2], [n]
    steps_a_day = MINUTES_A_DAY // step_minutes
    wind, cloudiness = _draw_weather(-(-n_steps // steps_a_day), seed)  # [days, 2], [days]
    hours = np.arange(steps_a_day) * step_minutes / 60.0

    values = np.zeros((n_steps, n_plants), dtype=np.float32)
    for day in range(len(wind)):
        sun = _clear_sky(_day_of_year(first_day + day), hours, latitude)  # [t] of one day
        light = np.flatnonzero(sun > 0)
        sky = _transmission(_draw_waves(seed, day), hours[light], positions, wind[day], cloudiness[day])
        noise_factor = 1.0 + noise * _draw_noise(seed, day, n_plants, steps_a_day)[light]
        output = np.clip(sun[light, None] * sky * noise_factor, 0.0, 1.0) * capacity  # [t, n]
        step = day * steps_a_day + light
        values[step[step < n_steps]] = output[step < n_steps]
    return CloudField(
        values=values,
        times=_times(first_day, n_steps, step_minutes),
        names=tuple(f"plant-{plant:03d}" for plant in range(n_plants)),
        positions=positions,
        capacity=capacity,
        graph=_distance_graph(positions),
        wind=wind,
        cloudiness=cloudiness,
    )


def clear_sky(times: NDArray[np.datetime64], latitude: float = 33.0) -> NDArray[np.float64]:
    """Return the output of a plant under a clear sky as a share of its capacity, 0 at night.

    Parameters
    ----------
    times
        datetime64 [t], in local solar time
    latitude
        degrees north

    Examples
    --------
    >>> noon = np.array(["2007-06-21T12:00", "2007-12-21T12:00", "2007-12-21T00:00"], dtype="datetime64[s]")
    >>> clear_sky(noon).round(3)
    array([0.931, 0.499, 0.   ])
    """
    moments = np.asarray(times).astype("datetime64[s]")
    midnight = moments.astype("datetime64[D]")
    hours = (moments - midnight).astype(np.float64) / 3600.0
    return _clear_sky(_day_of_year(midnight), hours, latitude)


def _clear_sky(
    day_of_year: NDArray[np.float64] | float, hours: NDArray[np.float64], latitude: float
) -> NDArray[np.float64]:
    declination = math.radians(23.44) * np.sin(2 * math.pi * (284 + np.asarray(day_of_year)) / 365.25)
    hour_angle = 2 * math.pi * (hours / 24.0 - 0.5)
    phi = math.radians(latitude)
    sine = math.sin(phi) * np.sin(declination) + math.cos(phi) * np.cos(declination) * np.cos(hour_angle)
    sine = np.maximum(sine, 1e-3)
    share = sine * np.exp(-0.057 / sine)
    return np.asarray(np.where(share > FIRST_LIGHT, share, 0.0))


@dataclass(frozen=True)
class _Waves:
    """The plane waves of one day's cloud field; each array has one entry per wave."""

    east: NDArray[np.float64]  # radians per km
    north: NDArray[np.float64]
    drift: NDArray[np.float64]  # radians per hour, in addition to the wind
    phase: NDArray[np.float64]
    amplitude: NDArray[np.float64]


def _draw_waves(seed: int, day: int) -> _Waves:
    stratum, direction, radius, angle, phase = _uniforms(seed, "waves", day, (5, N_WAVES))
    shortest, longest = WAVELENGTHS
    wavelength = shortest * (longest / shortest) ** ((np.arange(N_WAVES) + stratum) / N_WAVES)
    wavenumber = 2 * math.pi / wavelength
    lifetime = LIFETIME_HOURS * (wavelength / LIFETIME_WAVELENGTH) ** LIFETIME_EXPONENT
    strength = wavelength**STRENGTH_EXPONENT
    return _Waves(
        east=wavenumber * np.cos(2 * math.pi * direction),
        north=wavenumber * np.sin(2 * math.pi * direction),
        drift=_normal(radius, angle) / lifetime,
        phase=2 * math.pi * phase,
        amplitude=strength * math.sqrt(2.0 / float(np.sum(strength**2))),
    )


def _transmission(
    waves: _Waves,
    hours: NDArray[np.float64],
    positions: NDArray[np.float64],
    wind: NDArray[np.float64],
    cloudiness: float,
) -> NDArray[np.float64]:
    """Return the share of light that passes the clouds of a day, [t, n]."""
    frequency = waves.drift - waves.east * wind[0] - waves.north * wind[1]
    in_time = hours[:, None] * frequency + waves.phase  # [t, waves]
    in_space = positions[:, :1] * waves.east + positions[:, 1:] * waves.north  # [n, waves]
    # cos(a + b) = cos a cos b - sin a sin b, so the sum over waves is two matrix products
    field = (np.cos(in_time) * waves.amplitude) @ np.cos(in_space).T
    field -= (np.sin(in_time) * waves.amplitude) @ np.sin(in_space).T  # [t, n]
    thickness = THICKNESS * np.logaddexp(0.0, SHARPNESS * (field + cloudiness)) / SHARPNESS
    return np.asarray(DARKEST + (1.0 - DARKEST) * np.exp(-thickness))


def _draw_plants(n_plants: int, seed: int, region_km: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    east, north, radius, angle = _uniforms(seed, "plants", 0, (n_plants, 4)).T
    capacity = MEDIAN_CAPACITY * np.exp(CAPACITY_SPREAD * _normal(radius, angle))
    return region_km * np.stack([east, north], axis=1), np.clip(capacity, *CAPACITY_RANGE)


def _draw_weather(n_days: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    drawn = _uniforms(seed, "weather", 0, (n_days, 3, 2))
    shocks = _normal(drawn[..., 0], drawn[..., 1])  # [days, 3]: wind east, wind north, cloudiness
    memory = np.array([WIND_MEMORY, WIND_MEMORY, CLOUDINESS_MEMORY])
    state = np.empty_like(shocks)
    state[0] = shocks[0]
    for day in range(1, n_days):
        state[day] = memory * state[day - 1] + np.sqrt(1 - memory**2) * shocks[day]
    wind = np.asarray(MEAN_WIND) + WIND_SPREAD * state[:, :2]
    return wind, MEAN_CLOUDINESS + CLOUDINESS_SPREAD * state[:, 2]


def _draw_noise(seed: int, day: int, n_plants: int, steps_a_day: int) -> NDArray[np.float64]:
    drawn = _uniforms(
        seed, "noise", day, (n_plants, steps_a_day, 2)
    )  # plants first, so that more plants do not change the first ones
    return _normal(drawn[..., 0], drawn[..., 1]).T  # [t, n]


_STREAMS = {"plants": 0, "weather": 1, "waves": 2, "noise": 3}


def _uniforms(seed: int, stream: str, day: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return uniform random numbers made from raw bits, a stream that NumPy promises not to change."""
    bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(_STREAMS[stream], day)))
    raw = bits.random_raw(math.prod(shape))
    return ((raw >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)


def _normal(radius: NDArray[np.float64], angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Transform two uniform numbers in [0, 1) into a normal one (Box and Muller)."""
    return np.asarray(np.sqrt(-2.0 * np.log1p(-radius)) * np.cos(2 * math.pi * angle))


def _distance_graph(positions: NDArray[np.float64]) -> NDArray[np.float32]:
    difference = positions[:, None, :] - positions[None, :, :]  # [n, n, 2]
    weight = np.exp(-np.sum(difference**2, axis=-1) / GRAPH_LENGTH**2)
    return np.where(weight >= GRAPH_THRESHOLD, weight, 0.0).astype(np.float32)


def _times(first_day: NDArray[np.datetime64], n_steps: int, step_minutes: int) -> NDArray[np.datetime64]:
    seconds = np.arange(n_steps, dtype=np.int64) * (60 * step_minutes)
    return np.asarray(first_day.astype("datetime64[s]") + seconds.astype("timedelta64[s]"))


def _day_of_year(days: NDArray[np.datetime64]) -> NDArray[np.float64]:
    return np.asarray((days - days.astype("datetime64[Y]")).astype("timedelta64[D]").astype(np.float64) + 1.0)


def _first_day(start: str) -> NDArray[np.datetime64]:
    try:
        moment = np.datetime64(start)
    except (ValueError, TypeError):
        moment = np.datetime64("NaT")
    day = moment.astype("datetime64[D]")
    if np.isnat(moment) or day.astype("datetime64[s]") != moment.astype("datetime64[s]"):
        raise InputError(f"start must be a day such as '2007-01-01', got {start!r}")
    return np.asarray(day)


def _check_sizes(n_plants: int, n_steps: int, seed: int, step_minutes: int) -> None:
    for argument, given in (("n_plants", n_plants), ("n_steps", n_steps), ("step_minutes", step_minutes)):
        check_whole(argument, given)
    if MINUTES_A_DAY % step_minutes:
        raise InputError(f"step_minutes must divide the 1440 minutes of a day, got {step_minutes}: use 5, 10, 15 or 60")
    check_whole("seed", seed, low=0)


def _check_physics(latitude: float, region_km: float, noise: float) -> None:
    if not -90 <= latitude <= 90:
        raise InputError(f"latitude must be between -90 and 90 degrees, got {latitude}")
    if not (region_km > 0 and math.isfinite(region_km)):
        raise InputError(f"region_km must be a length above 0, got {region_km}")
    if not 0 <= noise <= 0.1:
        raise InputError(f"noise must be between 0 and 0.1 of the output, got {noise}")
