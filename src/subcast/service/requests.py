"""What the routes share: the service, bounded bodies, and pages of rows."""

from __future__ import annotations

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query, Request
from pydantic import BaseModel

from subcast.service.bodies import read_body
from subcast.service.problems import ProblemError
from subcast.service.runtime import Service

Limit = Annotated[int, Query(ge=1, le=10_000, description="Largest number of rows")]
Cursor = Annotated[str | None, Query(max_length=60, description="`next` of the page before")]


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


def body_schema(model: type[BaseModel], **others: Any) -> dict[str, Any]:
    """Return the description of a body that is parsed by hand, for OpenAPI."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    content = {"application/json": {"schema": _inlined(schema, definitions)}, **others}
    return {"requestBody": {"required": True, "content": content}}


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema without references."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
        return {key: _inlined(value, definitions) for key, value in schema.items()}
    return [_inlined(each, definitions) for each in schema] if isinstance(schema, list) else schema


def page(
    connection: sa.Connection, query: sa.Select[Any], column: sa.Column[Any], limit: int, cursor: str | None
) -> tuple[list[Any], str | None]:
    """Return a page of rows, the largest of a unique column first, and the cursor of the next page."""
    if cursor is not None:
        query = query.where(column < cursor_number(cursor))
    rows = list(connection.execute(query.order_by(column.desc()).limit(limit + 1)).all())
    following = str(rows[limit - 1]._mapping[column.name]) if len(rows) > limit else None
    return rows[:limit], following


def cursor_number(cursor: str) -> int:
    """Return the number that a cursor is."""
    digits = cursor.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19 and int(digits) < 2**63):
        raise ProblemError("invalid", "cursor must be the `next` of the page before")
    return int(cursor)
