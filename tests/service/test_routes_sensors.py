"""Sensors, flags set by hand and maintenance over HTTP."""

from service_tools import NAMES, run_steps, settle


def test_before_the_first_step_nothing_is_known(client):
    answer = client.get("/v1/sensors").json()
    assert [sensor["sensor"] for sensor in answer["sensors"]] == list(NAMES)
    assert answer["counts"] == {"unknown": 6}
    assert "gross limits only" in answer["screening"]


def test_health_flags_and_reasons(quiet_client, series):
    service = quiet_client.app.state.service
    run_steps(service, series, 1300, 1310)
    run_steps(service, series, 1310, 1318, NAMES[:5])
    answer = quiet_client.get("/v1/sensors").json()
    assert answer["counts"] == {"good": 5, "missing": 1}
    dead = answer["sensors"][5]
    assert (dead["state"], dead["flag"]) == ("dead", 9)
    assert dead["reasons"] == ["no usable reading for 8 steps"]
    assert dead["waited_for"] is False
    assert dead["last_value"] > 0
    assert answer["sensors"][0]["mae"] > 0
    assert [each["sensor"] for each in quiet_client.get("/v1/sensors?state=missing").json()["sensors"]] == ["f"]
    assert len(quiet_client.get("/v1/sensors?sensor=a&sensor=b").json()["sensors"]) == 2
    assert quiet_client.get("/v1/sensors?sensor=A").status_code == 422


def test_a_flag_is_set_and_taken_back(quiet_client, series):
    service = quiet_client.app.state.service
    run_steps(service, series, 1300, 1308)
    body = {"sensor": "a", "flag": 4, "reason": "painted over"}
    assert quiet_client.put("/v1/overrides", json=body).json()["reason"] == "painted over"
    run_steps(service, series, 1308, 1309)
    assert quiet_client.get("/v1/sensors?sensor=a").json()["sensors"][0]["override"] == 4
    assert quiet_client.get("/v1/forecasts/latest").json()["silent"] == ["a"]
    assert len(quiet_client.get("/v1/overrides").json()["overrides"]) == 1
    assert quiet_client.delete("/v1/overrides?sensor=a").status_code == 204
    assert quiet_client.delete("/v1/overrides?sensor=a").status_code == 404
    run_steps(service, series, 1309, 1310)
    assert quiet_client.get("/v1/forecasts/latest").json()["silent"] == []


def test_wrong_flags_are_refused(client):
    for body in ({"sensor": "a", "flag": 3}, {"sensor": "x", "flag": 4}, {"sensor": "a", "flag": 4, "until": "soon"}):
        answer = client.put("/v1/overrides", json=body)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"


def test_maintenance_leaves_readings_out_and_alerts_nobody(quiet_client, series):
    service = quiet_client.app.state.service
    run_steps(service, series, 1300, 1308)
    times = [str(series.times[step]) for step in (1308, 1330)]
    body = {"sensor": "b", "start": times[0], "end": times[1], "reason": "cleaning"}
    made = quiet_client.post("/v1/maintenance", json=body)
    assert made.status_code == 201
    run_steps(service, series, 1308, 1320)
    sensor = quiet_client.get("/v1/sensors?sensor=b").json()["sensors"][0]
    assert (sensor["health"], sensor["maintenance"], sensor["waited_for"]) == ("maintenance", True, False)
    assert quiet_client.get("/v1/forecasts/latest").json()["silent"] == ["b"]
    assert quiet_client.get("/v1/events").json()["events"] == []
    assert len(quiet_client.get("/v1/maintenance").json()["maintenance"]) == 1
    assert quiet_client.delete(f"/v1/maintenance/{made.json()['id']}").status_code == 204
    settle(service)
    run_steps(service, series, 1320, 1321)
    assert quiet_client.get("/v1/forecasts/latest").json()["silent"] == []


def test_wrong_maintenance_is_refused(client):
    for end in ("2026-01-01", "2099-01-01", "never"):
        body = {"sensor": "a", "start": "2026-01-02", "end": end}
        assert client.post("/v1/maintenance", json=body).status_code == 422
    for number in (7, -1, 10**30):
        assert client.delete(f"/v1/maintenance/{number}").status_code == 404
    assert client.delete("/v1/maintenance/x").status_code == 422
