"""What happens around every request: keys, rate, headers, a line in the log, and a count."""

from __future__ import annotations

import logging
import math
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from subcast.service.metrics import Metrics
from subcast.service.problems import ProblemError, response
from subcast.service.security import HEADERS, Keys, RateLimit, role_needed

_LOGGER = logging.getLogger("subcast.service.requests")
_BOUNDED = ("/v1/readings", "/v1/forecast")  # these bound their bodies themselves
_MOST_BYTES = 1_000_000


class Guard:
    """A layer around the application."""

    def __init__(self, app: ASGIApp, keys: Keys | None, limit: RateLimit, metrics: Metrics, routes: Any) -> None:
        self.app, self.keys, self.limit, self.metrics, self.routes = app, keys, limit, metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        name = "-"
        try:
            name = self._admit(scope)
            if scope["method"] not in ("GET", "HEAD") and scope["path"] not in _BOUNDED:
                receive = await _bounded(receive)
            await self.app(scope, receive, send_on)
        except ProblemError as error:
            await response(error)(scope, receive, send_on)
        finally:
            seconds = time.perf_counter() - begin
            route = self._route(scope)
            self.metrics.count_request(scope["method"], route, status, seconds)
            level = logging.WARNING if status >= 500 else logging.INFO
            _LOGGER.log(level, "request", extra={
                "method": scope["method"], "route": route, "status": status, "ms": round(1000 * seconds, 1),
                "key": name,
            })  # fmt: skip

    def _admit(self, scope: Scope) -> str:
        """Return the name of the key of a request; raise if it may not be sent."""
        client = scope.get("client")
        address = client[0] if client else "-"
        role = role_needed(scope["method"], scope["path"])
        name = "-"
        if role is not None and self.keys is not None:  # guesses are slowed down too
            self._slow_down(f"address {address}")
            name = self.keys.check(Headers(scope=scope).get("authorization"), role)
        elif role is not None:
            self._slow_down(f"address {address}")
        return name

    def _slow_down(self, client: str) -> None:
        wait = self.limit.wait(client)
        if wait > 0:
            raise ProblemError(
                "too-many-requests",
                f"at most {self.limit.rate:g} requests a second are answered: send fewer, with more readings each",
                {"Retry-After": str(max(1, math.ceil(wait)))},
            )

    def _route(self, scope: Scope) -> str:
        """Return the pattern of the route, so that the number of labels is bounded."""
        route = scope.get("route")
        if route is not None:
            return str(getattr(route, "path", "other"))
        for each in self.routes:
            if hasattr(each, "path") and each.matches(scope)[0] == Match.FULL:
                return str(each.path)
        return "other"


async def _bounded(receive: Receive) -> Receive:
    """Read a body, which must be small, and return a function that gives it again."""
    parts: list[Message] = []
    size = 0
    while True:
        message = await receive()
        parts.append(message)
        size += len(message.get("body", b""))
        if size > _MOST_BYTES:
            raise ProblemError("too-large", f"the body is larger than {_MOST_BYTES / 1e6:g} MB: send less")
        if message["type"] != "http.request" or not message.get("more_body", False):
            break

    async def again() -> Message:
        return parts.pop(0) if parts else await receive()

    return again
