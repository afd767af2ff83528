"""Metrics for Prometheus: counters of this process (or of all workers), and gauges read from the database.

Labels are bounded: routes by their pattern, statuses, kinds, and the sensors of the wrapper. Gauges of sensors are read
from the database whenever they are asked for, so that they are the same in every worker.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric

from subcast.service import truth
from subcast.service.feed import last_step
from subcast.service.problems import ProblemError
from subcast.service.schema import forecasts, health
from subcast.subset.adaptive import GROUPS

if TYPE_CHECKING:
    from subcast.service.runtime import Service

MANY_PROCESSES = "PROMETHEUS_MULTIPROC_DIR"
_QUALITIES = ("full", "good", "fair", "poor")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """What is counted in this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "subcast_requests", "Requests by route and status", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "subcast_request_seconds", "Time to answer a request", ["route"], buckets=_SECONDS, registry=self.registry
        )
        self.readings = Counter(
            "subcast_readings", "Readings by what became of them", ["outcome"], registry=self.registry
        )

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        known = method if method in ("GET", "POST", "PUT", "DELETE", "HEAD") else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def count_readings(self, answer: dict[str, Any]) -> None:
        """Count the readings of a request."""
        if not answer["replayed"]:
            for outcome in ("stored", "unchanged", "superseded", "late", "too_late"):
                self.readings.labels(outcome).inc(answer[outcome])

    def text(self, service: Service) -> bytes:
        """Return all metrics as Prometheus reads them."""
        registry = self.registry
        if os.environ.get(MANY_PROCESSES):
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        stored = CollectorRegistry()
        stored.register(StoredGauges(service))
        return bytes(generate_latest(registry)) + bytes(generate_latest(stored))


class StoredGauges:
    """Gauges that are read from the database."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def collect(self) -> Iterable[Metric]:
        """Yield the gauges; without the database only that it is gone."""
        up = GaugeMetricFamily("subcast_database_up", "Whether the database answers")
        try:
            found = list(self._gauges())
            up.add_metric([], 1)
        except ProblemError:
            found = []
            up.add_metric([], 0)
        return [up, *found]

    def _gauges(self) -> Iterable[Metric]:
        service = self.service
        with service.database.read() as connection:
            yield from _sensor_gauges(service, connection)
            yield from _step_gauges(service, connection)
            yield from _truth_gauges(service, connection)


def _sensor_gauges(service: Service, connection: sa.Connection) -> Iterable[Metric]:
    names = dict(zip(service.feed.ids.tolist(), service.feed.variables, strict=True))
    flag = GaugeMetricFamily("subcast_sensor_flag", "QARTOD flag of the last step", labels=["sensor"])
    ill = GaugeMetricFamily("subcast_sensor_ill", "Whether the readings are not believed", labels=["sensor"])
    for row in connection.execute(sa.select(health)):
        if row.sensor in names:
            flag.add_metric([names[row.sensor]], row.flag)
            ill.add_metric([names[row.sensor]], row.alerted)
    yield flag
    yield ill


def _step_gauges(service: Service, connection: sa.Connection) -> Iterable[Metric]:
    last, now = last_step(connection), service.now(connection)
    age = GaugeMetricFamily("subcast_last_step_age_seconds", "Time since the last step that was processed")
    quality = GaugeMetricFamily("subcast_forecast_quality", "Quality of the last forecast", labels=["quality"])
    gap = GaugeMetricFamily("subcast_forecast_expected_gap_percent", "Expected gap of the last forecast")
    share = GaugeMetricFamily("subcast_forecast_observed_share", "Share of readings behind the last forecast")
    seconds = GaugeMetricFamily("subcast_forecast_seconds", "From the last reading to the last stored forecast")
    if last is not None:
        age.add_metric([], (now - last) / 1e9)
    query = sa.select(forecasts).order_by(forecasts.c.time.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    if row is not None:
        for word in _QUALITIES:
            quality.add_metric([word], float(row.quality == word))
        share.add_metric([], row.observed_share)
        seconds.add_metric([], row.seconds)
        if row.expected_gap is not None:
            gap.add_metric([], row.expected_gap)
    yield from (age, quality, gap, share, seconds)


def _truth_gauges(service: Service, connection: sa.Connection) -> Iterable[Metric]:
    wrapper = service.wrapper
    found = truth.summary(service.scored(connection, 288), len(wrapper.variables), wrapper.horizon)
    error = GaugeMetricFamily("subcast_mae", "Running mean absolute error")
    drift = GaugeMetricFamily("subcast_drift_percent", "Error against what validation led to expect")
    coverage = GaugeMetricFamily("subcast_coverage", "Running coverage of the intervals", labels=["share"])
    total = found["total"]
    for gauge, value in ((error, truth.ratio(total["error"], total["readings"])), (drift, truth.drift_of(total))):
        if value is not None:
            gauge.add_metric([], value)
    for group, sums in found["groups"].items():
        value = truth.ratio(sums["inside"], sums["bounded"])
        if value is not None:
            coverage.add_metric([GROUPS[group]], value)
    yield from (error, drift, coverage)
