"""Health rows, events and the webhook."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from service_tools import make_service, rows_of
from subcast.service import alerts
from subcast.service.schema import events


@pytest.fixture
def receiver():
    """A server that keeps what it is sent; it refuses as often as `refuse` says."""

    class Handler(BaseHTTPRequestHandler):
        got: ClassVar[list] = []
        refuse = 0

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if Handler.refuse > 0:
                Handler.refuse -= 1
                self.send_response(500)
            else:
                Handler.got.append(json.loads(body))
                self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    Handler.url = f"http://127.0.0.1:{server.server_port}/hook"
    yield Handler
    server.shutdown()
    server.server_close()


def test_events_are_sent_once_and_in_order_and_again_if_refused(plant, receiver):
    service = make_service(plant, webhook=receiver.url)
    with service.database.write() as connection:
        rows = [alerts.event("dead", "a is dead", 0, int(service.feed.ids[0])), alerts.event("recovered", "a is back")]
        alerts.store_events(connection, rows)
    receiver.refuse = 1
    assert service.send_events() == 0
    assert service.send_events() == 2
    assert service.send_events() == 0
    assert [event["kind"] for event in receiver.got] == ["dead", "recovered"]
    assert receiver.got[0]["sensor"] == "a"
    assert [row.attempts for row in rows_of(service, events)] == [2, 1]
    service.close()


def test_a_receiver_that_is_away_is_given_up_after_some_tries(plant):
    service = make_service(plant, webhook="http://127.0.0.1:9/hook")
    with service.database.write() as connection:
        alerts.store_events(connection, [alerts.event("dead", "a is dead")])
    for _ in range(12):
        assert service.send_events() == 0
    assert rows_of(service, events)[0].attempts == 10
    service.close()
