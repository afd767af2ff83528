"""`subcast sensors`: the sensors of a running service."""

import json

import pytest

from commands.examples import run
from commands.fake_service import fake_service
from subcast.commands.service_client import ServiceError


def sensor(name, state, **more):
    empty = {"reasons": [], "last_time": None, "last_value": None, "override": None}
    return {"sensor": name, "state": state, "since": "2026-05-01T10:00:00", "flag": 1, **empty, **more}


SENSORS = {
    "step": "2026-05-01T12:00:00",
    "sensors": [
        sensor("north", "good", last_time="2026-05-01T12:00:00", last_value=3.25),
        sensor("east[1]", "dead", reasons=["has sent nothing for 2 hours"]),
        sensor("west", "suspect", override=1),
    ],
}


def test_the_ill_ones_first_with_since_when_and_why():
    with fake_service({"/v1/sensors": [(200, SENSORS, {})]}) as service:
        output = run("sensors", "list", "--url", service.url).output
        everyone = run("sensors", "list", "--url", service.url, "--all").output
        record = json.loads(run("sensors", "list", "--url", service.url, "--json").stdout)
    assert "after step 2026-05-01T12:00:00" in output
    assert "north" not in output
    assert output.index("east[1]") < output.index("west")
    assert "east[1]  dead     10:00" in output
    assert "has sent nothing for 2 hours" in output
    assert "set by hand" in output
    assert "2 sensors not well, 1 sensor well" in output
    assert "3.25 at 12:00" in everyone
    assert [each["sensor"] for each in record["sensors"]] == ["east[1]", "west", "north"]


def test_maintenance():
    planned = {"id": 1, "sensor": "north", "start": "a", "end": "b", "reason": "gasket"}
    with fake_service({"/v1/maintenance": [(201, planned, {})]}) as service:
        output = run("sensors", "maintain", "north", "a", "b", "--reason", "gasket", "--url", service.url).output
        assert service.bodies("/v1/maintenance") == [{"sensor": "north", "start": "a", "end": "b", "reason": "gasket"}]
    assert output == "north is in maintenance from a to b\n"


def test_replacing(monkeypatch):
    monkeypatch.setenv("SUBCAST_KEY", "word")
    replaced = {"id": 1, "sensor": "north", "name": "north-b", "at": "2026-05-01T12:10:00", "reason": "", "set_at": "x"}
    with fake_service({"/v1/replacements": [(201, replaced, {})]}) as service:
        output = run("sensors", "replace", "north", "north-b", "--url", service.url).output
        assert service.bodies("/v1/replacements") == [{"sensor": "north", "name": "north-b", "at": None, "reason": ""}]
        assert service.requests[0][2]["Authorization"] == "Bearer word"
    assert "north-b has the place of north from 2026-05-01T12:10:00 on" in output


def test_a_refusal_is_one_sentence():
    problem = {"detail": "there is no sensor 'nort': did you mean 'north'?"}
    with (
        fake_service({"/v1/replacements": [(422, problem, {})]}) as service,
        pytest.raises(ServiceError, match="did you mean 'north'"),
    ):
        run("sensors", "replace", "nort", "x", "--url", service.url)
