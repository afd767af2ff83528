"""Status, health and metrics."""

from service_tools import NAMES, run_steps


def test_status_says_what_is_assumed(quiet_client, series):
    service = quiet_client.app.state.service
    run_steps(service, series, 1300, 1304)
    answer = quiet_client.get("/v1/status").json()
    assert answer["sensors"] == 6
    assert answer["clock"] == "feed"
    assert answer["readings"] == 24
    assert answer["forecasts"] == 4
    assert answer["tolerance_seconds"] == 60
    assert answer["late_steps"] == 144
    assert "no zone" in answer["notes"][0]
    assert answer["unit"] == "km/h"


def test_alive_and_ready(client):
    assert client.get("/healthz").json()["status"] == "ok"
    assert client.get("/readyz").json()["status"] == "ready"


def test_not_ready_when_the_database_is_gone(client):
    client.app.state.service.database._identity = (0, 0)
    path = client.app.state.service.database.path
    path.rename(path.with_suffix(".away"))
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert client.get("/healthz").status_code == 200
    assert "subcast_database_up 0.0" in client.get("/metrics").text


def test_a_look_at_the_folder(client):
    assert client.post("/v1/refresh").json()["changed"] is False


def test_metrics_have_bounded_labels(quiet_client, series):
    service = quiet_client.app.state.service
    run_steps(service, series, 1300, 1308)
    for path in ("/v1/forecasts/2020-01-01", "/v1/forecasts/2020-01-02", "/nothing/1", "/nothing/2"):
        quiet_client.get(path)
    text = quiet_client.get("/metrics").text
    routes = {line.split('route="')[1].split('"')[0] for line in text.splitlines() if 'route="' in line}
    assert routes == {"/v1/forecasts/{time}", "other"}
    assert all(f'subcast_sensor_flag{{sensor="{name}"}} 1.0' in text for name in NAMES)
    assert 'subcast_forecast_quality{quality="poor"}' in text
