"""Truth and events over HTTP."""

import pytest

from service_tools import NAMES, run_steps


def test_scores_are_those_of_a_plain_loop(quiet_client, series):
    service = quiet_client.app.state.service
    run_steps(service, series, 1300, 1330)
    answer = quiet_client.get("/v1/truth").json()
    errors, inside, count = 0.0, 0, 0
    for row in quiet_client.get("/v1/forecasts?limit=100").json()["forecasts"]:
        forecast = quiet_client.get(f"/v1/forecasts/{row['step']}").json()
        for each in forecast["forecasts"]:
            column = NAMES.index(each["sensor"])
            for ahead, time in enumerate(forecast["times"]):
                place = [str(time)[:19] for time in series.times].index(time)
                if place < 1330:
                    value = float(series.values[place, column])
                    errors += abs(value - each["mean"][ahead])
                    bounds = each["intervals"][0]
                    inside += bounds["lower"][ahead] <= value <= bounds["upper"][ahead]
                    count += 1
    assert answer["readings"] == count
    assert answer["mae"] == pytest.approx(errors / count, rel=1e-5)
    assert answer["coverage"] == pytest.approx(inside / count, abs=1e-3)
    assert answer["steps"] == 29
    assert answer["expected_mae"] > 0
    assert not answer["aged"]
    history = quiet_client.get("/v1/truth/history?limit=10").json()
    assert len(history["points"]) == 10
    assert history["next"]


def test_without_readings_there_is_nothing_to_say(client):
    answer = client.get("/v1/truth").json()
    assert (answer["steps"], answer["mae"], answer["warning"]) == (0, None, None)
    assert client.get("/v1/truth?steps=0").status_code == 422


def test_events_have_pages(quiet_client, series):
    service = quiet_client.app.state.service
    run_steps(service, series, 1300, 1304)
    run_steps(service, series, 1304, 1312, NAMES[:3])
    first = quiet_client.get("/v1/events?limit=2").json()
    assert [event["kind"] for event in first["events"]] == ["dead", "dead"]
    rest = quiet_client.get("/v1/events", params={"cursor": first["next"]}).json()
    assert [event["sensor"] for event in rest["events"]] == ["d"]
