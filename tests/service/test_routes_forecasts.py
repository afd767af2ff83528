"""Forecasts over HTTP."""


def test_without_readings_there_is_no_forecast(client):
    answer = client.get("/v1/forecasts/latest")
    assert answer.status_code == 404
    assert "no forecast yet" in answer.json()["detail"]
