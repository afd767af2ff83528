"""Bodies of requests: every fault is one sentence."""

import asyncio
import gzip
import json

import pytest

from subcast.service.bodies import parse_object, parse_readings, read_body
from subcast.service.problems import ProblemError

TIME = "2026-11-18T12:00:00Z"


def body_of(value="1.5", sensor='"a"', time=f'"{TIME}"'):
    return f'{{"readings": [{{"sensor": {sensor}, "time": {time}, "value": {value}}}]}}'.encode()


def read(parts, encoding="", length=None, most=1000):
    async def stream():
        for part in parts:
            yield part

    return asyncio.run(read_body(stream(), encoding=encoding, length=length, most=most))


def test_the_three_forms_give_the_same_columns():
    row = {"sensor": "a", "time": TIME, "value": 1.5}
    forms = {
        "application/json": json.dumps({"readings": [row, row]}),
        "application/x-ndjson": f"{json.dumps(row)}\n\n{json.dumps(row)}\n",
        "text/csv; charset=utf-8": f"\ufeffvalue,sensor,time\n1.5,a,{TIME}\n,b,{TIME}\n1.5,a,{TIME}\n",
    }
    columns = [parse_readings(text.encode(), kind, 10) for kind, text in forms.items()]
    assert columns[0] == columns[1] == columns[2]
    assert columns[0].values == [1.5, 1.5]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (body_of("NaN"), 422, "leave a missing reading out"),
        (body_of("null"), 422, "leave a missing reading out"),
        (body_of("Infinity"), 422, "finite number"),
        (body_of("-Infinity"), 422, "finite number"),
        (body_of("1e400"), 422, "finite number"),
        (body_of("1e39"), 422, "finite number"),
        (body_of("1" + "0" * 400), 422, "finite number"),
        (body_of("1" + "0" * 5000), 400, "not whole JSON"),
        (body_of('"61.5"'), 422, "finite number"),
        (body_of("true"), 422, "finite number"),
        (body_of("[1]"), 422, "finite number"),
        (body_of(sensor="7"), 422, "sensor of reading 1 must be text"),
        (body_of(time="1763467200"), 422, "time of reading 1 must be text"),
        (body_of()[:-10], 400, "not whole JSON"),
        (b"", 400, "not whole JSON"),
        (b"[" * 100_000, 400, "not whole JSON"),
        (b"\xff\xfe", 400, "UTF-8"),
        (b"{}", 422, "the body must be"),
        (b'{"readings": []}', 422, "no readings"),
        (b'{"readings": [7]}', 422, "reading 1 must be an object"),
        (b'{"readings": [{"sensor": "a", "value": 1}]}', 422, "reading 1 has no time"),
        (b'{"readings": [{"sensor": "a", "time": "x", "value": 1, "z": 2}]}', 422, "unknown field 'z'"),
        (b'{"readings": [], "extra": 1}', 422, "unknown field 'extra'"),
    ],
)
def test_faults_of_json(body, status, sentence):
    with pytest.raises(ProblemError, match=sentence) as caught:
        parse_readings(body, "application/json", 100)
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (f"sensor,time,value\na,{TIME},nan\n", 422, "finite number"),
        (f"sensor,time,value\na,{TIME},1e400\n", 422, "finite number"),
        (f"sensor,time,value\na,{TIME},1_000\n", 422, "finite number"),
        (f"sensor,time,value\na,{TIME},abc\n", 422, "finite number"),
        (f"sensor,time,value\na,{TIME}\n", 422, "2 cells instead of 3"),
        ("a,b\n1,2\n", 422, "the first line"),
        ("", 422, "the first line"),
        ("sensor,time,value\n", 422, "no readings"),
        ('sensor,time,value\n"a,b', 400, "not CSV"),
    ],
)
def test_faults_of_csv(body, status, sentence):
    with pytest.raises(ProblemError, match=sentence) as caught:
        parse_readings(body.encode(), "text/csv", 100)
    assert caught.value.status == status


def test_other_types_are_refused():
    with pytest.raises(ProblemError, match="Content-Type must be"):
        parse_readings(b"", "application/pickle", 100)


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson", "text/csv"])
def test_too_many_readings_are_refused(kind):
    row = {"sensor": "a", "time": TIME, "value": 1}
    body = {
        "application/json": json.dumps({"readings": [row] * 11}),
        "application/x-ndjson": "\n".join([json.dumps(row)] * 11),
        "text/csv": "sensor,time,value\n" + f"a,{TIME},1\n" * 11,
    }[kind]
    with pytest.raises(ProblemError, match="a request may bring 10 readings") as caught:
        parse_readings(body.encode(), kind, 10)
    assert caught.value.status == 413


def test_units_are_collected():
    rows = [{"sensor": "a", "time": TIME, "value": 1, "unit": "m/s"}, {"sensor": "a", "time": TIME, "value": 1}]
    assert parse_readings(json.dumps({"readings": rows, "unit": "km"}).encode(), "application/json", 9).units == {
        "m/s",
        "km",
    }


def test_further_fields_are_options():
    body = json.dumps({"readings": [{"sensor": "a", "time": TIME, "value": 1}], "levels": [0.5]}).encode()
    assert parse_object(body, 9, {"levels"}).options == {"levels": [0.5]}


def test_bodies_are_bounded_before_and_while_they_are_read():
    assert read([b"a" * 500, b"b" * 500]) == b"a" * 500 + b"b" * 500
    for parts, length in (([b"a" * 600, b"b" * 600], None), ([], "5000")):
        with pytest.raises(ProblemError, match="larger than") as caught:
            read(parts, length=length)
        assert caught.value.status == 413


def test_gzip_is_unpacked_and_bombs_are_not():
    assert read([gzip.compress(b"hello")], "gzip") == b"hello"
    bomb = gzip.compress(b"0" * 10_000_000)
    assert len(bomb) < 20_000
    with pytest.raises(ProblemError, match="larger than"):
        read([bomb], "gzip")
    with pytest.raises(ProblemError, match="not gzip"):
        read([b"hello"], "gzip")
    with pytest.raises(ProblemError, match="cut short"):
        read([gzip.compress(b"hello")[:-6]], "gzip")
    with pytest.raises(ProblemError, match="packed with gzip"):
        read([b"hello"], "br")
