"""GET /v1/sensors."""

from service_tools import NAMES


def test_all_sensors_are_listed_in_order(client):
    assert [sensor["sensor"] for sensor in client.get("/v1/sensors").json()["sensors"]] == list(NAMES)
