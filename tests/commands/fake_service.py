"""A tiny stand-in for a service on 127.0.0.1 that remembers what it was asked."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeService:
    """Answers as told by `answers`: a list of (status, body, headers) by path; the last of a list is repeated."""

    def __init__(self, answers):
        self.answers = {path: list(given) for path, given in answers.items()}
        self.requests = []
        self.url = ""

    def answer(self, method, path, headers, body):
        self.requests.append((method, path, dict(headers), body))
        given = self.answers.get(path, [(404, {"detail": "there is no such page"}, {})])
        return given.pop(0) if len(given) > 1 else given[0]

    def bodies(self, path):
        return [json.loads(body) for _, asked, _, body in self.requests if asked == path]


@contextmanager
def fake_service(answers):
    service = FakeService(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _reply(self):
            size = int(self.headers.get("Content-Length", 0))
            status, body, headers = service.answer(self.command, self.path, self.headers, self.rfile.read(size))
            content = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = _reply

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
