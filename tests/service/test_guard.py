"""What happens around every request."""

import logging

import pytest
from fastapi.testclient import TestClient

from service_tools import last_reading, readings_of
from subcast.service.app import create_app
from subcast.service.security import new_key


@pytest.fixture
def guarded(plant, tmp_path):
    keys = {role: new_key(tmp_path / "keys.toml", role, role) for role in ("read", "write", "admin")}
    app = create_app(plant, model=last_reading, keys=tmp_path / "keys.toml", rate=50)
    with TestClient(app) as client:
        client.keys = {role: {"Authorization": f"Bearer {key}"} for role, key in keys.items()}
        yield client


def test_keys_and_roles(guarded, series):
    body = {"readings": readings_of(series, 1300, 1301)}
    assert guarded.get("/v1/sensors").status_code == 401
    assert guarded.get("/metrics").status_code == 401
    assert guarded.get("/healthz").status_code == 200
    assert guarded.get("/").status_code == 200
    assert guarded.get("/v1/sensors", headers=guarded.keys["read"]).status_code == 200
    assert guarded.post("/v1/readings", json=body, headers=guarded.keys["read"]).status_code == 403
    assert guarded.post("/v1/readings", json=body, headers=guarded.keys["write"]).status_code == 200
    assert guarded.get("/v1/sensors", headers=guarded.keys["write"]).status_code == 403
    assert guarded.post("/v1/refresh", headers=guarded.keys["admin"]).status_code == 200


def test_too_many_requests(guarded):
    answers = [guarded.get("/v1/overrides", headers=guarded.keys["read"]) for _ in range(150)]
    slow = [answer for answer in answers if answer.status_code == 429]
    assert slow
    assert int(slow[0].headers["retry-after"]) >= 1
    assert guarded.get("/healthz").status_code == 200


def test_no_key_is_in_the_log_and_errors_have_the_headers(guarded, caplog):
    with caplog.at_level(logging.DEBUG):
        answer = guarded.get("/v1/nothing", headers=guarded.keys["read"])
        refused = guarded.get("/v1/sensors", headers={"Authorization": "Bearer guess"})
    assert answer.status_code == 404
    key = guarded.keys["read"]["Authorization"].split()[1]
    text = caplog.text + str([record.__dict__ for record in caplog.records if record.name.startswith("subcast")])
    assert key not in text
    assert "guess" not in text
    for each in (answer, refused):
        assert each.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in each.headers


def test_another_origin_is_not_let_in(guarded):
    headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    answer = guarded.options("/v1/readings", headers={**headers, **guarded.keys["read"]})
    assert answer.status_code in (401, 403, 405)
    assert "access-control-allow-origin" not in answer.headers


def test_every_body_is_bounded(guarded):
    for method, path in (("PUT", "/v1/overrides"), ("POST", "/v1/what-if"), ("POST", "/v1/nothing")):
        answer = guarded.request(method, path, content=b" " * 1_500_000, headers=guarded.keys["admin"])
        assert answer.status_code == 413
    answer = guarded.post("/v1/readings", content=b" " * 17_000_000, headers=guarded.keys["admin"])
    assert answer.status_code == 413
