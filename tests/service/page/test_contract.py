"""The stand-in that the browser tests use speaks like the service."""

import pytest
from stand_in import NAMES, StandIn

from subcast.service import models

ANSWERS = {
    "/v1/status": models.Status,
    "/v1/forecasts/latest": models.ForecastAnswer,
    "/v1/forecasts/latest/neighbors": models.NeighborList,
    "/v1/readings": models.ReadingsPage,
    "/v1/cost": models.Cost,
    "/v1/truth": models.Truth,
    "/v1/truth/history": models.TruthHistory,
    "/v1/events": models.EventPage,
}


@pytest.mark.parametrize("step", [20, 40])
@pytest.mark.parametrize("path", sorted(ANSWERS))
def test_answers_of_the_stand_in_are_those_of_the_service(path, step):
    stand_in = StandIn()
    stand_in.step = step
    status, answer = stand_in.answer("get", path, {"sensor": [NAMES[3]]}, None)
    assert status == 200
    model = ANSWERS[path](**answer)
    assert set(answer) <= set(type(model).model_fields)


def test_what_if():
    status, answer = StandIn().answer("post", "/v1/what-if", {}, {"without": [NAMES[0]], "sensors": None})
    assert status == 200
    models.WhatIfAnswer(**answer)
