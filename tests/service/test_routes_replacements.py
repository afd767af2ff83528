"""Replacing sensors over the API."""

from service_tools import readings_of, run_steps, settle


def test_a_sensor_is_replaced_and_it_is_kept_when_and_why(quiet_client, series):
    service = quiet_client.app.state.service
    run_steps(service, series, 1300, 1312)
    body = {"sensor": "b", "name": "b2", "reason": "the old one drifted"}
    made = quiet_client.post("/v1/replacements", json=body)
    assert made.status_code == 201
    assert (made.json()["sensor"], made.json()["name"], made.json()["at"]) == ("b", "b2", "2026-03-11T02:40:00")
    rows = [{**row, "sensor": {"b": "b2"}.get(row["sensor"], row["sensor"])} for row in readings_of(series, 1312, 1313)]
    assert quiet_client.post("/v1/readings", json={"readings": rows}).json()["stored"] == 6
    settle(service)
    latest = quiet_client.get("/v1/forecasts/latest?sensor=b").json()["forecasts"][0]
    assert (latest["present"], round(latest["observed"], 3)) == (True, round(1 / 6, 3))
    assert quiet_client.get("/v1/sensors?sensor=b").json()["sensors"][0]["device"] == "b2"
    assert quiet_client.get("/v1/replacements").json()["replacements"] == [made.json()]
    event = quiet_client.get("/v1/events").json()["events"][0]
    assert event["text"] == "b was replaced by b2 at 2026-03-11T02:40:00: the old one drifted"
    refused = quiet_client.post("/v1/readings", json={"readings": readings_of(series, 1313, 1314)})
    assert refused.status_code == 422
    assert "send its readings under that name" in refused.json()["detail"]


def test_a_device_under_the_same_name_from_a_stated_time(quiet_client, series):
    service = quiet_client.app.state.service
    run_steps(service, series, 1300, 1312)
    body = {"sensor": "b", "name": "b", "at": "2026-03-11T02:15:00"}
    assert quiet_client.post("/v1/replacements", json=body).json()["at"] == "2026-03-11T02:20:00"
    run_steps(service, series, 1312, 1319)
    latest = quiet_client.get("/v1/forecasts/latest?sensor=b").json()["forecasts"][0]
    assert latest["observed"] == 1.0


def test_wrong_ones_are_refused(quiet_client, series):
    run_steps(quiet_client.app.state.service, series, 1300, 1306)
    for body in (
        {"sensor": "x", "name": "y"},
        {"sensor": "a", "name": "b"},
        {"sensor": "a", "name": ""},
        {"sensor": "a", "name": "a2", "at": "soon"},
        {"sensor": "a", "name": "a2", "at": "2099-01-01"},
        {"sensor": "a"},
    ):
        answer = quiet_client.post("/v1/replacements", json=body)
        assert answer.status_code == 422, body
        assert answer.json()["detail"]
    assert quiet_client.get("/v1/replacements").json() == {"replacements": []}


def test_a_name_that_a_new_device_took_is_taken(quiet_client):
    assert quiet_client.post("/v1/replacements", json={"sensor": "a", "name": "n"}).status_code == 201
    answer = quiet_client.post("/v1/replacements", json={"sensor": "b", "name": "n"})
    assert "is the name of another sensor" in answer.json()["detail"]
    again = quiet_client.post("/v1/replacements", json={"sensor": "n", "name": "m"})  # by its present name
    assert again.json()["sensor"] == "a"
