"""The layout of a text table: separator, header, row names, and fields of any length and kind."""

import pytest

from subcast.errors import DataError
from subcast.tables.layout import SPACES, first_records, layout_of, without_comments


class TestSeparator:
    @pytest.mark.parametrize(
        ("text", "separator"),
        [
            ("a,b\n1,2\n", ","),
            ("a;b\n1,5;2,5\n", ";"),
            ("a\tb\n1,5\t2,5\n", "\t"),
            ("1,5;2,5\n3,5;4,5\n", ";"),
            ("time;a\n2024-01-01;1,5\n", ";"),
            ("time|a\n2024-01-01|1,5\n", "|"),
            ("a b\n1 2\n", SPACES),
            ("a\n1\n", ","),
            ('"x;y",b\n1,2\n', ","),
            ("a,b\n2024-01-01,1,2\n2024-01-02,1,2\n", ","),
            ("north 0\n1\u202f002\n1\u202f010\n", ","),
            ("a b\n1\u00a0002 7\n990 8\n", SPACES),
        ],
    )
    def test_separators(self, text, separator):
        assert layout_of(text, "t").separator == separator


class TestRecords:
    @pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
    def test_only_line_feeds_and_returns_end_a_line(self, character):
        text = f"a{character}1,b\n1,2\n"
        assert first_records(text, ",") == [[f"a{character}1", "b"], ["1", "2"]]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_line_ends(self, end):
        assert first_records(end.join(["a,b", "", '"1",2', ""]), ",") == [["a", "b"], ["1", "2"]]

    def test_quotes(self):
        text = '"a ""b"", c", "d"\n5" pipe,"x\ny"\n"open,1\n'
        assert first_records(text, ",") == [['a "b", c', "d"], ['5" pipe', "x\ny"], ['"open', "1"]]

    def test_only_the_first_lines_are_read(self):
        assert len(first_records("1,2\n" * 100, ",")) == 20

    def test_very_long_lines(self):
        line = ",".join(["1"] * 400_000)
        assert [len(record) for record in first_records(f"{line}\n{line}\n{line}\n{line}\n", ",")] == [400_000] * 3
        assert layout_of("x" * 200_000 + ",b\n1,2\n", "t").header == ["x" * 200_000, "b"]


class TestComments:
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_comments_are_dropped_and_may_hold_the_header(self, end):
        assert without_comments(f"# one{end}# two, three, four{end}1,2{end}") == f"1,2{end}"
        assert without_comments(f"# one{end}# a,b{end}1,2{end}") == f"a,b\n1,2{end}"

    @pytest.mark.parametrize("line", ["sep=;", "SEP=;", '"sep=;"', "sep=;;", "sep=,", "sep=\t"])
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_the_line_for_spreadsheets_is_dropped(self, line, end):
        table = f"time;a{end}2024-01-01;1,5{end}"
        assert without_comments(f"{line}{end}{table}") == table
        assert without_comments(f"sep=;a{end}1;2{end}") == f"sep=;a{end}1;2{end}"  # names

    def test_comments_alone(self):
        with pytest.raises(DataError, match="t has only blank lines"):
            layout_of(without_comments("# one\n# two"), "t")


class TestHeader:
    @pytest.mark.parametrize("first", ["1.234,5;2", "1'234;2", "1 234;0,5", "-5;2024-01-01"])
    def test_numbers_of_any_convention_are_no_names(self, first):
        assert not layout_of(f"{first}\n7;8\n", "t").has_header

    def test_row_names(self):
        assert layout_of(",a\n0,1\n", "t").has_row_names
        assert layout_of("a,b\n0,1,2\n1,2,3\n", "t").has_row_names
        assert not layout_of("a,b\n0,1,\n1,2,\n", "t").has_row_names


class TestRowNames:
    @pytest.mark.parametrize(
        "text",
        [
            "north 0\n986,700\n963,424\n",
            "@cmd\n-0,4890\n-0,4855\n",
            "flow\n1\u202f002,89\n986,70\n",
            "flow\n1,5\n",
            "a,b\n1,5,20\n1,7,21\n",
            "flow\n7,5\nNA,6\n",
        ],
    )
    def test_parts_of_numbers_with_decimal_commas_are_no_row_names(self, text):
        with pytest.raises(
            DataError, match=r"the lines of t begin with numbers such as .*: if they are the beginning of"
        ):
            layout_of(text, "t")

    @pytest.mark.parametrize(
        "text", ["a\n1,5\n2,6\n3,5\n", "a\nnorth,5\nsouth,6\n", "a,b\n2001,5,6\n2002,5,7\n", "a;b\n7;5;6\n9;5;6\n"]
    )
    def test_names_and_counted_rows_are(self, text):
        assert layout_of(text, "t").has_row_names


class TestMissingMarkers:
    @pytest.mark.parametrize("marker", ["#N/A", "nan", "NaN", "n/a", "<NA>", "null", "None", "-nan", "NA", ""])
    def test_they_are_no_names(self, marker):
        assert not layout_of(f"1,5;{marker};2,5\n2,5;1;3,5\n", "t").has_header


def test_a_tab_before_a_number_sign_is_an_empty_field_and_no_comment():
    text = "\t#3\tb\n2024-01-01\t1\t2\n"
    assert without_comments(text) == text
    assert without_comments("  # a comment\na\tb\n1\t2\n").startswith("a\tb")


def test_one_column_of_decimal_commas_or_two_of_whole_numbers_without_a_header_is_refused_in_tsv():
    text = "0,50\n0,49\n-1,50\n"
    with pytest.raises(DataError, match=r"^the lines of a.tsv hold numbers such as '0,50' and it has no header"):
        layout_of(text, "a.tsv")
    assert layout_of(text, "a.csv").separator == ","  # the ending says what the comma is
    assert layout_of("1.5,2\n3,4\n", "a.tsv").separator == ","
    assert layout_of(text, "a.txt").separator == ","
    assert layout_of("1,2,3\n4,5,6\n", "a.tsv").separator == ","
