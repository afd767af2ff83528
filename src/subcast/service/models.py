"""The bodies of requests and answers: what the service takes and what it returns, as OpenAPI describes them.

Times are ISO 8601 text. Answers write them in the zone of the training, or without a zone if it had none; moments of
the service itself (`made_at`, `received_at`) are in UTC and end in Z.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

SensorName = Annotated[str, Field(min_length=1, max_length=200, description="Name of a sensor, as in the training")]
TimeText = Annotated[
    str,
    Field(min_length=4, max_length=64, description="ISO 8601, such as 2026-11-18T12:05:00Z; without an offset: "
          "the clock of the training", examples=["2026-11-18T12:05:00Z"]),
]  # fmt: skip
Level = Annotated[FiniteFloat, Field(gt=0, le=0.99, description="Level of an interval, such as 0.9")]
Reason = Annotated[str, Field(max_length=500, description="Why, for the people who read it later")]

Quality = Literal["full", "good", "fair", "poor"]
Flag = Literal[1, 2, 3, 4, 9]
"""QARTOD: 1 good, 2 not evaluated, 3 suspect, 4 bad, 9 missing."""

Health = Literal["good", "suspect", "bad", "missing", "maintenance", "unknown"]
"""A light for each: "bad" sensors send readings that are not believed, "missing" ones send nothing."""


class Strict(BaseModel):
    """A body that a user sends: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(BaseModel):
    """A body that the service sends."""


# Errors


class Problem(Answer):
    """An error (RFC 9457, application/problem+json)."""

    type: str = Field(description="Stable name of the kind of error, such as /problems/unknown-sensor")
    title: str
    status: int
    detail: str = Field(description="One sentence: what was wrong and what to do")


# Readings


class Reading(Strict):
    """One reading of one sensor."""

    sensor: SensorName
    time: TimeText
    value: FiniteFloat
    unit: str | None = Field(default=None, max_length=100, description="If given, it must be the unit of the training")


class Readings(Strict):
    """Readings of any sensors at any times, in any order."""

    readings: list[Reading] = Field(min_length=1)
    unit: str | None = Field(default=None, max_length=100, description="If given, it must be the unit of the training")


class ReadingsAnswer(Answer):
    """What happened to the readings of a request; what is counted in `stored` is on disk."""

    receipt: int = Field(description="Number of the request; it grows with every request that stored something")
    received: int
    stored: int = Field(description="New readings, and those that replaced another value")
    unchanged: int = Field(description="Readings that were stored before with the same value")
    superseded: int = Field(description="Readings that replaced another value, which is kept")
    late: int = Field(description="Stored readings of steps that were forecast already")
    too_late: int = Field(description="Readings older than the horizon for late readings: not stored")
    moved: int = Field(description="Readings whose time was moved to the nearest step")
    first: str | None = Field(description="First step of the request")
    last: str | None = Field(description="Last step of the request")
    affects: list[str] = Field(
        description="Steps whose stored forecast the late readings may change; see /v1/revisions"
    )
    warnings: list[str]
    replayed: bool = Field(default=False, description="The answer to an earlier request with the same key")


class StoredReading(Answer):
    """A reading as it is stored."""

    sensor: str
    time: str
    value: float
    flag: Flag | None = Field(description="QARTOD flag of the screening; null until the step is processed")
    received_at: str | None


class SupersededReading(Answer):
    """A value that a later request replaced."""

    sensor: str
    time: str
    value: float
    received_at: str | None
    superseded_at: str | None


class ReadingsPage(Answer):
    """One page of readings."""

    readings: list[StoredReading]
    next: str | None = Field(description="Give it as `cursor` for the next page; null on the last page")


class SupersededPage(Answer):
    """One page of values that were replaced."""

    readings: list[SupersededReading]
    next: str | None


# Sensors


class SensorState(Answer):
    """What the service knows about a sensor."""

    sensor: str
    health: Health
    state: str = Field(
        description="good, suspect, asleep, dead, stuck, biased, drifting, noisy, maintenance or unknown"
    )
    since: str | None = Field(description="Step since which the state is what it is")
    flag: Flag = Field(description="QARTOD flag of the last step: 1 good, 2 not evaluated, 3 suspect, 4 bad, 9 missing")
    reasons: list[str]
    last_time: str | None = Field(description="Step of the last reading")
    last_value: float | None
    waited_for: bool = Field(description="Whether a step waits for this sensor before its forecast is made")
    override: Flag | None = Field(description="Flag set by hand; null without")
    maintenance: bool
    device: str | None = Field(default=None, description="Name of the device that took its place; null without")
    mae: float | None = Field(description="Running error of its forecasts, over the window of /v1/truth")
    unit: str


class SensorList(Answer):
    """All sensors, in the order of the training."""

    step: str | None = Field(description="Last step that was processed")
    sensors: list[SensorState]
    counts: dict[str, int] = Field(description="Number of sensors of each health")
    screening: str = Field(description="How readings are screened, in a sentence")
    next: str | None = None


class OverrideRequest(Strict):
    """Set the flag of a sensor by hand until it is taken back."""

    sensor: SensorName
    flag: Literal[1, 4] = Field(description="1: use its readings whatever the screening says; 4: leave them out")
    until: TimeText | None = None
    reason: Reason = ""


class Override(Answer):
    """A flag that was set by hand."""

    sensor: str
    flag: Flag
    until: str | None
    reason: str
    set_at: str


class OverrideList(Answer):
    """All flags set by hand that are in force."""

    overrides: list[Override]


class MaintenanceRequest(Strict):
    """Plan maintenance: the readings of the sensor are left out, nothing waits for it and nobody is alerted."""

    sensor: SensorName
    start: TimeText
    end: TimeText
    reason: Reason = ""


class Maintenance(Answer):
    """Planned maintenance of a sensor."""

    id: int
    sensor: str
    start: str
    end: str
    reason: str


class MaintenanceList(Answer):
    """Maintenance that has not ended."""

    maintenance: list[Maintenance]


class ReplacementRequest(Strict):
    """Say that another device has taken the place of a sensor."""

    sensor: SensorName
    name: SensorName = Field(description="Name under which the new device sends; the same if it keeps the name")
    at: TimeText | None = Field(default=None, description="First time of the new device; the next step by default")
    reason: Reason = ""


class Replacement(Answer):
    """A device that took the place of a sensor: what was sent before `at` is not used any more."""

    id: int
    sensor: str
    name: str
    at: str
    reason: str
    set_at: str


class ReplacementList(Answer):
    """All sensors that were replaced, the newest first."""

    replacements: list[Replacement]


# Forecasts


class Interval(Answer):
    """A prediction interval of one sensor."""

    level: float
    lower: list[float]
    upper: list[float]


class SensorForecast(Answer):
    """The forecast of one sensor."""

    sensor: str
    present: bool = Field(description="Whether a reading of it was used; otherwise this is a virtual sensor")
    observed: float = Field(description="Share of its readings in the window that were used")
    flag: Flag = Field(description="QARTOD flag of its reading at the last step")
    mean: list[float]
    intervals: list[Interval]
    history: list[float | None] | None = Field(default=None, description="Readings of the window; null for a hole")


class Neighbor(Answer):
    """A past window that the forecast leaned on."""

    end: str | None = Field(description="Time of its last step")
    weight: float
    distance: float
    past: list[float | None] | None = None
    future: list[float | None] | None = None


class NeighborList(Answer):
    """The past windows that a forecast of a sensor leaned on, the heaviest first."""

    step: str
    sensor: str
    neighbors: list[Neighbor]


class Fingerprints(Answer):
    """What made a forecast."""

    version: str = Field(description="The whole wrapper")
    model: str
    bank: str
    settings: str


class Replay(Answer):
    """How a past forecast was computed again from what was known then."""

    possible: bool
    identical: bool | None = Field(description="Whether every number is the stored one to the bit")
    sentence: str


class Revision(Answer):
    """How late readings would change a stored forecast."""

    step: str
    noticed_at: str
    sensors: list[str] = Field(description="Sensors with late readings in the window of the forecast")
    largest_change: float = Field(description="Largest change of a mean, in the unit of the sensor")
    largest_sensor: str
    mean_change: float = Field(description="Mean absolute change over all sensors and steps")
    relative_change: float | None = Field(description="Mean change in units of the half width of the interval")


class RevisionPage(Answer):
    """Revisions, the newest first."""

    revisions: list[Revision]
    next: str | None


class ForecastAnswer(Answer):
    """A forecast of all sensors, or of those asked for."""

    step: str = Field(description="Last step of the window that was used")
    made_at: str
    age_seconds: float = Field(description="Time since the step; a forecast of the next step should exist by now if "
                               "it is stale")  # fmt: skip
    stale: bool
    reason: Literal["complete", "deadline", "nothing arrived", "stateless", "what-if"]
    quality: Quality
    expected_gap: float | None = Field(description="Percent by which the error exceeds that with all sensors")
    observed_share: float
    present: list[str] = Field(description="Sensors whose readings were used")
    silent: list[str] = Field(description="Sensors without a usable reading at the last step")
    times: list[str]
    levels: list[float]
    forecasts: list[SensorForecast]
    unit: str
    zone: str | None
    freq: str | None
    notes: list[str]
    neighbors: list[Neighbor]
    fingerprints: Fingerprints
    interval_factor: float = Field(description="Factor on the width of the intervals, learned from past coverage")
    revisions: list[Revision]
    replay: Replay | None = None


class ForecastSummary(Answer):
    """A stored forecast without its numbers."""

    step: str
    made_at: str
    reason: str
    quality: Quality
    expected_gap: float | None
    observed_share: float
    present: int
    version: str
    seconds: float = Field(description="From the last reading of the step to the stored forecast")


class ForecastPage(Answer):
    """Stored forecasts, the newest first."""

    forecasts: list[ForecastSummary]
    next: str | None


class StatelessRequest(Strict):
    """Readings of the last steps, from which a forecast is made; nothing is stored."""

    readings: list[Reading] = Field(min_length=1)
    unit: str | None = Field(default=None, max_length=100)
    sensors: list[SensorName] | None = Field(default=None, description="Sensors to forecast; all by default")
    levels: list[Level] | None = Field(default=None, max_length=5)


class WhatIfRequest(Strict):
    """Forecast from the present window of the feed without some sensors."""

    without: list[SensorName] = Field(max_length=10_000)
    sensors: list[SensorName] | None = Field(default=None, description="Sensors to forecast; all by default")


class WhatIfAnswer(Answer):
    """What would change without some sensors."""

    forecast: ForecastAnswer
    expected_gap_now: float | None
    expected_gap_then: float | None
    cost_now: float | None = Field(description="Percent by which the error exceeds that with all sensors reporting")
    cost_then: float | None = Field(description="The same without the sensors named")
    mean_change: float = Field(description="Mean absolute change of the forecasts of the other sensors")
    relative_change: float | None = Field(description="The same in units of the half width of the interval")
    width_change: float | None = Field(description="By what share the intervals of the other sensors widen")


class Cost(Answer):
    """What the silent sensors cost now."""

    step: str | None
    silent: list[str]
    expected_gap: float | None = Field(description="Percent by which the error exceeds that of the model alone with "
                                       "all sensors; below 0 it is better")  # fmt: skip
    cost: float | None = Field(description="Percent by which the error exceeds that with all sensors reporting, now")
    cost_one_more: float | None = Field(description="The same if one more sensor fell silent")
    width_now: float | None = Field(description="Mean width of the intervals of the last forecast")
    own: list[SensorCost] = Field(description="For each silent sensor: how its own forecast suffers")


class SensorCost(Answer):
    """What silence costs the forecast of the sensor itself."""

    sensor: str
    since: str | None
    width: float | None = Field(description="Mean width of its interval now")
    width_before: float | None = Field(description="The same at this time of day when it last reported, within a week")


# Truth


class ShareScore(Answer):
    """Scores of forecasts by the share of sensors that was present."""

    share: str = Field(description="Range of the share present, such as 50-85 %")
    readings: int
    mae: float | None
    expected_mae: float | None = Field(description="What the validation windows led to expect")
    coverage: float | None = Field(description="Share of readings inside their interval, as it was given")
    coverage_unadapted: float | None = Field(description="The same for the intervals of the validation, not adapted")
    level: float
    interval_factor: float


class Truth(Answer):
    """How past forecasts turned out."""

    first: str | None
    last: str | None
    steps: int = Field(description="Steps of which readings were compared with forecasts")
    readings: int
    mae: float | None
    expected_mae: float | None
    drift: float | None = Field(description="Percent by which the error exceeds what validation led to expect")
    coverage: float | None
    coverage_unadapted: float | None
    level: float | None
    by_share: list[ShareScore]
    by_step: list[float | None] = Field(description="MAE by steps ahead")
    aged: bool
    warning: str | None = Field(description="A sentence if the model seems to have aged")


class TruthPoint(Answer):
    """Scores of one step."""

    step: str
    readings: int
    mae: float | None
    coverage: float | None
    level: float | None


class TruthHistory(Answer):
    """Scores by step, the newest first."""

    points: list[TruthPoint]
    next: str | None


# Events and the service itself


class Event(Answer):
    """Something that operators should know."""

    id: int
    at: str
    step: str | None
    kind: Literal["dead", "stuck", "drift", "noisy", "recovered", "aged", "wrapper", "gap", "clock", "replaced"]
    sensor: str | None
    text: str


class EventPage(Answer):
    """Events, the newest first."""

    events: list[Event]
    next: str | None


class Status(Answer):
    """The service and its wrapper."""

    version: str
    wrapper: str
    sensors: int
    lookback: int
    horizon: int
    freq: str | None
    zone: str | None
    unit: str
    levels: list[float]
    fingerprints: Fingerprints
    screening: str
    clock: str = Field(description="wall: steps end by the clock; feed: the readings' own times say what time it is")
    now: str
    deadline_seconds: float
    tolerance_seconds: float
    late_steps: int
    last_step: str | None
    next_step: str | None
    waiting_for: list[str] = Field(description="Sensors for which the next step waits")
    database: str
    readings: int
    forecasts: int
    started_at: str
    notes: list[str]


class Liveness(Answer):
    """Whether the service is alive or ready."""

    status: str
    checks: dict[str, str] = Field(default_factory=dict)


class Refreshed(Answer):
    """Whether a new version of the wrapper was found."""

    version: str
    changed: bool


Cost.model_rebuild()

JSON = dict[str, Any]
