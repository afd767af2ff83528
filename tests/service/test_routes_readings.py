"""POST /v1/readings over HTTP."""

from service_tools import readings_of


def test_readings_are_stored(client, series):
    answer = client.post("/v1/readings", json={"readings": readings_of(series, 1400, 1402)}).json()
    assert (answer["received"], answer["stored"], answer["unchanged"]) == (12, 12, 0)


def test_the_same_key_and_content_give_the_same_answer(client, series):
    body = {"readings": readings_of(series, 1400, 1401)}
    first, again = (client.post("/v1/readings", json=body, headers={"Idempotency-Key": "k"}).json() for _ in range(2))
    assert again.pop("replayed") is True
    assert not first.pop("replayed")
    assert first == again
    other = {"readings": body["readings"][:2]}
    refused = client.post("/v1/readings", json=other, headers={"Idempotency-Key": "k"})
    assert refused.status_code == 422
    assert "other content" in refused.json()["detail"]


def test_a_misspelt_sensor_refuses_the_whole_request(client, series):
    readings = readings_of(series, 1400, 1401)
    readings[3]["sensor"] = "dd"
    refused = client.post("/v1/readings", json={"readings": readings})
    assert refused.status_code == 422
    assert refused.json()["type"] == "/problems/unknown-sensor"
    assert client.app.state.service.newest() is None
