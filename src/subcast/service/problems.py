"""Errors as application/problem+json (RFC 9457): a stable kind, a status, one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from subcast.errors import InputError, SubcastError

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5

TITLES = {
    "bad-request": (400, "The body cannot be read"),
    "no-key": (401, "A key is needed"),
    "forbidden": (403, "The key has another role"),
    "not-found": (404, "There is no such thing"),
    "method-not-allowed": (405, "The method is not allowed"),
    "conflict": (409, "The request conflicts with the present state"),
    "gone": (410, "It was removed"),
    "too-large": (413, "The request is too large"),
    "media-type": (415, "The type of the body is not supported"),
    "invalid": (422, "The request is not valid"),
    "unknown-sensor": (422, "There is no such sensor"),
    "wrong-unit": (422, "The unit is wrong"),
    "off-grid": (422, "The time is not on a step"),
    "future": (422, "The time is in the future"),
    "time": (422, "The time cannot be used"),
    "idempotency": (422, "The idempotency key was used for other content"),
    "too-many-requests": (429, "Too many requests"),
    "internal": (500, "Something went wrong inside the service"),
    "unavailable": (503, "The database cannot be reached"),
    "starting": (503, "The service is not ready"),
}
"""Kinds of errors: status and title."""


class ProblemError(SubcastError):
    """An error with a kind of `TITLES` and one sentence for the user.

    >>> ProblemError("not-found", "there is no forecast yet").status
    404
    """

    def __init__(self, kind: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.more = kind, detail, more
        self.status, self.title = TITLES[kind]
        self.headers = dict(headers or {})
        if self.status in (429, 503):
            self.headers.setdefault("Retry-After", str(RETRY_SECONDS))


def shown(text: object, most: int = 60) -> str:
    """Quote what a user sent, shortened, and without characters that cannot be written.

    >>> shown("plant-1"), shown("x" * 99, 3)
    ("'plant-1'", "'xxx...'")
    """
    plain = text if isinstance(text, str) else str(text)
    return ascii(plain if len(plain) <= most else plain[:most] + "...")


def response(error: ProblemError) -> Response:
    """Return the answer to a request that failed."""
    body = {
        "type": f"/problems/{error.kind}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        **error.more,
    }
    return JSONResponse(body, status_code=error.status, headers=error.headers, media_type=MEDIA_TYPE)


def _validation(error: RequestValidationError) -> ProblemError:
    """Return the first fault of a body or of parameters as one sentence."""
    fault = error.errors()[0]
    where = [str(part) for part in fault["loc"]]
    if fault["type"] == "json_invalid":
        return ProblemError("bad-request", "the body is not JSON: send one whole JSON object")
    source = {"query": "parameter", "body": "field", "path": "path"}.get(where[0], where[0])
    name = ".".join(where[1:]) or "body"
    message = str(fault["msg"])[:200]
    return ProblemError("invalid", f"{source} {shown(name)}: {message[:1].lower()}{message[1:]}")


_BY_STATUS = {status: kind for kind, (status, _) in reversed(TITLES.items())} | {422: "invalid", 503: "unavailable"}


def _http(error: HTTPException) -> ProblemError:
    kind = _BY_STATUS.get(error.status_code, "bad-request" if error.status_code < 500 else "internal")
    details = {
        404: "there is no such address: GET /openapi.json lists all of them",
        405: "this address does not take this method: GET /openapi.json lists those that it takes",
    }
    return ProblemError(kind, details.get(error.status_code, str(error.detail)), error.headers)


def install(app: FastAPI) -> None:
    """Make the app answer every error as problem+json."""

    async def problem(_: Request, error: Exception) -> Response:
        if isinstance(error, ProblemError):
            return response(error)
        if isinstance(error, RequestValidationError):
            return response(_validation(error))
        if isinstance(error, HTTPException):
            return response(_http(error))
        if isinstance(error, InputError | SubcastError):
            return response(ProblemError("invalid", str(error)))
        return response(ProblemError("internal", "the service failed on this request; its log says why"))

    for kind in (ProblemError, RequestValidationError, HTTPException, SubcastError, Exception):
        app.add_exception_handler(kind, problem)
