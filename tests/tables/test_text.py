"""Text files: separators, encodings, headers, the convention of numbers, and dirty cells."""

import bz2
import gzip
import lzma
import warnings

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError, DataWarning, InputError
from subcast.series import Series
from table_samples import CSV, CSV_VALUES, NAN, days_of


class TestText:
    def test_a_plain_csv_is_read_without_a_warning(self, read):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = read(CSV)
        assert table.variables == ("a", "b")
        assert table.values.tolist() == CSV_VALUES
        assert days_of(table) == ["2024-01-01", "2024-01-02", "2024-01-03"]

    @pytest.mark.parametrize(
        ("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", bytes)]
    )
    def test_packed(self, read, ending, pack):
        assert read(pack(CSV.encode()), f"table.txt{ending}").values.tolist() == CSV_VALUES

    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    def test_separators(self, read, separator):
        assert read(CSV.replace(",", separator)).values.tolist() == CSV_VALUES

    def test_spaces_between_numbers(self, read):
        assert read("1 2.5\n2  3.5\n4\t5.5\n", "table.txt").values.tolist() == CSV_VALUES

    def test_commas_in_quotes_belong_to_the_name(self, read):
        assert read(CSV.replace("a,b", '"a, upper",b')).variables == ("a, upper", "b")

    def test_line_ends_of_windows(self, read):
        assert read(CSV.replace("\n", "\r\n")).values.tolist() == CSV_VALUES

    def test_blank_lines_are_passed_over(self, read):
        assert read("\n\n" + CSV.replace("\n", "\n\n")).values.tolist() == CSV_VALUES

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
    def test_encodings(self, read, encoding):
        table = read(CSV.replace("a,b", "Zürich,b").encode(encoding))
        assert table.variables == ("Zürich", "b")
        assert table.freq == "1D"

    def test_remarks_above_the_table_are_passed_over(self, read):
        assert read("# station 7\n# unit: mm, daily\n" + CSV).values.tolist() == CSV_VALUES

    def test_a_remark_with_as_many_fields_names_the_columns(self, read):
        assert read("# made by hand\n# " + CSV).variables == ("a", "b")

    def test_one_column(self, read):
        assert read("a\n1\n2\n3\n").variables == ("a",)

    def test_one_row_has_no_rate(self, read):
        table = read("time,a\n2024-01-01,1\n")
        assert (table.values.tolist(), table.freq) == ([[1]], None)


class TestHeaders:
    def test_two_variables_of_one_name_are_refused(self, read):
        """Which pandas alone would call a and a.1."""
        with pytest.raises(DataError, match=r"table.csv has 2 variables named 'a': give each"):
            read("time,a,a\n2024-01-01,1,2\n2024-01-02,3,4\n")

    def test_names_that_differ_only_by_spaces_are_refused(self, read):
        with pytest.raises(DataError, match=r"has 2 variables named 'a'"):
            read("time,a, a\n2024-01-01,1,2\n2024-01-02,3,4\n")

    def test_a_name_ending_in_a_number_is_one_of_its_own(self, read):
        assert read("time,a,a.1\n2024-01-01,1,2\n2024-01-02,3,4\n").variables == ("a", "a.1")

    def test_no_header_numbers_the_variables(self, read):
        table = read("1,2.5\n2,3.5\n4,5.5\n")
        assert (table.variables, table.values.tolist()) == (("v0", "v1"), CSV_VALUES)

    def test_no_header_above_dates(self, read):
        table = read(CSV.partition("\n")[2])
        assert (days_of(table)[0], table.values.tolist()) == ("2024-01-01", CSV_VALUES)

    def test_no_header_and_a_first_line_with_a_hole(self, read):
        np.testing.assert_array_equal(read("1.5,,NA\n2,3,4\n").values, [[1.5, NAN, NAN], [2, 3, 4]])

    def test_sensor_numbers_as_header(self, read):
        assert read("773869,767541\n64.4,67.6\n62.7,68.6\n").variables == ("773869", "767541")
        assert read("time,773869,767541\n2024-01-01,64,67\n2024-01-02,62,68\n").variables == ("773869", "767541")
        assert read(",773869,767541\n2024-01-01,64,67\n2024-01-02,62,68\n").variables == ("773869", "767541")

    @pytest.mark.parametrize("first", ["0,1", "1,2"])
    def test_counted_columns_are_a_header(self, read, first):
        assert read(f"{first}\n0.5,2.5\n1.5,2.5\n3,4\n").variables == tuple(first.split(","))

    @pytest.mark.parametrize("first", ["0,0", "0,5", "2,1", "2,nan"])
    def test_whole_readings_above_fractions_are_readings(self, read, first):
        assert len(read(f"{first}\n0.5,5.5\n1.5,2.5\n").values) == 3

    def test_a_saved_index_is_no_variable(self, read):
        assert read(",a,b\n0,1,2.5\n1,2,3.5\n2,4,5.5\n").values.tolist() == CSV_VALUES

    def test_a_saved_index_beside_times(self, read):
        table = read(",time,a,b\n0,2024-01-01,1,2.5\n1,2024-01-02,2,3.5\n2,2024-01-03,4,5.5\n")
        assert (table.variables, table.freq) == (("a", "b"), "1D")

    def test_a_saved_index_out_of_order(self, read_with_one_warning):
        table = read_with_one_warning(",a,b\n2,4,5.5\n0,1,2.5\n1,2,3.5\n")
        assert table.values.tolist() == CSV_VALUES
        assert table.repairs == ("the row numbers were out of order: sorted",)

    def test_row_names_without_a_header(self, read):
        table = read("a,b\n2024-01-01,1,2.5\n2024-01-02,2,3.5\n2024-01-03,4,5.5\n")
        assert (days_of(table)[0], table.values.tolist()) == ("2024-01-01", CSV_VALUES)

    def test_a_comma_at_the_end_of_each_line(self, read):
        assert read("time,a,b\n2024-01-01,1,2.5,\n2024-01-02,2,3.5,\n2024-01-03,4,5.5,\n").values.tolist() == CSV_VALUES

    def test_a_comma_at_the_end_of_each_line_and_of_the_header(self, read_with_one_warning):
        table = read_with_one_warning(CSV.replace("\n", ",\n"))
        assert (table.variables, table.values.tolist()) == (("a", "b"), CSV_VALUES)
        assert table.repairs == ("1 column has neither a name nor a reading: ignored",)

    def test_a_column_without_a_name(self, read_with_one_warning):
        table = read_with_one_warning(CSV.replace("a,b", "a,"))
        assert table.variables == ("a", "column 3")
        assert table.repairs == ("1 column has no name: called 'column 3'",)


class TestNames:
    def test_ids_stay_as_they_are_written(self, read):
        names = ["007", "7", "1.10", "1e3", "true", "NA", "nan", "null", "None"]
        rows = [f"{name},2024-01-0{day},{day**2}" for day in (1, 2, 3) for name in names]
        assert read("\n".join(["unique_id,ds,y", *rows, ""])).variables == tuple(names)
        assert read("\n".join(["station,when,y", *rows, ""]), id="station", time="when").variables == tuple(names)

    def test_a_row_without_an_id_is_dropped(self, read_with_one_warning):
        table = read_with_one_warning("unique_id,ds,y\na,2024-01-01,1\n ,2024-01-01,5\na,2024-01-02,3\n")
        assert table.repairs == ("1 row has no name in 'unique_id': dropped",)

    @pytest.mark.parametrize("first", ["20241028142000", "202410281420", "1730125200", "20241028"])
    def test_numbers_as_times_in_a_first_column_without_a_name(self, read, first):
        step = {14: 500, 12: 5, 10: 300, 8: 1}[len(first)]
        rows = "".join(f"{int(first) + step * row};{row**2};5{row}\n" for row in range(3))
        assert read(f";a;b\n{rows}").freq == ("1D" if len(first) == 8 else "5min")

    def test_large_row_numbers_are_no_times(self, read):
        assert read(",a\n30000001,1\n30000002,4\n30000003,5\n").times is None

    @pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
    def test_strange_spaces_in_names_and_cells(self, read, character):
        table = read(CSV.replace("a,b", f"a{character}1,b").replace(",2,", f",2{character},"))
        assert (table.variables, table.values.tolist()) == ((f"a{character}1", "b"), CSV_VALUES)

    @pytest.mark.parametrize("place", [0, 2_000_000])
    def test_a_nul_is_refused_wherever_it_is(self, read, place):
        text = CSV + "2024-01-04,5,6.5\n" + "\n" * place + "2024-01-05,5\0,6.5\n"
        with pytest.raises(DataError, match=r"table.csv is not text"):
            read(text)
        with pytest.raises(DataError, match=r"table.csv is not text"):
            read(text.encode("utf-16"))

    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    def test_a_first_line_of_any_length(self, read, separator):
        names = [f"sensor {'x' * 60} {number}" for number in range(2_500)]
        rows = [separator.join([f"2024-01-0{day}", *[f"{day**2}.5"] * len(names)]) for day in (1, 2)]
        table = read("\n".join([separator.join(["time", *names]), *rows, ""]))
        assert table.variables == tuple(names)
        assert table.values.tolist() == [[1.5] * len(names), [4.5] * len(names)]

    def test_fields_of_any_length(self, read_with_one_warning):
        long = "x" * 150_000
        table = read_with_one_warning(f"time,{long},b\n2024-01-01,1,{long}\n2024-01-02,2,3.5\n2024-01-03,4,5.5\n")
        assert table.variables == (long, "b")
        assert table.repairs == ("1 cell was text in 'b': now missing",)

    @pytest.mark.parametrize("name", ["=1+1", "+a", "-b", "@c", "'=d", "=e,f", '="g"'])
    def test_marked_formulas_are_read_back(self, tmp_path, name):
        series = Series(np.array([[1.5, 2], [3, 4]]), [name, "plain"])
        series.save(tmp_path / "t.csv")
        header = (tmp_path / "t.csv").read_text().splitlines()[0]
        assert not any(cell.strip('"')[:1] in "=+-@" for cell in header.split(",", 1)[1:])
        assert Series.read(tmp_path / "t.csv").variables == (name, "plain")

    @pytest.mark.parametrize("name", ["\ttab", "\rreturn", "\nfeed"])
    def test_names_that_begin_with_a_control_character(self, tmp_path, name):
        Series(np.array([[1.5], [3]]), [name]).save(tmp_path / "t.csv")
        assert Series.read(tmp_path / "t.csv").variables == (name,)

    @pytest.mark.parametrize("first", ['"Jan 16, 2024 00:10:00"', "16-Jan-2024", "2024-01-16T00:10:00Z"])
    def test_no_header_above_dates_of_any_form(self, read, first):
        text = "".join(f"{first.replace('16', str(day))},{day}.5,7\n" for day in (16, 17, 18))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert len(read(text).values) == 3

    def test_a_missing_reading_in_the_first_line_is_no_name(self, read):
        assert len(read("1,#N/A\n2,5\n4,<NA>\n").values) == 3


class TestDirtyText:
    def test_everything_at_once_is_one_warning(self, read_with_one_warning):
        table = read_with_one_warning(
            "time,a,b,c\n2024-01-01,1,2,7\n2024-01-03,inf,3,7\n2024-01-02,2,error,7\n2024-01-02,3,1,7\n2024-01-05,4,5,7\n"
        )
        np.testing.assert_array_equal(table.values[:, :2], [[1, 2], [3, 1], [NAN, 3], [NAN, NAN], [4, 5]])
        assert table.repairs == (
            "1 cell was text in 'b': now missing",
            "1 reading was infinite: now missing",
            "1 row was out of order: sorted",
            "1 row repeats a time: merged, the last reading is kept",
            "1 step was missing from the 1D grid: filled with missing readings",
            "1 variable is constant ('c'): kept",
        )

    def test_text_in_a_number_column(self, read_with_one_warning, read):
        assert read_with_one_warning(CSV.replace("2.5", "n.d.")).repairs == ("1 cell was text in 'b': now missing",)
        with pytest.raises(DataError, match=r"column 'b' of table.csv holds text \('n.d.'\), not readings"):
            read(CSV.replace("2.5", "n.d.").replace("3.5", "n.d."))

    def test_a_short_line_misses_its_last_readings(self, read):
        np.testing.assert_array_equal(read(CSV.replace(",3.5", "")).values[1], [2, NAN])

    def test_a_line_with_too_many_fields_is_refused(self, read):
        with pytest.raises(DataError, match=r"table.csv is not a table: Expected 3 fields in line 3, saw 4; every"):
            read(CSV.replace("3.5", "3.5,9"))

    def test_readings_beyond_the_header_are_never_dropped(self, read):
        """All lines end in a comma, but one far down has a reading after it."""
        rows = [f"{day:%Y-%m-%d},1,{place}," for place, day in enumerate(pd.date_range("2024", periods=40))]
        rows[30] += "5"
        with pytest.raises(DataError, match=r"table.csv is not a table: .*; every line needs the same fields"):
            read("time,a,b\n" + "\n".join(rows) + "\n")

    def test_an_open_quote_is_refused(self, read):
        with pytest.raises(DataError, match=r"table.csv is not a table: EOF inside string"):
            read(CSV.replace("2024-01-02", '"2024-01-02'))

    def test_a_header_alone_is_refused(self, read):
        with pytest.raises(DataError, match=r"table.csv has 0 rows of 3 columns: there is nothing to read"):
            read("time,a,b\n")

    def test_only_blank_lines(self, read):
        with pytest.raises(DataError, match="has only blank lines"):
            read("\n \n\n")

    def test_numbers_that_are_not_text_at_all(self, read):
        with pytest.raises(DataError, match=r"table.csv is not text: give the file the ending of its kind"):
            read(np.arange(50).tobytes())

    def test_options_reach_the_frame(self, read):
        text = "when,where,pm\n2024-01-01,x,1\n2024-01-01,y,2\n2024-01-02,x,3\n"
        table = read(text, time="when", id="where", value="pm")
        assert table.variables == ("x", "y")


def column(numbers, separator=";", first="a"):
    """A file with times, the numbers in column a, and nothing else."""
    days = pd.date_range("2024-01-01", periods=len(numbers))
    rows = [f"{day:%Y-%m-%d}{separator}{n}\n" for day, n in zip(days, numbers, strict=True)]
    return "".join([f"time{separator}{first}\n", *rows])


def two_columns(first, second, separator=";"):
    days = pd.date_range("2024-01-01", periods=len(first))
    rows = [f"{day:%Y-%m-%d}{separator}{a}{separator}{b}\n" for day, a, b in zip(days, first, second, strict=True)]
    return "".join([f"time{separator}a{separator}b\n", *rows])


THOUSANDS = ["980", "990", "1.010", "1.020"]


class TestConvention:
    """One convention for all numbers of a file: never a factor of 1000 without a word."""

    @pytest.mark.parametrize("separator", [";", "\t", "|"])
    def test_thousands_beside_decimal_commas(self, read_with_one_warning, separator):
        table = read_with_one_warning(two_columns(THOUSANDS, ["1,5", "2,5", "0,25", "7"], separator))
        assert table.values.tolist() == [[980, 1.5], [990, 2.5], [1010, 0.25], [1020, 7]]
        assert table.repairs == (
            "numbers read with a decimal comma ('1,5' is 1.5) and points between thousands ('1.010' is 1010)",
        )

    def test_a_comma_between_thousands_beside_decimal_points(self, read_with_one_warning):
        table = read_with_one_warning(two_columns(["1,234", "990"], ["1.5", "2.5"]))
        assert table.values.tolist() == [[1234, 1.5], [990, 2.5]]
        assert table.repairs == ("numbers read with commas between thousands ('1,234' is 1234)",)

    def test_semicolons_and_decimal_commas(self, read_with_one_warning):
        table = read_with_one_warning(CSV.replace(",", ";").replace(".5", ",5"))
        assert table.values.tolist() == CSV_VALUES
        assert table.repairs == ("numbers read with a decimal comma ('2,5' is 2.5)",)

    def test_one_column_of_decimal_commas_is_not_two_columns(self, read_with_one_warning):
        assert read_with_one_warning(column(["1,5", "2,5", "4"])).values[:, 0].tolist() == [1.5, 2.5, 4]

    def test_decimal_commas_without_a_header(self, read_with_one_warning):
        assert read_with_one_warning("1.234,5;2,5\n3,5;4,5\n").values.tolist() == [[1234.5, 2.5], [3.5, 4.5]]

    @pytest.mark.parametrize("separator", [";", "\t", "|", ","])
    def test_a_column_of_thousands_alone_is_refused(self, read, separator):
        sentence = (
            r"table.csv has numbers such as '1.010' in column 'a', which can be 1.01 or 1010, and no other number "
            r"settles it: give decimal='.' or thousands='.'"
        )
        with pytest.raises(DataError, match=sentence):
            read(column(THOUSANDS, separator))

    @pytest.mark.parametrize("separator", [";", "\t", "|"])
    def test_three_digits_everywhere_are_refused_where_commas_may_be_decimal(self, read, separator):
        with pytest.raises(DataError, match=r"'12.345' in column 'a', which can be 12.345 or 12345"):
            read(column(["12.345", "13.200"], separator))

    def test_three_digits_everywhere_are_decimals_between_commas(self, read_with_one_warning):
        table = read_with_one_warning(column(["12.345", "13.200"], ","))
        np.testing.assert_allclose(table.values[:, 0], [12.345, 13.2])
        assert table.repairs == ("numbers such as '12.345' read with a decimal point (12.345, not 12345)",)

    def test_a_comma_before_three_digits_alone_is_refused(self, read):
        with pytest.raises(DataError, match=r"'1,234' in column 'a', which can be 1.234 or 1234"):
            read(column(["1,234", "2,345"]))

    @pytest.mark.parametrize("proof", ["0.125", "1234.5", "1.5", "1.23456", ".5", "1.", "1.234e1"])
    def test_any_other_decimal_point_settles_it(self, read, proof):
        table = read(two_columns(THOUSANDS, ["5", "6", proof, "8"]))
        np.testing.assert_allclose(table.values[:, 0], [980, 990, 1.01, 1.02])

    @pytest.mark.parametrize("value", ["5e-1", "1e3", "inf"])
    def test_an_exponent_without_a_mark_settles_nothing(self, read, value):
        with pytest.raises(DataError, match=r"'1.010' in column 'a', which can be"):
            read(two_columns(THOUSANDS, ["5", "6", value, "8"]))

    def test_the_times_settle_nothing(self, read):
        rows = "".join(f"{1704067200 + 60 * step}.5;{n}\n" for step, n in enumerate(THOUSANDS))
        with pytest.raises(DataError, match=r"'1.010' in column 'a', which can be"):
            read(f"time;a\n{rows}")
        assert read(f"when;a\n{rows}", time="when", decimal=".").freq == "1min"

    def test_two_conventions_in_one_file_are_refused(self, read):
        sentence = (
            r"table.csv writes its numbers in more than one way \('2.5' in column 'b', '3,5' in column 'b'\): write "
            r"them alike, or say which way counts with decimal= and thousands="
        )
        with pytest.raises(DataError, match=sentence):
            read(CSV.replace(",", ";").replace("3.5", "3,5"))
        with pytest.raises(DataError, match="in more than one way"):
            read(two_columns(["1'234", "2 345"], ["1", "2"]))

    def test_with_the_option_the_other_convention_is_text(self, read_with_one_warning):
        table = read_with_one_warning(CSV.replace(",", ";").replace("3.5", "3,5"), decimal=".")
        np.testing.assert_array_equal(table.values[:, 1], [2.5, NAN, 5.5])
        assert table.repairs == ("1 cell was text in 'b': now missing",)

    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("1.234.567,89", 1234567.89),
            ("1'234'567.5", 1234567.5),
            ("1\u2019234,5", 1234.5),
            ("1\u00a0234,5", 1234.5),
            ("1\u202f234.5", 1234.5),
            ("-1 234,5", -1234.5),
            ("+1.234,5", 1234.5),
            ("-,5", -0.5),
            ("1_234_567.5", 1234567.5),
            ("2,5e3", 2500),
            ("2,5E-1", 0.25),
        ],
    )
    def test_numbers_of_one_meaning(self, read_with_one_warning, text, number):
        np.testing.assert_allclose(read_with_one_warning(column([text, "5"])).values[:, 0], [number, 5])

    @pytest.mark.parametrize("text", ["12,34,567.8", "1.23.456", "1,2,3", "1.234,567,8", "1_00", "01.02.2024"])
    def test_numbers_of_no_convention_are_refused(self, read, text):
        with pytest.raises(DataError, match=f"column 'a' of table.csv holds '{text}', which no convention of numbers"):
            read(column([text, "5", "6", "7"]))

    @pytest.mark.parametrize("text", ["\u22125", "5 %", "5%", "€5", "5 kW", "0x10"])
    def test_signs_and_units_are_text(self, read_with_one_warning, text):
        table = read_with_one_warning(column([text, "5", "6", "8"], ","))
        np.testing.assert_array_equal(table.values[:, 0], [NAN, 5, 6, 8])
        assert table.repairs == ("1 cell was text in 'a': now missing",)

    @pytest.mark.parametrize("number", ["1,234.5", "1,234", "1,5", "1.234.567"])
    def test_commas_in_the_numbers_of_a_comma_file_are_refused(self, read, number):
        with pytest.raises(DataError, match=f"is separated by commas and has numbers such as '{number}' in column 'a'"):
            read(column([f'"{number}"', "5"], ","))

    def test_commas_in_the_numbers_of_a_comma_file_with_the_option(self, read):
        text = column(['"1,234.5"', '"12,345"', "5"], ",")
        assert read(text, thousands=",").values[:, 0].tolist() == [1234.5, 12345, 5]
        text = column(['"1,5"', '"1.234,5"', "5"], ",")
        with pytest.warns(DataWarning, match="points between thousands"):
            assert read(text, decimal=",").values[:, 0].tolist() == [1.5, 1234.5, 5]
        assert read(text, decimal=",", thousands=".").values[:, 0].tolist() == [1.5, 1234.5, 5]

    @pytest.mark.parametrize("separator", [",", ";"])
    def test_the_options_decide(self, read, separator):
        text = column(THOUSANDS, separator)
        np.testing.assert_allclose(read(text, decimal=".").values[:, 0], [980, 990, 1.01, 1.02])
        np.testing.assert_allclose(read(text, thousands="").values[:, 0], [980, 990, 1.01, 1.02])
        np.testing.assert_allclose(read(text, thousands=".").values[:, 0], [980, 990, 1010, 1020])

    @pytest.mark.parametrize("separator", [",", ";"])
    def test_evidence_far_down_counts(self, read, separator):
        """Also where the proof is in the last row of another column, after the first rows that are looked at."""
        count = 400
        text = two_columns(["1.234"] * count + ["980"], ["7"] * count + ["0.5"], separator)
        table = read(text)
        np.testing.assert_allclose(table.values[[0, -1]], [[1.234, 7], [980, 0.5]])
        with pytest.warns(DataWarning, match="numbers read with a decimal comma"):
            table = read(two_columns(["1.234"] * count + ["980"], ["7"] * count + ["0,5"]))
        np.testing.assert_allclose(table.values[[0, -1]], [[1234, 7], [980, 0.5]])

    def test_long_tables(self, read_with_one_warning, read):
        rows = [f"{station};2024-01-0{day};{n}" for day in (1, 2) for station, n in (("x", "1.010"), ("y", f"{day},5"))]
        table = read_with_one_warning("\n".join(["unique_id;ds;y", *rows, ""]))
        assert table.values.tolist() == [[1010, 1.5], [1010, 2.5]]
        with pytest.raises(DataError, match=r"'1.010' in column 'y', which can be"):
            read("\n".join(["unique_id;ds;y", *(row for row in rows if row[0] == "x"), ""]))

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"decimal": ";"}, r"decimal must be '.' or ',', got ';'"),
            ({"thousands": "x"}, r"thousands must be '.', ',', ' ', \"'\", '_', or '' for none, got 'x'"),
            ({"decimal": ",", "thousands": ","}, r"decimal and thousands must differ, got ',' for both"),
        ],
    )
    def test_wrong_options(self, read, options, sentence):
        with pytest.raises(InputError, match=sentence):
            read(CSV, **options)

    def test_decimal_commas_between_commas_are_not_row_names(self, read):
        with pytest.raises(DataError, match="have one field more than its header, which begins with 'time': if its"):
            read("time,a\n2024-01-01,1,5\n2024-01-02,2,5\n")


@pytest.mark.parametrize("content", [b"\xff\xfe\xff\xfe", b"\xef\xbb\xbf\xef\xbb\xbf", b"\xef\xbb\xbf", b"\n\n \n"])
def test_a_file_of_byte_order_marks_or_blanks_is_empty(tmp_path, content):
    path = tmp_path / "a.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"^a\.tsv (is empty|has only blank lines): there is nothing to read"):
        Series.read(path)
