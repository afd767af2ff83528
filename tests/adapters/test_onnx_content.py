"""Tests that references to other files are found wherever a tensor can be."""

import numpy as np
import pytest

from subcast.adapters.onnx_content import refers_to_other_files

onnx = pytest.importorskip("onnx")
helper = onnx.helper


def tensor(external):
    values = onnx.numpy_helper.from_array(np.zeros(3, dtype=np.float32), "w")
    if external == "location":
        values.data_location = onnx.TensorProto.EXTERNAL
    if external == "entry":
        entry = values.external_data.add()
        entry.key, entry.value = "location", "../secret"
    return values


def graph(nodes=(), tensors=()):
    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3])
    return helper.make_graph(list(nodes), "g", [value], [value], initializer=list(tensors))


PLACES = {
    "initializer": lambda t: graph(tensors=[t]),
    "constant": lambda t: graph([helper.make_node("Constant", [], ["w"], value=t)]),
    "list": lambda t: graph([helper.make_node("Odd", [], ["w"], many=[t, t])]),
    "inner": lambda t: graph([helper.make_node("If", ["x"], ["y"], then_branch=graph(tensors=[t]))]),
    "inner list": lambda t: graph([helper.make_node("Odd", ["x"], ["y"], graphs=[graph(), graph(tensors=[t])])]),
    "sparse": lambda t: graph(
        [helper.make_node("Constant", [], ["w"], sparse_value=helper.make_sparse_tensor(t, int64s(), [9]))]
    ),
}


def int64s():
    return onnx.numpy_helper.from_array(np.arange(3), "places")


@pytest.mark.parametrize("place", PLACES)
def test_references_are_found_everywhere(place):
    for external in ("location", "entry"):
        assert refers_to_other_files(helper.make_model(PLACES[place](tensor(external))).SerializeToString())
    assert not refers_to_other_files(helper.make_model(PLACES[place](tensor(""))).SerializeToString())


def test_functions_are_searched():
    node = helper.make_node("Constant", [], ["w"], value=tensor("entry"))
    function = helper.make_function("mine", "f", [], ["w"], [node], [helper.make_opsetid("", 18)])
    model = helper.make_model(graph(), functions=[function])
    assert refers_to_other_files(model.SerializeToString())


@pytest.mark.parametrize(
    "content", [b"\xff" * 20, b"\x3a\xff\xff\x03abc", b"\x3a\x05\x0a\x0a", b"\x0b", b"\x3a", b"\x39abc"]
)
def test_what_is_no_onnx_file(content):
    with pytest.raises(ValueError, match=r"cut short|unknown type"):
        refers_to_other_files(content)


def test_deep_nesting_is_refused():
    def field(number, content):
        return bytes([number << 3 | 2, len(content) & 0x7F | 0x80, len(content) >> 7]) + content

    inner = b""
    for _ in range(30):  # a graph in an attribute of a node of a graph
        inner = field(1, field(5, field(6, inner)))
    with pytest.raises(ValueError, match="nested too deeply"):
        refers_to_other_files(field(7, inner))
