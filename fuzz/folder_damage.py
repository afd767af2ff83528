"""Damage to a saved folder, by accident or on purpose: its page, its arrays, its files.

The page is read and written here without subcast: with the checksums of the changed files computed again, the folder
looks honest.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

END = 1 << 16
ODD_VALUES: list[Any] = [
    0, 1, -1, 2, 3, 7, 24, 255, 1440, 10**5, 10**9, 10**18, 10**30, -(10**9), 0.5, 1.5, -0.1, 1e-300, 1e308, -1e308,
    float("nan"), float("inf"), float("-inf"), "", "text", "north", "../secret", "/etc/passwd", "a" * 5000, "\u2028",
    None, True, False, [], {}, [0], [[]], [None], [1e9], {"a": 1}, ["north"] * 5, list(range(2000)), "h", "MS", "-1h",
]  # fmt: skip


def read_page(folder: Path, kind: str) -> dict[str, Any]:
    """Return the page of a folder."""
    return json.loads(json.loads((folder / f"{kind}.json").read_text())["page"])


def write_page(folder: Path, kind: str, page: dict[str, Any] | str) -> None:
    """Write a page with its checksum."""
    text = page if isinstance(page, str) else json.dumps(page)
    checksum = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    replace(folder / f"{kind}.json", json.dumps({"format": 1, "checksum": checksum, "page": text}).encode())


def replace(path: Path, content: bytes) -> None:
    """Write a file anew; it may be a link to one of an example."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def marks_of(content: bytes) -> dict[str, int]:
    """Return the size and the checksums of a file as a page lists them."""
    return {
        "bytes": len(content),
        "ends": zlib.crc32(content[max(0, len(content) - END) :], zlib.crc32(content[:END])),
        "whole": zlib.crc32(content),
    }


def listed(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of all files of a page."""
    return [*page["arrays"].values(), *page["blobs"].values()]


# Facts


def _places(value: Any, depth: int = 0) -> list[tuple[Any, Any]]:
    """Return (container, key) of every value below a value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, key) for key in keys]
    for container, key in list(found):
        if depth < 8:
            found += _places(container[key], depth + 1)
    return found


def change_fact(page: dict[str, Any], random: Random) -> None:
    """Replace, remove, repeat, exchange or slightly change one value of the page."""
    container, key = random.choice(_places(page if random.random() < 0.3 else page.get("facts")) or _places(page))
    value = container[key]
    how = random.random()
    if how < 0.45:
        container[key] = random.choice(ODD_VALUES)
    elif how < 0.6:
        del container[key]
    elif how < 0.75 and type(value) in (int, float):
        container[key] = random.choice([value + 1, value - 1, -value, value * 2, value * 1e3, value + 0.001, 0])
    elif how < 0.85 and isinstance(value, list) and value:
        random.shuffle(value) if random.random() < 0.5 else value.append(random.choice(value))
    elif how < 0.93:
        other, place = random.choice(_places(page.get("facts")) or _places(page))
        container[key] = json.loads(json.dumps(other[place]))
    else:
        container[key] = _nested(random.choice([3, 200, 5000]))


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(min(depth, 900)):  # json.dumps itself cannot go deeper
        value = [value]
    return value


def change_text(folder: Path, kind: str, random: Random) -> None:
    """Change the text of the page, with its checksum: deep nesting, repeated keys, random characters."""
    text = json.dumps(read_page(folder, kind))
    place = random.randrange(len(text))
    changes: list[Callable[[], str]] = [
        lambda: text[:place] + random.choice('{}[]",:0123456789eE.-ntf\\ \u2028é') + text[place + 1 :],
        lambda: text[:place] + text[place + random.randrange(1, 40) :],
        lambda: text.replace('"facts": {', '"facts": {"lookback": 3, "lookback": 4, ', 1),
        lambda: text.replace('"facts": {', '"facts": {"deep": ' + "[" * 100_000 + "]" * 100_000 + ", ", 1),
        lambda: text.replace('"facts": {', '"facts": {"deep": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + ", ", 1),
        lambda: text.replace('"facts": {', '"facts": {"many": [' + "0," * 2_000_000 + "0], ", 1),
        lambda: text.replace('"facts": {', '"facts": {"lists": [' + "[]," * 400_000 + "0], ", 1),
        lambda: text.replace('"facts": {', '"facts": {"digits": ' + "9" * 6000 + ", ", 1),
        lambda: text.replace('"facts": {', '"needs": ["more"], "facts": {', 1),
    ]
    write_page(folder, kind, random.choice(changes)())


# Arrays


def change_array(folder: Path, page: dict[str, Any], random: Random) -> None:
    """Change values, shape, type or header of an array, and the page with it."""
    marks = random.choice(list(page["arrays"].values()))
    path = folder / marks["file"]
    array = np.load(path, allow_pickle=False)
    how = random.random()
    if how < 0.55 and array.size:
        _change_values(array, random)
    elif how < 0.7 and array.ndim:
        array = random.choice([array[:-1], array[1:], array.T, array[..., :1], np.repeat(array, 2, axis=0), array[:0]])
    elif how < 0.8:
        array = array.astype(random.choice(["float32", "float64", "int64", "int32", "bool", "uint8", "complex64"]))
    elif how < 0.9 and array.size:
        flat = array.reshape(-1)
        array = random.choice([flat[::-1].reshape(array.shape), np.roll(flat, 1).reshape(array.shape), np.sort(flat)])
    else:
        marks[random.choice(["shape", "dtype", "bytes", "whole", "file"])] = random.choice(
            [[10**9, 10**9], [0], [], "object", "|O", "float128", 10**15, 0, -1, None, "../secret", "/etc/hostname"]
        )
        return
    marks |= {"shape": list(array.shape), "dtype": array.dtype.name}
    content = _npy(array)
    if random.random() < 0.05:
        start = content.index(b"{")
        hostile = random.choice(
            [b"(" * 60, b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", b"__import__('os')"]
        )
        content = content[:start] + hostile + content[start + len(hostile) :]
    replace(path, content)
    marks |= marks_of(content)


def _change_values(array: np.ndarray, random: Random) -> None:
    flat = array.reshape(-1)
    count = random.choice([1, 1, 1, 3, flat.size])
    places = [random.randrange(flat.size) for _ in range(min(count, 200))]
    if array.dtype.kind == "f":
        odd = random.choice([np.nan, np.inf, -np.inf, 0, -1, 1e-40, 1e30, 3e38, -3e38, 1e6, random.gauss(0, 10)])
    elif array.dtype.kind == "b":
        odd = random.random() < 0.5
    else:
        limits = np.iinfo(array.dtype)
        odd = random.choice([limits.min, limits.max, -1, 0, 1, flat.size, 2**31 - 1, 10**9, random.randrange(300)])
    if random.random() < 0.3:
        raw = flat.view(np.uint8)
        for _ in range(random.choice([1, 1, 8])):
            raw[random.randrange(raw.size)] ^= 1 << random.randrange(8)
    else:
        with np.errstate(over="ignore"):
            flat[places] = odd


def _npy(array: np.ndarray) -> bytes:
    """Return an array file as subcast writes it."""
    kind = array.dtype.str
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(int(s) for s in array.shape)!r}, }}"
    padding = -(10 + len(text) + 1) % 64
    head = b"\x93NUMPY\x01\x00" + (len(text) + padding + 1).to_bytes(2, "little")
    return head + text.encode() + b" " * padding + b"\n" + np.ascontiguousarray(array).tobytes()


# Files


def change_bytes(path: Path, random: Random) -> None:
    """Flip bits, cut, add, zero the middle of a file."""
    content = bytearray(path.read_bytes())
    how = random.random()
    if not content or how < 0.1:
        content += bytes(random.randrange(256) for _ in range(random.randrange(1, 20)))
    elif how < 0.55:
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    elif how < 0.7:
        content = content[: random.randrange(len(content))]
    elif how < 0.85:
        a, b = sorted(random.randrange(len(content) + 1) for _ in range(2))
        content[a:b] = bytes(b - a)
    else:
        place = random.randrange(len(content))
        content[place : place + 8] = random.randbytes(8)
    replace(path, bytes(content))


def change_file(folder: Path, path: Path, page: dict[str, Any], other: Path, random: Random) -> None:
    """Put something else in the place of a file: nothing, a pipe, a link, a folder, a file of another folder."""
    content = path.read_bytes()
    path.unlink()
    how = random.choice(["gone", "pipe", "link", "outside", "folder", "loop", "device", "older", "swapped", "renamed"])
    outside = folder.parent / "outside.bin"
    if how == "pipe":
        os.mkfifo(path)
    elif how in ("link", "outside"):
        outside.write_bytes(content)
        path.symlink_to(outside)
        if how == "outside":
            for marks in listed(page):
                if marks["file"] == path.name:
                    marks["file"] = random.choice(["../outside.bin", str(outside.resolve()), "./../outside.bin"])
    elif how == "folder":
        path.mkdir()
    elif how == "loop":
        path.symlink_to(path.name)
    elif how == "device":
        path.symlink_to("/dev/zero")
    elif how == "older":
        path.write_bytes(random.choice([file for file in other.iterdir() if file.is_file()]).read_bytes())
    elif how == "swapped":
        files = [marks["file"] for marks in listed(page) if marks["file"] != path.name]
        second = folder / random.choice(files) if files else path
        path.write_bytes(second.read_bytes() if second != path else content)
        replace(second, content)
    elif how == "renamed":
        (folder / f"{path.stem}x{path.suffix}").write_bytes(content)
