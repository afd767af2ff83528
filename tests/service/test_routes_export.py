"""CSV export."""

import csv
import io

import pytest

from service_tools import NAMES, run_steps


@pytest.fixture
def fed(quiet_client, series):
    run_steps(quiet_client.app.state.service, series, 1300, 1310)
    return quiet_client


def rows(answer):
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_readings_come_back_as_they_were_sent(fed, series):
    found = rows(fed.get("/v1/readings.csv"))
    assert len(found) == 60
    assert [row["sensor"] for row in found[:6]] == list(NAMES)
    assert float(found[7]["value"]) == pytest.approx(float(series.values[1301, 1]))
    assert {row["flag"] for row in found} == {"1"}
    some = rows(fed.get("/v1/readings.csv", params={"sensor": "b", "start": str(series.times[1305])}))
    assert len(some) == 5


def test_what_is_exported_can_be_sent_again(fed):
    text = fed.get("/v1/readings.csv").text
    plain = "\n".join(",".join(line.split(",")[:3]) for line in text.splitlines())
    answer = fed.post("/v1/readings", content=plain, headers={"content-type": "text/csv"}).json()
    assert answer["unchanged"] == 60


def test_forecasts(fed, monkeypatch):
    monkeypatch.setattr("subcast.service.routes_export._STEPS", 3)
    found = rows(fed.get("/v1/forecasts.csv"))
    assert len(found) == 10 * 6 * 4
    assert len({row["step"] for row in found}) == 10
    assert all(float(row["lower"]) <= float(row["mean"]) <= float(row["upper"]) for row in found)
    assert len(rows(fed.get("/v1/forecasts.csv?sensor=a"))) == 40
    assert fed.get("/v1/forecasts.csv?sensor=z").status_code == 422
