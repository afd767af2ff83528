"""Change a saved folder and compute its checksums again, as somebody would who does it on purpose."""

import io
import json
import zlib

import numpy as np

END = 1 << 16


def page_of(folder, kind):
    return json.loads(json.loads((folder / f"{kind}.json").read_text())["page"])


def write_page(folder, kind, page, version=1):
    text = json.dumps(page)
    outside = {"format": version, "checksum": zlib.crc32(text.encode()), "page": text}
    (folder / f"{kind}.json").write_text(json.dumps(outside))


def change_facts(folder, kind, path, value):
    """Set the fact at a path such as "fitted.bank.lookback"; a function is given the old value, `None` removes it."""
    page = page_of(folder, kind)
    *parents, name = path.split(".")
    facts = page["facts"]
    for parent in parents:
        facts = facts[parent]
    if value is None:
        del facts[name]
    else:
        facts[name] = value(facts[name]) if callable(value) else value
    write_page(folder, kind, page)


def change_array(folder, kind, name, change):
    """Replace an array by what `change` makes of it (or changes in it), in the file and in the page."""
    page = page_of(folder, kind)
    marks = page["arrays"][name]
    array = np.load(folder / marks["file"])
    made = change(array)
    array = array if made is None else np.asarray(made)
    marks |= {"shape": list(array.shape), "dtype": array.dtype.name}
    write_content(folder, marks, header(array) + np.ascontiguousarray(array).tobytes())
    write_page(folder, kind, page)


def change_blob(folder, kind, name, change):
    """Replace the content of a file by what `change` makes of it, in the file and in the page."""
    page = page_of(folder, kind)
    marks = page["blobs"][name]
    write_content(folder, marks, change((folder / marks["file"]).read_bytes()))
    write_page(folder, kind, page)


def write_content(folder, marks, content):
    (folder / marks["file"]).write_bytes(content)
    ends = zlib.crc32(content[max(0, len(content) - END) :], zlib.crc32(content[:END]))
    marks |= {"bytes": len(content), "ends": ends, "whole": zlib.crc32(content)}


def header(array):
    """The head of the file of an array: as NumPy writes it, without the room to grow that newer versions add."""
    file = io.BytesIO()
    facts = np.lib.format.header_data_from_array_1_0(np.ascontiguousarray(array).reshape(array.shape))
    np.lib.format.write_array_header_1_0(file, facts)
    text = file.getvalue()[10:].rstrip()
    padding = -(10 + len(text) + 1) % 64
    return b"\x93NUMPY\x01\x00" + (len(text) + padding + 1).to_bytes(2, "little") + text + b" " * padding + b"\n"
