"""Tests of array files: readable by NumPy, written in pieces, opened only if the header is the expected one."""

import io

import numpy as np
import pytest

from subcast.errors import InputError
from subcast.storage import arrays

EXAMPLES = [
    np.arange(12, dtype=np.float32).reshape(3, 4),
    np.arange(12.0).reshape(3, 4).T,
    np.arange(40, dtype=np.int64)[::3],
    np.array([True, False]),
    np.array(3.5),
    np.zeros((0, 3)),
    np.zeros((2, 0, 3), dtype=np.int32),
    np.arange(3, dtype=">f8"),
    np.array([1 + 2j], dtype=np.complex64),
    np.arange(5, dtype=np.float16),
]


def content_of(array):
    return b"".join(bytes(piece) for piece in arrays.pieces("a", array))


@pytest.mark.parametrize("array", EXAMPLES, ids=lambda a: f"{a.dtype}{list(a.shape)}")
def test_numpy_reads_the_file_and_so_do_we(array, tmp_path):
    content = content_of(array)
    read = np.load(io.BytesIO(content), allow_pickle=False)
    np.testing.assert_array_equal(read, array)
    dtype = arrays.stored_type(array.dtype.name)
    assert len(content) == arrays.file_size(dtype, array.shape)
    (tmp_path / "a.npy").write_bytes(content)
    with (tmp_path / "a.npy").open("rb") as file:
        opened = arrays.open_array(file, dtype, array.shape)
    np.testing.assert_array_equal(opened, array)
    assert opened.shape == array.shape
    assert not opened.flags.writeable


def test_large_arrays_are_written_in_pieces(monkeypatch):
    monkeypatch.setattr(arrays, "_AT_ONCE", 100)
    array = np.arange(600.0).reshape(60, 10).T
    pieces = list(arrays.pieces("a", array))
    assert len(pieces) == 11
    np.testing.assert_array_equal(np.load(io.BytesIO(b"".join(bytes(piece) for piece in pieces))), array)


@pytest.mark.parametrize(
    "array", [np.array([object()]), np.array(["text"]), np.zeros(2, "f4,f4"), np.array(["NaT"], "M8[s]")]
)
def test_only_plain_numbers_are_written(array):
    with pytest.raises(InputError, match="the array 'a' to save must hold plain numbers, got"):
        list(arrays.pieces("a", array))


@pytest.mark.parametrize(
    "name", ["object", "O", "float128", "f4,f4", "datetime64[ns]", "<U9", "", "float32 ", 4, None, ["float32"]]
)
def test_types_that_no_page_names(name):
    with pytest.raises(ValueError, match=r".*"):
        arrays.stored_type(name)


@pytest.mark.parametrize("shape", [None, 3, "33", [1.0], [-1], [True], [1 << 60], [1] * 33, [[1]], {"a": 1}])
def test_shapes_that_no_page_names(shape):
    with pytest.raises(ValueError, match=r".*"):
        arrays.stored_shape(shape)


@pytest.mark.parametrize(
    "hostile",
    [
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }",
        b"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 9" + b"9" * 20 + b"), }",
        b"(" * 60,
    ],
)
def test_a_header_is_compared_and_never_parsed(hostile, tmp_path):
    content = content_of(EXAMPLES[0])
    start = content.index(b"{")
    (tmp_path / "a.npy").write_bytes(content[:start] + hostile + content[start + len(hostile) :])
    with (tmp_path / "a.npy").open("rb") as file, pytest.raises(ValueError, match="header"):
        arrays.open_array(file, np.dtype("float32"), (3, 4))
