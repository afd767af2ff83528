"""The addresses of the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request, Response

from subcast.service.page.files import PageFile, page_files


def install(app: FastAPI) -> None:
    """Add the files of the page to an application; they hold no data, so nobody needs a key for them."""
    for path, file in page_files().items():
        app.add_api_route(path, _answer_of(file), methods=["GET", "HEAD"], include_in_schema=False)


def _answer_of(file: PageFile) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=file.headers)
        return Response(file.content, headers=file.headers)

    return answer
