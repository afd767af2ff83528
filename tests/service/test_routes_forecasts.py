"""Forecasts over HTTP."""

import time

import numpy as np
import pytest

from service_tools import HORIZON, NAMES, readings_of, run_steps, send, settle
from subcast.service import routes_forecasts


@pytest.fixture
def fed(quiet_client, series):
    run_steps(quiet_client.app.state.service, series, 1300, 1310)
    run_steps(quiet_client.app.state.service, series, 1310, 1314, NAMES[:5])
    return quiet_client


def test_before_any_reading_there_is_the_usual_forecast(client):
    answer = client.get("/v1/forecasts/latest").json()
    assert answer["quality"] == "poor"
    assert answer["reason"] == "nothing arrived"
    assert len(answer["forecasts"]) == 6
    assert client.get("/v1/forecasts/latest?as_of=2026-01-01T00:00:00").status_code == 404


def test_the_latest_of_all_and_of_some(fed):
    answer = fed.get("/v1/forecasts/latest").json()
    assert [each["sensor"] for each in answer["forecasts"]] == list(NAMES)
    assert answer["silent"] == ["f"]
    assert len(answer["times"]) == HORIZON
    one = fed.get("/v1/forecasts/latest", params={"sensor": "f", "history": True}).json()
    assert one["forecasts"][0] | {"history": None} == answer["forecasts"][5]
    assert one["forecasts"][0]["history"][-4:] == [None] * 4
    refused = fed.get("/v1/forecasts/latest?sensor=nothing")
    assert refused.status_code == 422


def test_by_time_and_as_of(fed, series):
    at = str(series.times[1305])
    answer = fed.get(f"/v1/forecasts/{at}?replayed=true").json()
    assert answer["replay"] == {
        "possible": True, "identical": True, "sentence": "made again from what was known then, equal to the bit",
    }  # fmt: skip
    between = answer["made_at"]
    before = fed.get("/v1/forecasts/latest", params={"as_of": between}).json()
    assert before["step"] <= answer["step"]
    assert before["replay"]["identical"]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 5))
    assert fed.get("/v1/forecasts/latest", params={"as_of": now}).json()["step"] == str(series.times[1313])[:19]
    assert fed.get("/v1/forecasts/2020-01-01T00:00:00").status_code == 404
    assert fed.get("/v1/forecasts/2020-01-01T00:05:00").status_code == 422
    assert fed.get("/v1/forecasts/soon").status_code == 422


def test_the_list_has_pages(fed):
    first = fed.get("/v1/forecasts?limit=10").json()
    rest = fed.get("/v1/forecasts", params={"limit": 10, "cursor": first["next"]}).json()
    assert len(first["forecasts"]) == 10
    assert len(rest["forecasts"]) == 4
    assert rest["next"] is None
    assert {row["reason"] for row in first["forecasts"]} <= {"complete", "deadline"}
    some = fed.get("/v1/forecasts", params={"start": rest["forecasts"][0]["step"]}).json()
    assert len(some["forecasts"]) == 11


def test_neighbors_have_the_readings_of_the_bank(fed, wrapper, series):
    answer = fed.get("/v1/forecasts/latest/neighbors?sensor=b").json()
    assert len(answer["neighbors"]) == 5
    nearest = answer["neighbors"][0]
    place = int(np.flatnonzero(series.times == np.datetime64(nearest["end"]))[0])
    np.testing.assert_allclose(nearest["past"], series.values[place - 5 : place + 1, 1], rtol=1e-4)
    np.testing.assert_allclose(nearest["future"], series.values[place + 1 : place + 5, 1], rtol=1e-4)


def test_late_readings_show_as_revisions(fed, series):
    service = fed.app.state.service
    send(service, readings_of(series, 1312, 1313, ["f"]))
    settle(service)
    found = fed.get("/v1/revisions").json()["revisions"]
    assert sorted(row["step"] for row in found) == [str(series.times[step])[:19] for step in (1312, 1313)]
    assert fed.get("/v1/forecasts/latest").json()["revisions"][0]["sensors"] == ["f"]


def test_stateless_forecasts_store_nothing(fed, series, wrapper):
    rows = readings_of(series, 1400, 1406, ["a", "c"])
    answer = fed.post("/v1/forecast", json={"readings": rows, "levels": [0.5, 0.9], "sensors": ["a", "f"]}).json()
    expected = wrapper.predict(series.to_frame().iloc[1400:1406][["a", "c"]], absent=True)
    place = expected.variables.index("f")
    np.testing.assert_array_equal(np.float32(answer["forecasts"][1]["mean"]), expected.mean[:, place])
    assert answer["levels"] == [0.5, 0.9]
    assert answer["reason"] == "stateless"
    assert len(fed.get("/v1/forecasts").json()["forecasts"]) == 14


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"levels": [2]}, "levels must be"),
        ({"levels": "x"}, "levels must be"),
        ({"levels": []}, "levels must be"),
        ({"sensors": ["nobody"]}, "there is no sensor"),
        ({"sensors": "a"}, "list of names"),
        ({"readings": []}, "readings is empty"),
        ({"extra": 1}, "unknown field"),
        ({"unit": "mph"}, "the sensors report"),
    ],
)
def test_wrong_stateless_requests(client, series, change, sentence):
    body = {"readings": readings_of(series, 1400, 1406, ["a"]), **change}
    answer = client.post("/v1/forecast", json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]


def test_what_if(fed):
    answer = fed.post("/v1/what-if", json={"without": ["a", "b"]}).json()
    assert answer["mean_change"] > 0
    assert set(answer["forecast"]["silent"]) == {"a", "b", "f"}
    nothing = fed.post("/v1/what-if", json={"without": []}).json()
    assert nothing["mean_change"] == 0
    assert fed.post("/v1/what-if", json={"without": list(NAMES)}).json()["forecast"]["quality"] == "poor"
    assert fed.post("/v1/what-if", json={"without": ["x"]}).status_code == 422
    assert fed.post("/v1/what-if", content=b"{", headers={"content-type": "application/json"}).status_code == 400


def test_the_interval_of_a_silent_sensor_beside_that_of_the_day_before(quiet_client, series, monkeypatch):
    monkeypatch.setattr(routes_forecasts, "_DAY", 6 * 600 * 10**9)  # a day of six steps
    service = quiet_client.app.state.service
    run_steps(service, series, 1200, 1212)
    run_steps(service, series, 1212, 1216, names=NAMES[:-1])
    own = quiet_client.get("/v1/cost").json()["own"]
    assert [each["sensor"] for each in own] == ["f"]
    assert own[0]["width_before"] > 0


def test_cost_of_the_silent(fed):
    answer = fed.get("/v1/cost").json()
    assert answer["silent"] == ["f"]
    assert answer["own"][0]["width"] > 0
    assert answer["own"][0]["width_before"] is None  # there is no forecast of the day before
    now = fed.post("/v1/what-if", json={"without": []}).json()
    assert now["cost_now"] == now["cost_then"] == answer["cost"]
    fewer = fed.post("/v1/what-if", json={"without": ["a", "b", "c", "d"]}).json()
    assert fewer["cost_then"] != fewer["cost_now"]
