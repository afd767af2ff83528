"""Counters of requests and readings."""

from subcast.service.metrics import Metrics


def value(metrics, name, **labels):
    return metrics.registry.get_sample_value(name, labels)


def test_requests_and_readings_are_counted():
    metrics = Metrics()
    metrics.count_request("GET", "/v1/sensors", 200, 0.01)
    metrics.count_request("BREW", "other", 405, 0.01)
    answer = {"stored": 3, "unchanged": 2, "superseded": 1, "late": 0, "too_late": 4, "replayed": False}
    metrics.count_readings(answer)
    metrics.count_readings({**answer, "replayed": True})
    assert value(metrics, "subcast_requests_total", method="GET", route="/v1/sensors", status="200") == 1
    assert value(metrics, "subcast_requests_total", method="other", route="other", status="405") == 1
    assert value(metrics, "subcast_readings_total", outcome="stored") == 3
    assert value(metrics, "subcast_readings_total", outcome="too_late") == 4
