"""Records as JSON text: the same values, each list of numbers on one line."""

import json

import pytest

from subcast.experiments.record_files import record_text, write_record_file

VALUES = [
    {},
    {"a": [], "b": {}, "c": None, "d": True, "e": 'quotes " and \n lines'},
    {"numbers": [1, 2.5, None], "nested": [[1, 2], [3, 4]], "tables": [{"x": [1]}, {"y": {"z": []}}]},
    {"tuple": (1, 2), "tuples": ((1,), (2,))},
]


@pytest.mark.parametrize("value", VALUES)
def test_text_is_json_of_the_value(value):
    assert json.loads(record_text(value)) == json.loads(json.dumps(value))


def test_numbers_of_a_list_are_on_one_line():
    lines = record_text({"sums": [[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]]}).splitlines()
    assert lines == ["{", ' "sums": [', "  [1.5, 2.5, 3.5],", "  [4.5, 5.5, 6.5]", " ]", "}"]


def test_a_record_is_written_into_a_new_folder(tmp_path):
    path = tmp_path / "new" / "record.json"
    write_record_file(path, {"a": [1]})
    assert json.loads(path.read_text()) == {"a": [1]}
    assert [file.name for file in path.parent.iterdir()] == ["record.json"]
