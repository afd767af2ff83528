"""Array files: the .npy format of NumPy, written with one fixed header, and opened by memory map without parsing it."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError

_TYPES = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")
_AT_ONCE = 1 << 24  # bytes written together
_MOST_AXES = 32


def stored_type(name: object) -> np.dtype[Any]:
    """Return the type that a page names; raise a ValueError unless it is one of plain numbers.

    >>> stored_type("float32") == np.float32
    True
    """
    if not isinstance(name, str) or not _TYPES.fullmatch(name):
        raise ValueError(name)
    return np.dtype(name).newbyteorder("<")


def stored_shape(sizes: object) -> tuple[int, ...]:
    """Return the shape that a page names; raise a ValueError unless it is a list of sizes."""
    if not isinstance(sizes, list) or len(sizes) > _MOST_AXES:
        raise ValueError(sizes)
    if not all(type(size) is int and 0 <= size < 1 << 60 for size in sizes):
        raise ValueError(sizes)
    return tuple(sizes)


def header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the first bytes of an array file: a valid .npy header of version 1, always the same for the same array.

    >>> header(np.dtype("float32"), (2, 3)).rstrip()[10:]
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    """
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    padding = -(10 + len(text) + 1) % 64
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + padding + 1) + text + b" " * padding + b"\n"


def file_size(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    """Return the size in bytes of the file of an array."""
    count = 1
    for size in shape:
        count *= size
    return len(header(dtype, shape)) + count * dtype.itemsize


def pieces(name: str, array: NDArray[Any]) -> Iterator[bytes | memoryview]:
    """Yield the content of the file of an array, piece by piece, in C order."""
    if not _TYPES.fullmatch(array.dtype.name):
        raise InputError(f"the array {name!r} to save must hold plain numbers, got {array.dtype}")
    dtype = stored_type(array.dtype.name)
    yield header(dtype, array.shape)
    if not array.size:
        return
    rows = array if array.ndim else array.reshape(1)
    step = max(1, _AT_ONCE // (array.nbytes // len(rows)))
    for first in range(0, len(rows), step):
        block = np.ascontiguousarray(rows[first : first + step], dtype=dtype)
        yield block.reshape(-1).view(np.uint8).data


def open_array(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array in an open file of the right size, memory-mapped; raise a ValueError if its header differs."""
    expected = header(dtype, shape)
    file.seek(0)
    if file.read(len(expected)) != expected:
        raise ValueError("the header differs")
    if 0 in shape:
        empty = np.zeros(shape, dtype)
        empty.flags.writeable = False
        return empty
    return np.asarray(np.memmap(file, dtype=dtype, mode="r", offset=len(expected), shape=shape, order="C"))
