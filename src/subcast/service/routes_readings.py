"""Readings: POST /v1/readings."""

from __future__ import annotations

import asyncio
import hashlib
import time
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from subcast.service.bodies import parse_readings, read_body
from subcast.service.feed import IdempotencyKey
from subcast.service.intake import Batch
from subcast.service.models import Problem, Readings, ReadingsAnswer
from subcast.service.problems import ProblemError
from subcast.service.runtime import Service

router = APIRouter(prefix="/v1", tags=["readings"])
_CSV = "sensor,time,value\na,2026-11-18T12:05:00Z,61.5\n"
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": Readings.model_json_schema(ref_template="#/components/schemas/{model}")},
            "application/x-ndjson": {"schema": {"type": "string", "description": "One reading a line"}},
            "text/csv": {"schema": {"type": "string"}, "example": _CSV},
        },
    }
}


def service_of(request: Request) -> Service:
    """Return the running service."""
    service: Service = request.app.state.service
    return service


async def body_of(request: Request, most: int) -> bytes:
    """Return the body of a request, bounded and unpacked."""
    headers = request.headers
    return await read_body(
        request.stream(),
        encoding=headers.get("content-encoding", "").strip().lower(),
        length=headers.get("content-length"),
        most=most,
    )


@router.post("/readings", response_model=ReadingsAnswer, openapi_extra=_BODY, responses={422: {"model": Problem}})
async def post_readings(request: Request) -> Any:
    """Store readings: JSON, NDJSON or CSV, any sensors and steps in any order; all of them or none.

    What is answered with 200 is on disk. With the header `Idempotency-Key` a request can be repeated: the same key and
    content give the same answer, and other content is refused.
    """
    service = service_of(request)
    body = await body_of(request, service.options.body_bytes)
    key = _key(request, body)
    batch = await run_in_threadpool(_batch, service, body, request.headers.get("content-type", "application/json"))
    now = time.time_ns()
    stored = service.writer.submit(lambda connection: service.feed.store(connection, batch, now, key))
    return await asyncio.wrap_future(stored)


def _batch(service: Service, body: bytes, content_type: str) -> Batch:
    return service.intake.batch(parse_readings(body, content_type, service.options.batch), service.newest_allowed())


def _key(request: Request, body: bytes) -> IdempotencyKey | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= 200 or not key.isprintable():
        raise ProblemError("invalid", "Idempotency-Key must have 1 to 200 printable characters")
    kind = request.headers.get("content-type", "")
    return IdempotencyKey(key, hashlib.sha256(kind.encode("latin-1") + b"\n" + body).hexdigest())
