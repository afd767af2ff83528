"""Damage bytes as disks, networks and editors do, and make bytes that never were a table."""

from __future__ import annotations

import json
from random import Random


def damaged(random: Random, raw: bytes) -> bytes:
    """Return bytes with one to three faults."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if raw:
            raw = _FAULTS[random.randrange(len(_FAULTS))](random, raw)
    return raw


def _flip_bits(random: Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(random.choice((1, 1, 1, 4))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _replace_byte(random: Random, raw: bytes) -> bytes:
    position = random.randrange(len(raw))
    return raw[:position] + random.choice(b"0123456789.,;-+eE \t\n\r\"'|\0#").to_bytes() + raw[position + 1 :]


def _cut(random: Random, raw: bytes) -> bytes:
    return raw[: random.randrange(len(raw))]


def _remove(random: Random, raw: bytes) -> bytes:
    start = random.randrange(len(raw))
    return raw[:start] + raw[start + random.choice((1, 1, 5, 50)) :]


def _insert(random: Random, raw: bytes) -> bytes:
    start = random.randrange(len(raw))
    return raw[:start] + random.randbytes(random.choice((1, 1, 4, 20))) + raw[start:]


def _zero(random: Random, raw: bytes) -> bytes:
    start = random.randrange(len(raw))
    length = min(random.choice((1, 4, 64)), len(raw) - start)
    return raw[:start] + bytes(length) + raw[start + length :]


def _repeat_line(random: Random, raw: bytes) -> bytes:
    lines = raw.split(b"\n")
    lines.insert(random.randrange(len(lines)), random.choice(lines))
    return b"\n".join(lines)


_FAULTS = (_flip_bits, _flip_bits, _replace_byte, _replace_byte, _cut, _remove, _insert, _zero, _repeat_line)


_FIRST_BYTES = (
    *(b"PAR1", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", b"\x1f\x8b\x08"),  # Parquet, HDF5, zip, gzip
    *(b"\xfd7zXZ\0", b"BZh9", b"\xff\xfe", b"%PDF"),  # xz, bzip2, UTF-16, PDF
)
"""By which programs know the kind of a file."""


def garbage(random: Random) -> bytes:
    """Return bytes that are not a table: noise, punctuation, JSON, markup, a program, deep nesting."""
    kind = random.randrange(8)
    size = random.choice((0, 1, 2, 3, 10, 100, 1000))
    if kind == 0:
        return random.randbytes(size)
    if kind == 1:
        return bytes(random.choice(b",;\t|\n\r\"' #.-0123456789eE") for _ in range(size))
    if kind == 2:
        return json.dumps(
            [{"time": f"2024-01-0{day}", "a": day, "b": [1, {"c": None}]} for day in range(1, 5)]
        ).encode()
    if kind == 3:
        return b"<html><body><table><tr><td>1</td><td>2,5</td></tr></table></body></html>\n" * random.randint(1, 4)
    if kind == 4:
        return (b"[" * size) + (b"]" * size)
    if kind == 5:
        return "".join(random.choice('aé\u2028\u0085\x0b\x0c\x1c,;\n\t"1.0\ufeff\u00a0') for _ in range(size)).encode()
    if kind == 6:
        magic = random.choice(_FIRST_BYTES)
        return magic + random.randbytes(size) + magic
    return (b"time,a\n" + b'"' * random.choice((1, 3)) + b"2024-01-01,1\n" * (size // 20 + 1))[: size + 40]
