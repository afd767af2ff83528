import json

import numpy as np
import pytest
from typer.testing import CliRunner

from screening.examples import HORIZON, LOOKBACK, last_reading, plant
from subcast import SubsetForecaster
from subcast.cli import app
from subcast.commands.screen import run_screen
from subcast.errors import InputError, SubcastError
from subcast.screening import Screener
from subcast.series import Series


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a screener, and the readings after its training."""
    train, _, test = plant().split(LOOKBACK, HORIZON)
    where = tmp_path_factory.mktemp("plant")
    Screener.fit(SubsetForecaster(last_reading, progress=False).fit(train), train).save(where)
    return where, test.series


@pytest.fixture
def stuck(folder, tmp_path):
    """A file in which one sensor sticks until the end and another has an impossible reading."""
    values = folder[1].values.copy()
    values[200:, 1] = values[200, 1]
    values[100, 4] = 999999
    path = tmp_path / "readings.csv"
    Series(values, folder[1].variables, folder[1].times, freq="h").save(path)
    return path


def test_the_ill_sensor_is_shown_with_since_and_why(folder, stuck, tmp_path):
    result = CliRunner().invoke(app, ["screen", str(folder[0]), str(stuck), "-o", str(tmp_path / "flags.csv")])
    assert result.exit_code == 0, result.output
    shown = " ".join(result.output.split())
    assert "s1" in shown
    assert str(folder[1].times[200])[:10] in shown
    assert "without a change" in shown
    header, *rows = (tmp_path / "flags.csv").read_text().splitlines()
    assert header == "time,s0,s1,s2,s3,s4,s5"
    assert rows[100].split(",")[5] == "4"
    assert rows[-1].split(",")[2] == "4"
    assert len(rows) == len(folder[1])


def test_json_holds_health_and_episodes(folder, stuck):
    result = CliRunner().invoke(app, ["screen", str(folder[0]), str(stuck), "--json"])
    record = json.loads(result.output)
    assert record["health"]["s1"]["state"] == "stuck"
    assert record["flags"]["bad"] > 10
    assert any(each["sensor"] == "s1" and each["end"] is None for each in record["episodes"])


def test_a_sensor_that_is_not_in_the_file_is_silent(folder, tmp_path):
    path = tmp_path / "some.csv"
    folder[1].select(["s0", "s2", "s3", "s4", "s5"]).save(path)
    screened = run_screen(folder[0], path)
    assert (screened.flags[:, 1] == 9).all()
    assert screened.health["s1"].state == "dead"


def test_bad_input_gets_a_sentence(folder, stuck, tmp_path):
    with pytest.raises(SubcastError, match="subcast fit"):
        run_screen(tmp_path / "nothing", stuck)
    with pytest.raises(SubcastError, match="holds no screener"):
        run_screen(tmp_path, stuck)
    with pytest.raises(SubcastError, match="there is no file"):
        run_screen(folder[0], tmp_path / "no.csv")
    with pytest.raises(InputError, match=r"\.csv"):
        run_screen(folder[0], stuck, output=tmp_path / "flags.txt")
    other = tmp_path / "other.csv"
    series = folder[1]
    Series(series.values[:, :2], ("s0", "s11"), series.times, freq="h").save(other)
    with pytest.raises(InputError, match="'s11' is not one of the 6 sensors: did you mean 's1'"):
        run_screen(folder[0], other)
    times = series.times[0] + np.arange(len(series)) * np.timedelta64(10, "m")
    Series(series.values, series.variables, times, freq="10min").save(other)
    with pytest.raises(InputError, match="a reading every 10 minutes"):
        run_screen(folder[0], other)
