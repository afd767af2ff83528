"""Structured logs."""

import json
import logging
import sys

from subcast.service.logs import JsonFormatter


def test_a_line_is_json_with_what_was_given():
    record = logging.makeLogRecord(
        {"name": "subcast.x", "levelname": "INFO", "msg": "step %s", "args": (3,), "ms": 4.2}
    )
    line = json.loads(JsonFormatter().format(record))
    assert line["message"] == "step 3"
    assert line["ms"] == 4.2
    assert line["level"] == "info"
    assert line["time"].endswith("Z")


def test_exceptions_are_in_the_line():
    try:
        raise ValueError("broken")
    except ValueError:
        record = logging.makeLogRecord({"exc_info": sys.exc_info()})
    assert "broken" in json.loads(JsonFormatter().format(record))["exception"]
