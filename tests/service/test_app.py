"""The application as a whole."""


def test_unknown_addresses_are_problems(client):
    answer = client.get("/nothing")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"].count(".") <= 1


def test_openapi_lists_the_readings(client):
    assert "/v1/readings" in client.get("/openapi.json").json()["paths"]
