"""A look into the content of an ONNX file before it is run: does it refer to other files?

An ONNX file is a protocol buffer: fields of a number, a type and a value, nested. Only the few fields in which a tensor
can be are followed, and nothing is unpacked.
"""

from __future__ import annotations

from collections.abc import Iterator

_DEEPEST = 60

# For each kind of message, the numbers of the fields with messages to follow, and their kinds (onnx.proto).
_FOLLOWED = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # fields of a tensor


def refers_to_other_files(content: bytes) -> bool:
    """Return whether a tensor of an ONNX file is stored in another file; raise a ValueError if it is no ONNX file.

    >>> refers_to_other_files(b"")
    False
    """
    return _refers(memoryview(content), "model", 0)


def _refers(message: memoryview, kind: str, depth: int) -> bool:
    if depth > _DEEPEST:
        raise ValueError("the graph is nested too deeply")
    for number, value in _fields(message):
        if kind == "tensor" and (number == _EXTERNAL_DATA or (number == _DATA_LOCATION and value)):
            return True
        inner = _FOLLOWED[kind].get(number)
        if inner is not None and isinstance(value, memoryview) and _refers(value, inner, depth + 1):
            return True
    return False


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field of a message."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(message, place)
            yield number, value
            continue
        if wire == 2:
            size, place = _varint(message, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError("a field has an unknown type")
        if place + size > len(message):
            raise ValueError("a field is cut short")
        yield number, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """Return a number of up to ten bytes of seven bits, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            break
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number is cut short")
