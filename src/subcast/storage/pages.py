"""The page of a saved folder: one JSON file that lists facts and files, sealed by a checksum over all of it."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from subcast.errors import DataError, InputError

FORMAT = 1
MOST_BYTES = 1 << 24
"""Largest page: about a hundred thousand named variables."""

_MOST_CONTAINERS = 200_000  # lists and mappings in a page


def seal(page: dict[str, Any]) -> bytes:
    """Return a page as it is written: its format, which is read first, its checksum, and its text."""
    text = json.dumps(page)
    content = _envelope(FORMAT, text)
    if len(content) > MOST_BYTES or _containers(text) > _MOST_CONTAINERS:
        raise InputError(
            f"the names and settings to save take {len(content):,} bytes, and at most {MOST_BYTES:,} can be stored: "
            "give fewer variables, or shorter names"
        )
    return content


def unseal(content: bytes, path: Path, kind: str) -> dict[str, Any]:
    """Return the page of an object of this kind; raise a DataError unless it is to the byte what was written."""
    try:
        text = _text(content, path)
        page = json.loads(text, object_pairs_hook=_without_repeats)
        if not isinstance(page, dict) or not isinstance(page["kind"], str):
            raise ValueError
        for group in ("facts", "arrays", "blobs"):
            if not isinstance(page[group], dict):
                raise ValueError
    except DataError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError(f"{path} is damaged or was changed by hand: save the {kind} again") from None
    if page["kind"] != kind:
        raise DataError(f"{path} is a {page['kind'][:40]!r}, not a {kind}: give a folder that holds a {kind}")
    _refuse_unknown_needs(page.get("needs", []), path)
    return page


def _text(content: bytes, path: Path) -> str:
    """Return the text in the envelope; raise unless format, checksum and every byte are right."""
    if len(content) > MOST_BYTES:
        raise ValueError
    envelope = json.loads(content)
    _refuse_other_format(envelope["format"], path)
    text: str = envelope["page"]
    if content != _envelope(FORMAT, text) or _containers(text) > _MOST_CONTAINERS:
        raise ValueError
    return text


def _envelope(version: int, text: str) -> bytes:
    return json.dumps({"format": version, "checksum": zlib.crc32(text.encode()), "page": text}).encode()


def _containers(text: str) -> int:
    return text.count("[") + text.count("{")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    facts = dict(pairs)
    if len(facts) < len(pairs):
        raise ValueError
    return facts


def _refuse_other_format(saved: Any, path: Path) -> None:
    if type(saved) is not int or not 0 <= saved < 1 << 31:
        raise ValueError
    if saved != FORMAT:
        advice = "install a newer subcast" if saved > FORMAT else "save it again with this version"
        raise DataError(f"{path} is of format {saved}, and this version of subcast reads format {FORMAT}: {advice}")


def _refuse_unknown_needs(needs: Any, path: Path) -> None:
    """Raise if the page names a part that changes forecasts and that this version does not know."""
    if needs:
        names = ", ".join(str(name)[:40] for name in needs) if isinstance(needs, list) else "an unknown part"
        raise DataError(f"{path} needs {names}, which this version of subcast does not know: install a newer subcast")
