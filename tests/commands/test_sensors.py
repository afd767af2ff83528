"""`subcast sensors`: the sensors of a running service."""

import json

import pytest

from commands.examples import run
from commands.fake_service import fake_service
from subcast.commands.service_client import ServiceError
from subcast.errors import InputError


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


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """The folder of a service that has processed a few steps and is stopped, and its series."""
    from service_tools import fit_wrapper, last_reading, make_series, make_service, run_steps
    from subcast.service import runtime

    series, folder, service_class = make_series(), tmp_path / "plant", runtime.Service
    fit_wrapper(series).save(folder)
    service = make_service(folder, clock="feed")
    run_steps(service, series, 1300, 1305)
    service.close()
    monkeypatch.setattr(runtime, "Service", lambda options, model=last_reading: service_class(options, model))
    return folder, series


def test_a_stopped_service_is_changed_in_its_database(stopped):
    from service_tools import make_service, readings_of, send, settle

    folder, series = stopped
    listed = json.loads(run("sensors", "list", "--folder", folder, "--json").stdout)
    assert [each["sensor"] for each in listed["sensors"]] == list("abcdef")
    planned = run("sensors", "maintain", "a", "2026-03-11T00:00", "2026-03-11T12:00", "--folder", folder)
    assert planned.output == "a is in maintenance from 2026-03-11T00:00:00 to 2026-03-11T12:00:00\n"
    assert "f-2 has the place of f from" in run("sensors", "replace", "f", "f-2", "--folder", folder).output
    service = make_service(folder, clock="feed")
    rows = readings_of(series, 1305, 1306)
    send(service, [{**row, "sensor": "f-2" if row["sensor"] == "f" else row["sensor"]} for row in rows])
    settle(service)
    assert service.replaced.device(5) == "f-2"
    service.close()


def test_a_stopped_service_refuses_what_a_running_one_refuses(stopped, tmp_path):
    folder, _ = stopped
    with pytest.raises(InputError, match="there is no sensor 'g'"):
        run("sensors", "replace", "g", "h", "--folder", folder)
    with pytest.raises(InputError, match="is the name of another sensor"):
        run("sensors", "replace", "f", "a", "--folder", folder)
    with pytest.raises(InputError, match="reason: "):
        run("sensors", "replace", "f", "h", "--reason", "x" * 501, "--folder", folder)
    with pytest.raises(InputError, match="holds no wrapper"):
        run("sensors", "list", "--folder", tmp_path)
    with pytest.raises(InputError, match="--database goes with --folder"):
        run("sensors", "list", "--database", "sqlite:///x")


def test_a_database_that_a_service_uses_is_left_alone(stopped):
    from service_tools import make_service

    folder, _ = stopped
    service = make_service(folder)
    with pytest.raises(InputError, match="another service uses"):
        run("sensors", "list", "--folder", folder)
    service.close()
    (folder.parent / "plant.sqlite3").unlink()
    with pytest.raises(InputError, match="no service has run on"):
        run("sensors", "list", "--folder", folder)
