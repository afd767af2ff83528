"""Keys and their roles, limits on the rate of requests, and the headers of every answer.

Keys are random and long, so a plain SHA-256 of them is kept. The file is TOML:

    [[keys]]
    name = "feeder"
    roles = ["write"]
    sha256 = "..."
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from subcast.errors import InputError
from subcast.service.problems import ProblemError

ROLES = ("read", "write", "admin")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer: nothing is loaded from elsewhere, nothing is shown inside another page."""

_OPEN = ("/healthz", "/readyz", "/openapi.json")
_WRITES = {("POST", "/v1/readings")}
_ADMIN = ("/v1/overrides", "/v1/maintenance", "/v1/replacements", "/v1/refresh")
_MOST_CLIENTS = 10_000


def role_needed(method: str, path: str) -> str | None:
    """Return the role that a request needs; None if anyone may send it.

    >>> role_needed("POST", "/v1/readings"), role_needed("PUT", "/v1/overrides"), role_needed("GET", "/healthz")
    ('write', 'admin', None)
    """
    if path in _OPEN or not (path.startswith("/v1/") or path == "/metrics"):
        return None
    if (method, path) in _WRITES:
        return "write"
    if method not in ("GET", "HEAD") and path.startswith(_ADMIN):
        return "admin"
    return "read"


@dataclass(frozen=True)
class Key:
    """A key: its name, its roles, and the SHA-256 of the key itself."""

    name: str
    roles: frozenset[str]
    sha256: str


class Keys:
    """The keys of a file, read again when it changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._keys: tuple[Key, ...] = ()
        self._load()

    def _load(self) -> None:
        try:
            status = self.path.stat()
            if (status.st_mtime_ns, status.st_size) == self._stamp:
                return
            content = tomllib.loads(self.path.read_text())
        except FileNotFoundError:
            raise InputError(f"--keys {self.path} does not exist: make it with --new-key NAME:ROLE") from None
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"--keys {self.path} cannot be read: {error}") from None
        self._keys = _checked_keys(content, self.path)
        self._stamp = (status.st_mtime_ns, status.st_size)

    def check(self, header: str | None, role: str) -> str:
        """Return the name of the key in an Authorization header; raise unless it is known and has the role."""
        self._reload()
        scheme, _, key = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise ProblemError(
                "no-key", "send a key in the header `Authorization: Bearer KEY`", {"WWW-Authenticate": "Bearer"}
            )
        digest = hashlib.sha256(key.strip().encode("utf-8", "replace")).hexdigest()
        found: Key | None = None
        for known in self._keys:  # all of them, so that the time says nothing
            if hmac.compare_digest(known.sha256, digest):
                found = known
        if found is None:
            raise ProblemError("no-key", "the key is not known", {"WWW-Authenticate": "Bearer"})
        if role not in found.roles and "admin" not in found.roles:
            has = " and ".join(sorted(found.roles))
            raise ProblemError("forbidden", f"this needs a key with the role {role}, and this one has {has}")
        return found.name

    def _reload(self) -> None:
        """Read the file again if it changed; a file that cannot be read leaves the keys as they are."""
        try:
            self._load()
        except InputError:
            return


def _checked_keys(content: dict[str, object], path: Path) -> tuple[Key, ...]:
    rows = content.get("keys")
    if not isinstance(rows, list) or not rows:
        raise InputError(f"--keys {path} has no [[keys]]: add one with --new-key NAME:ROLE")
    keys = []
    for row in rows:
        name, roles, digest = (row.get(field) for field in ("name", "roles", "sha256"))
        if not isinstance(name, str) or not isinstance(roles, list) or not set(roles) <= set(ROLES) or not roles:
            raise InputError(f"--keys {path}: each key needs a name and roles among {', '.join(ROLES)}")
        if not isinstance(digest, str) or len(digest) != 64:
            raise InputError(f"--keys {path}: the key {name!r} needs its sha256, 64 hexadecimal digits")
        keys.append(Key(name, frozenset(roles), digest.lower()))
    return tuple(keys)


def new_key(path: Path, name: str, role: str) -> str:
    """Add a key to a file, which holds only its hash, and return the key, which is shown once."""
    if role not in ROLES:
        raise InputError(f"the role of a key must be one of {', '.join(ROLES)}, got {role!r}")
    if not name or not name.isprintable() or '"' in name or "\\" in name:
        raise InputError(f"the name of a key must be plain text, got {name!r}")
    if path.exists() and any(key.name == name for key in Keys(path)._keys):
        raise InputError(f"{path} has a key called {name!r}: choose another name, or remove it from the file")
    key = secrets.token_urlsafe(32)
    digest = hashlib.sha256(key.encode()).hexdigest()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "a") as file:
        file.write(f'[[keys]]\nname = "{name}"\nroles = ["{role}"]\nsha256 = "{digest}"\n\n')
    return key


class RateLimit:
    """Lets each client send so many requests a second on average, and twice that at once.

    >>> limit = RateLimit(2.0, now=lambda: 0.0)
    >>> [limit.wait("a") > 0 for _ in range(5)]
    [False, False, False, False, True]
    """

    def __init__(self, rate: float | None, now: object = time.monotonic) -> None:
        self.rate = rate
        self._now = now
        self._tokens: dict[str, tuple[float, float]] = {}
        self._turn = threading.Lock()

    def wait(self, client: str) -> float:
        """Return 0 if a client may send a request now, else the seconds to wait."""
        if self.rate is None:
            return 0.0
        with self._turn:
            now = float(self._now())  # type: ignore[operator]
            tokens, then = self._tokens.get(client, (2 * self.rate, now))
            tokens = min(2 * self.rate, tokens + (now - then) * self.rate)
            if len(self._tokens) >= _MOST_CLIENTS and client not in self._tokens:
                self._tokens.clear()
            if tokens < 1:
                self._tokens[client] = (tokens, now)
                return (1 - tokens) / self.rate
            self._tokens[client] = (tokens - 1, now)
            return 0.0
