"""Bad input over HTTP: the right status, one sentence, nothing half applied."""

import gzip
import json
import time

import pytest
from fastapi.testclient import TestClient

from service_tools import NAMES, fit_wrapper, last_reading, make_series, rows_of
from subcast.service.app import create_app
from subcast.service.schema import readings, receipts

JSON, CSV = "application/json", "text/csv"


@pytest.fixture(scope="module")
def berlin(tmp_path_factory):
    """A client of a service whose training had the zone of Berlin; its engine does not run."""
    folder = tmp_path_factory.mktemp("berlin") / "plant"
    fit_wrapper(make_series(zone="Europe/Berlin")).save(folder)
    app = create_app(folder, model=last_reading, rate=None, clock="wall")
    yield TestClient(app)
    app.state.service.close()


def now_text(offset=0.0):
    """Return the step that is now, or some hours away, in UTC."""
    seconds = (time.time() + 3600 * offset) // 600 * 600
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def body(value="61.5", sensor='"a"', at=None, more=""):
    """Return a good reading before a reading that has a fault, as text of a body."""
    good = f'{{"sensor": "b", "time": "{now_text(-1)}", "value": 60}}'
    at = f'"{now_text()}"' if at is None else at
    return f'{{"readings": [{good}, {{"sensor": {sensor}, "time": {at}, "value": {value}{more}}}]}}'


CASES = {
    "nan": (lambda: body("NaN"), JSON, 422, "leave a missing reading out"),
    "null": (lambda: body("null"), JSON, 422, "leave a missing reading out"),
    "infinity": (lambda: body("Infinity"), JSON, 422, "finite number"),
    "minus infinity": (lambda: body("-Infinity"), JSON, 422, "finite number"),
    "1e400": (lambda: body("1e400"), JSON, 422, "finite number"),
    "a long integer": (lambda: body("9" * 400), JSON, 422, "finite number"),
    "text": (lambda: body('"61.5"'), JSON, 422, "finite number"),
    "true": (lambda: body("true"), JSON, 422, "finite number"),
    "a list": (lambda: body("[1]"), JSON, 422, "finite number"),
    "nan in csv": (lambda: f"sensor,time,value\nb,{now_text()},1\na,{now_text()},NaN\n", CSV, 422, "finite number"),
    "half a JSON": (lambda: body()[:-20], JSON, 400, "not whole JSON"),
    "half a line": (
        lambda: json.dumps({"sensor": "a", "time": now_text(), "value": 1}) + '\n{"sensor": "b", "ti',
        "application/x-ndjson", 400, "line 2 is not whole JSON",
    ),
    "nothing": (lambda: "", JSON, 400, "not whole JSON"),
    "unknown sensor": (lambda: body(sensor='"thermometer"'), JSON, 422, "there is no sensor 'thermometer'"),
    "misspelt sensor": (lambda: body(sensor='"A"'), JSON, 422, "did you mean 'a'?"),
    "a strange name": (lambda: body(sensor='"\\ud800\\u0000"'), JSON, 422, "there is no sensor"),
    "a number for a name": (lambda: body(sensor="7"), JSON, 422, "must be text"),
    "another unit": (lambda: body(more=', "unit": "mph"'), JSON, 422, "in 'km/h', got 'mph'"),
    "the future": (lambda: body(at=f'"{now_text(5)}"'), JSON, 422, "in the future"),
    "the year 9999": (lambda: body(at='"9999-01-01T00:00:00Z"'), JSON, 422, "too far away"),
    "not a time": (lambda: body(at='"yesterday"'), JSON, 422, "ISO 8601"),
    "a number for a time": (lambda: body(at="1763467200"), JSON, 422, "must be text"),
    "between two steps": (lambda: body(at='"2026-03-02T00:05:00Z"'), JSON, 422, "5 min off the 10min steps"),
    "an hour that comes twice": (lambda: body(at='"2025-10-26T02:30:00"'), JSON, 422, "twice: add the offset"),
    "an hour that never comes": (lambda: body(at='"2026-03-29T02:30:00"'), JSON, 422, "never showed"),
    "unknown field": (lambda: body(more=', "colour": 1'), JSON, 422, "unknown field 'colour'"),
    "not UTF-8": (lambda: b"\xff\xfe\x00", JSON, 400, "UTF-8"),
    "another type": (lambda: body(), "application/xml", 415, "Content-Type must be"),
    "a million rows": (lambda: "sensor,time,value\n" + f"a,{now_text()},1.0\n" * 1_000_000, CSV, 413, "16 MB"),
    "too many rows": (lambda: "sensor,time,value\n" + f"a,{now_text()},1\n" * 200_000, CSV, 413, "100,000 readings"),
    "deep nesting": (lambda: '{"readings": ' + "[" * 200_000, JSON, 400, "not whole JSON"),
    "two values": (
        lambda: json.dumps({"readings": [{"sensor": "a", "time": now_text(), "value": value} for value in (1, 2)]}),
        JSON, 422, "two values of 'a'",
    ),
    "a thousand times too large": (
        lambda: json.dumps({"readings": [{"sensor": name, "time": now_text(), "value": 61500} for name in NAMES]}),
        JSON, 422, "1000 times too large",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_sentence_and_stores_nothing(berlin, case):
    make, kind, status, sentence = CASES[case]
    answer = berlin.post("/v1/readings", content=make(), headers={"content-type": kind})
    check(berlin, answer, status, sentence)


def check(client, answer, status, sentence):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) >= {"type", "title", "status", "detail"}
    assert problem["status"] == status
    assert sentence in problem["detail"]
    assert "\n" not in problem["detail"]
    assert len(problem["detail"]) < 300
    assert rows_of(client.app.state.service, readings) == []
    assert rows_of(client.app.state.service, receipts) == []


@pytest.mark.parametrize(
    ("content", "status", "sentence"),
    [
        (gzip.compress(b"0" * 200_000_000, 9), 413, "larger than 16 MB"),
        (gzip.compress(b'{"readings": []}')[:-5], 400, "cut short"),
        (b"not gzip", 400, "not gzip"),
    ],
    ids=["bomb", "cut", "not"],
)
def test_gzip(berlin, content, status, sentence):
    headers = {"content-type": JSON, "content-encoding": "gzip"}
    check(berlin, berlin.post("/v1/readings", content=content, headers=headers), status, sentence)


def test_both_passes_of_the_hour_that_comes_twice_are_stored(tmp_path):
    folder = tmp_path / "plant"
    fit_wrapper(make_series(zone="Europe/Berlin")).save(folder)
    app = create_app(folder, model=last_reading, rate=None, clock="feed")
    rows = [
        {"sensor": "a", "time": f"2026-10-25T02:{minute}0:00{offset}", "value": 60.0}
        for offset in ("+02:00", "+01:00")
        for minute in range(6)
    ]
    answer = TestClient(app).post("/v1/readings", json={"readings": rows}).json()
    assert (answer["stored"], answer["first"], answer["last"]) == (
        12, "2026-10-25T02:00:00+02:00", "2026-10-25T02:50:00+01:00",
    )  # fmt: skip
    app.state.service.close()


def test_bad_requests_to_other_addresses(quiet_client):
    for method, path, content, status in (
        ("POST", "/v1/forecast", b"{", 400),
        ("POST", "/v1/forecast", b'{"readings": [{"sensor": "a"}]}', 422),
        ("PUT", "/v1/overrides", b"{", 400),
        ("PUT", "/v1/overrides", b"[]", 422),
        ("POST", "/v1/maintenance", b'{"sensor": 1}', 422),
        ("GET", "/v1/readings?cursor=x", b"", 422),
        ("GET", "/v1/readings?limit=1000000", b"", 422),
        ("GET", "/v1/readings?start=x", b"", 422),
        ("GET", "/v1/forecasts/latest?as_of=x", b"", 422),
        ("PATCH", "/v1/readings", b"", 405),
    ):
        answer = quiet_client.request(method, path, content=content, headers={"content-type": JSON})
        assert answer.status_code == status, (path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert "\n" not in answer.json()["detail"]
