"""The stand-in that the browser tests use speaks like the service, and the page asks only what the service answers."""

import re

import pytest
from stand_in import NAMES, StandIn

from subcast.service import models
from subcast.service.page.files import page_files

ANSWERS = {
    "/v1/status": models.Status,
    "/v1/sensors": models.SensorList,
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


def test_the_page_asks_for_addresses_that_exist(client):
    script = page_files()["/page/api.js"].content.decode()
    asked = {f"/{path}" for path in re.findall(r'["`](v1/[a-z/-]+)', script)}
    assert asked == {*ANSWERS, "/v1/what-if"}
    known = set(client.get("/openapi.json").json()["paths"])
    assert {path.replace("/latest/neighbors", "/{time}/neighbors") for path in asked} <= known
