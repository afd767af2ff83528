"""A small client of a running service, for `subcast replay` and `subcast sensors`; only the standard library."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from subcast.errors import InputError, SubcastError

KEY_VARIABLE = "SUBCAST_KEY"
_TIMEOUT = 60.0  # seconds for one answer
_LONGEST_ANSWER = 64 << 20
_LONGEST_PAUSE = 30.0
_BUSY = (429, 502, 503, 504)


class ServiceError(SubcastError):
    """The service could not be reached, or refused a request; the second argument is the status, 0 without one."""

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def status(self) -> int:
        """The status of the answer."""
        return int(self.args[1])


class ServiceClient:
    """Requests to one service over one connection that is kept open.

    Parameters
    ----------
    url
        address of the service, such as http://127.0.0.1:8000
    key
        the key to send, None without
    patience
        seconds for which a request is repeated when the service is away or busy
    """

    def __init__(self, url: str, key: str | None = None, *, patience: float = 60.0) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise InputError(f"--url must be the address of a service, such as http://127.0.0.1:8000, got {url!r}")
        if parts.username is not None or parts.password is not None:
            raise InputError(f"--url must hold no password: put the key into the environment variable {KEY_VARIABLE}")
        if key is not None and not (key.isascii() and key.isprintable()):
            raise InputError(f"the key in {KEY_VARIABLE} must be printable ASCII: copy it again")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname, port, timeout=_TIMEOUT)
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._base, self._key, self.patience = parts.path.rstrip("/"), key, patience
        self._sleep: Callable[[float], None] = time.sleep

    def get(self, path: str) -> Any:
        """Return the JSON answer to a GET."""
        return self._request("GET", path, None, {})

    def post(self, path: str, body: Any, *, idempotency_key: str | None = None) -> Any:
        """Return the JSON answer to a POST; with an idempotency key it may be repeated safely."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return self._request("POST", path, json.dumps(body, allow_nan=False).encode(), headers)

    def delete(self, path: str) -> Any:
        """Return the JSON answer to a DELETE; None if it has none."""
        return self._request("DELETE", path, None, {})

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        """Send a request, again while the service is away or busy, but no longer than `patience`."""
        everything = {"Accept": "application/json", **headers}
        if body is not None:
            everything["Content-Type"] = "application/json"
        if self._key is not None:
            everything["Authorization"] = f"Bearer {self._key}"
        give_up = time.monotonic() + self.patience
        pause = 0.2
        while True:
            try:
                self._connection.request(method, self._base + path, body, everything)
                answer = self._connection.getresponse()
                content = answer.read(_LONGEST_ANSWER)
            except (OSError, HTTPException) as error:
                self._connection.close()
                problem = ServiceError(f"no service answers at {self.url} ({error}): start `subcast serve` first", 0)
            else:
                if answer.status < 400:
                    return json.loads(content) if content else None
                problem = ServiceError(_sentence(answer, content), answer.status)
                if answer.status not in _BUSY:
                    raise problem
                pause = _retry_after(answer, pause)
            if time.monotonic() + pause > give_up:
                raise problem
            self._sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _sentence(answer: HTTPResponse, content: bytes) -> str:
    """Return what the service said was wrong."""
    try:
        detail = json.loads(content)["detail"]
    except (ValueError, KeyError, TypeError):
        detail = ""
    if answer.status in (401, 403):
        detail = f"{detail or 'the service refused the key'} (the key is read from {KEY_VARIABLE})"
    return f"the service answered {answer.status}: {detail or answer.reason}"


def _retry_after(answer: HTTPResponse, default: float) -> float:
    text = answer.getheader("Retry-After", "")
    return min(float(text), _LONGEST_PAUSE) if text.isdigit() else default
