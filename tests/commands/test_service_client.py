"""The client of `subcast replay` and `subcast sensors`."""

import pytest

from commands.fake_service import fake_service
from subcast.commands.service_client import ServiceClient, ServiceError
from subcast.errors import InputError


def client(service, **options):
    made = ServiceClient(service.url, **options)
    made._sleep = lambda seconds: service.requests.append(("sleep", seconds))
    return made


def test_get_post_and_delete_with_the_key():
    with fake_service({"/a": [(200, {"x": 1}, {})], "/b": [(204, None, {})]}) as service:
        own = client(service, key="word")
        assert own.get("/a") == {"x": 1}
        assert own.post("/a", {"y": 2}, idempotency_key="once") == {"x": 1}
        assert own.delete("/b") is None
        own.close()
        methods = [request[0] for request in service.requests]
        headers = service.requests[1][2]
        assert methods == ["GET", "POST", "DELETE"]
        assert headers["Authorization"] == "Bearer word"
        assert headers["Idempotency-Key"] == "once"
        assert service.requests[1][3] == b'{"y": 2}'


def test_a_busy_service_is_asked_again_after_the_time_it_names():
    with fake_service({"/a": [(503, {"detail": "away"}, {"Retry-After": "7"}), (200, {}, {})]}) as service:
        assert client(service).get("/a") == {}
        assert [request for request in service.requests if request[0] == "sleep"] == [("sleep", 7.0)]


def test_patience_ends():
    with fake_service({"/a": [(503, {"detail": "the database is away"}, {})]}) as service:
        with pytest.raises(ServiceError, match="answered 503: the database is away") as error:
            client(service, patience=0.3).get("/a")
        assert error.value.status == 503
        assert len(service.requests) < 20


def test_a_refusal_is_told_at_once():
    with fake_service({"/a": [(422, {"detail": "unknown sensor 'x'"}, {})], "/b": [(403, None, {})]}) as service:
        with pytest.raises(ServiceError, match="answered 422: unknown sensor 'x'"):
            client(service).get("/a")
        with pytest.raises(ServiceError, match="SUBCAST_KEY"):
            client(service).get("/b")


def test_nobody_answers():
    with fake_service({}) as service:
        url = service.url
    with pytest.raises(ServiceError, match=r"no service answers at .* start `subcast serve` first"):
        ServiceClient(url, patience=0.0).get("/a")


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://host:port", "http://me:word@host"])
def test_wrong_addresses(url):
    with pytest.raises(InputError, match="--url must"):
        ServiceClient(url)


def test_a_key_with_line_breaks():
    with pytest.raises(InputError, match="SUBCAST_KEY"):
        ServiceClient("http://127.0.0.1", "a\nb")


def test_numbers_that_json_does_not_have():
    with fake_service({}) as service, pytest.raises(ValueError, match="Out of range"):
        client(service).post("/a", {"x": float("nan")})
