"""The files of the page, and the headers with which they are served."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import NamedTuple

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Scripts and styles only from files of the service itself, none inside the page, and requests only to the service."""

HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class PageFile(NamedTuple):
    """A file of the page: its content, its type and a tag that changes with the content."""

    content: bytes
    content_type: str
    tag: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers of an answer with this file."""
        return {**HEADERS, "Content-Type": self.content_type, "ETag": self.tag}


@cache
def page_files() -> dict[str, PageFile]:
    """Return the files of the page by their path below the service.

    >>> sorted(page_files())[:3]
    ['/', '/page/api.js', '/page/chart.js']
    """
    files = {}
    for entry in resources.files(__package__).iterdir():
        suffix = "." + entry.name.rpartition(".")[2]
        if suffix in _TYPES:
            content = entry.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            path = "/" if entry.name == "index.html" else f"/page/{entry.name}"
            files[path] = PageFile(content, _TYPES[suffix], tag)
    return files
