"""Write records as JSON that people can read: nested like the record, with each list of plain values on one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from subcast.storage.files import whole_file


def record_text(value: Any, indent: str = "") -> str:
    """Return a record as JSON text.

    >>> print(record_text({"draws": [[1, 2], [3, 4]], "mae": 0.5}))
    {
     "draws": [
      [1, 2],
      [3, 4]
     ],
     "mae": 0.5
    }
    """
    inner = indent + " "
    if isinstance(value, dict) and value:
        entries = [f"{json.dumps(str(name))}: {record_text(entry, inner)}" for name, entry in value.items()]
        return _block("{", entries, "}", indent)
    if isinstance(value, list | tuple) and any(isinstance(entry, dict | list | tuple) for entry in value):
        return _block("[", [record_text(entry, inner) for entry in value], "]", indent)
    return json.dumps(value)


def write_record_file(path: Path, record: dict[str, Any]) -> None:
    """Write a record to a file, which appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        temporary.write_text(record_text(record) + "\n", encoding="utf-8")


def _block(opening: str, entries: list[str], closing: str, indent: str) -> str:
    lines = ",\n".join(f"{indent} {entry}" for entry in entries)
    return f"{opening}\n{lines}\n{indent}{closing}"
