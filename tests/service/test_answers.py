"""Answers about forecasts."""

import numpy as np

from service_tools import NAMES, make_service, rows_of, run_steps
from subcast.service import stored
from subcast.service.answers import plain, stored_answer
from subcast.service.models import ForecastAnswer
from subcast.service.schema import forecasts


def test_an_answer_is_as_its_model_says_and_tells_its_age(plant, series):
    service = make_service(plant, clock="feed")
    run_steps(service, series, 1300, 1308, NAMES[:5])
    found = stored.from_row(rows_of(service, forecasts)[-1], NAMES)
    for steps, stale in ((1, False), (300, True)):
        now = found.time + steps * service.grid.length
        answer = stored_answer(found, service.grid, now=now, deadline=300, unit="km/h")
        ForecastAnswer(**answer)
        assert answer["stale"] is stale
        assert answer["age_seconds"] == steps * 600
        assert ("old" in str(answer["notes"])) is stale
    assert answer["silent"] == ["f"]
    assert answer["present"] == list(NAMES[:5])
    assert [row["weight"] for row in answer["neighbors"]] == sorted(
        (row["weight"] for row in answer["neighbors"]), reverse=True
    )
    service.close()


def test_nan_is_null():
    assert plain(np.array([1.0, np.nan])) == [1.0, None]
