"""`subcast replay`: readings of a table to a service, with faults."""

import numpy as np
import pytest

import subcast
from commands.examples import NAMES, run, waves
from commands.fake_service import fake_service
from subcast.commands.replay import Fault, Step, place_faults, read_faults, replay, sent_times, steps_of
from subcast.commands.service_client import ServiceClient
from subcast.errors import InputError
from subcast.subset.metadata import TrainingMetadata

STORED = {"stored": 5, "too_late": 0}
ANSWERS = {"/v1/status": [(200, {"clock": "feed"}, {})], "/v1/readings": [(200, STORED, {})]}


@pytest.fixture
def table(tmp_path):
    waves().save(tmp_path / "waves.csv")
    return tmp_path / "waves.csv"


def texts(series):
    return [str(moment) for moment in series.times]


class TestFaults:
    def test_texts(self):
        assert read_faults("stick", None) == []
        assert read_faults("stick", "a, b@3 ,,c@2024-01-01") == [
            ("stick", "a", ""), ("stick", "b", "3"), ("stick", "c", "2024-01-01"),
        ]  # fmt: skip

    def test_places(self):
        asked = [
            ("kill", "north", ""),
            ("stick", "west", "7"),
            ("drift", "east", "2024-01-01T05:00"),
            ("kill", "south", ""),
        ]
        faults = place_faults(asked, waves(), 20, 10, None)
        assert [(fault.sensor, fault.step) for fault in faults] == [
            ("north", 20),
            ("west", 7),
            ("east", 5),
            ("south", 30),
        ]

    @pytest.mark.parametrize(
        ("asked", "words"),
        [
            ([("kill", "nort", "")], "names 'nort'"),
            ([("kill", "north", ""), ("stick", "north", "")], "two faults"),
            ([("kill", "north", "soon")], "number of steps or as a time"),
        ],
    )
    def test_wrong_ones(self, asked, words):
        with pytest.raises(InputError, match=words):
            place_faults(asked, waves(), 20, 10, None)

    def test_a_stated_time_is_of_the_zone(self):
        series = subcast.Series(np.ones((5, 1)), ("a",), waves().times[:5], zone="Europe/Berlin")
        assert place_faults([("kill", "a", "2024-01-01T03:00")], series, 0, 0, "Europe/Berlin")[0].step == 2
        assert place_faults([("kill", "a", "2024-01-01T03:00Z")], series, 0, 0, "Europe/Berlin")[0].step == 3

    def test_what_is_sent(self):
        series = waves()[:6]
        faults = [
            Fault("kill", NAMES[0], 2),
            Fault("stick", NAMES[1], 3),
            Fault("offset", NAMES[2], 1),
            Fault("drift", NAMES[3], 1),
        ]
        steps = list(steps_of(series, faults, texts(series)))
        sent = {name: [step.readings.get(name) for step in steps] for name in NAMES}
        true = {name: series.values[:, place].tolist() for place, name in enumerate(NAMES)}
        assert sent[NAMES[0]][:2] == pytest.approx(true[NAMES[0]][:2])
        assert sent[NAMES[0]][2:] == [None] * 4
        assert sent[NAMES[1]][3:] == [sent[NAMES[1]][2]] * 3
        offset, drift = (np.array(sent[name]) - true[name] for name in NAMES[2:4])
        assert offset == pytest.approx([0, *[3 * series.values[:, 2].std()] * 5], rel=1e-4, abs=1e-4)
        assert (np.diff(drift[1:]) > 0).all()
        assert sent[NAMES[4]] == pytest.approx(true[NAMES[4]])
        assert steps[1].happens == [f"{NAMES[2]} jumps to an offset", f"{NAMES[3]} begins to drift"]

    def test_a_sensor_gets_well_again(self):
        series = waves()[:8]
        (fault,) = place_faults([("kill", NAMES[0], "2..5")], series, 0, 0, None)
        steps = list(steps_of(series, [fault], texts(series)))
        assert [NAMES[0] in step.readings for step in steps] == [True] * 2 + [False] * 3 + [True] * 3
        assert steps[5].happens == [f"{NAMES[0]} is well again"]

    def test_a_missing_reading_is_not_sent_and_nothing_happens_after_the_end(self):
        values = np.array([[1.0, np.nan], [2.0, 3.0]])
        series = subcast.Series(values, ("a", "b"), waves().times[:2])
        steps = list(steps_of(series, [Fault("kill", "a", 9), Fault("stick", "b", 0)], texts(series)))
        assert [step.readings for step in steps] == [{"a": 1.0}, {"a": 2.0}]


def test_times_as_they_were_or_now():
    series = waves()[:3]
    metadata = TrainingMetadata.of(waves().windows(lookback=6, horizon=3))
    assert sent_times(series, metadata, now=False) == [
        "2024-01-01T00:00:00",
        "2024-01-01T01:00:00",
        "2024-01-01T02:00:00",
    ]
    now = np.array(sent_times(series, metadata, now=True), dtype="datetime64[s]")
    assert abs(now[0] - np.datetime64("now", "s")) < np.timedelta64(15, "h")
    assert (np.diff(now) == np.timedelta64(1, "h")).all()


class TestSending:
    def steps(self, count):
        return [Step(f"t{number}", {"a": float(number)}, []) for number in range(count)]

    def test_the_first_steps_together_then_one_at_a_time(self):
        said, slept = [], []
        with fake_service(ANSWERS) as service:
            counts = replay(
                self.steps(6), ServiceClient(service.url), seconds=5, warm=3, say=said.append, sleep=slept.append
            )
            bodies = service.bodies("/v1/readings")
            keys = {headers["Idempotency-Key"] for _, _, headers, _ in service.requests}
        assert [len(body["readings"]) for body in bodies] == [3, 1, 1, 1]
        assert bodies[1]["readings"] == [{"sensor": "a", "time": "t3", "value": 3.0}]
        assert len(keys) == 4
        assert counts == {"steps": 6, "readings": 6, "stored": 20, "too_late": 0}
        assert [round(wait) for wait in slept] == [5, 10, 15]
        assert said[-1] == "6 steps and 6 readings sent"

    def test_an_interrupt_says_how_far_it_came(self):
        said = []

        def interrupt(seconds):
            raise KeyboardInterrupt

        with fake_service(ANSWERS) as service, pytest.raises(KeyboardInterrupt):
            replay(self.steps(6), ServiceClient(service.url), seconds=5, warm=2, say=said.append, sleep=interrupt)
        assert said[-1] == "stopped after 2 steps and 2 readings"


class TestCommand:
    def test_tells_what_it_does(self, fitted, table):
        with fake_service(ANSWERS) as service:
            output = run(
                "replay", fitted[0] / "plant", table, "--speed", "0", "--steps", "40", "--kill", "north",
                "--stick", "west@30", "--url", service.url,
            ).output  # fmt: skip
            bodies = service.bodies("/v1/readings")
        assert f"40 steps of 5 sensors from 2024-01-01T00:00:00, one every 0 s, to {service.url}" in output
        assert "planned at 2024-01-02T00:00:00: north falls silent" in output
        assert "2024-01-02T06:00:00: west is stuck" in output
        assert "40 steps and " in output
        assert [len(body["readings"]) for body in bodies] == [60, *[5] * 12, *[4] * 16]

    def test_a_service_that_goes_by_the_clock(self, fitted, table):
        with fake_service({**ANSWERS, "/v1/status": [(200, {"clock": "wall"}, {})]}) as service:
            with pytest.raises(InputError, match="--clock feed"):
                run("replay", fitted[0] / "plant", table, "--url", service.url)
            output = run("replay", fitted[0] / "plant", table, "--url", service.url, "--now", "--steps", "2").output
        assert "2 steps and 10 readings sent" in output

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--speed", "-1"], "--speed must be at least 0"),
            (["--now", "--speed", "600"], "needs --speed 1"),
            (["--start", "2031-01-01"], "after the last reading"),
            (["--start", "soon"], "must say when"),
            (["--kill", "nobody"], "names 'nobody'"),
        ],
    )
    def test_wrong_options(self, fitted, table, arguments, words):
        with pytest.raises(InputError, match=words):
            run("replay", fitted[0] / "plant", table, *arguments)

    def test_unknown_sensors_and_another_rate(self, fitted, tmp_path):
        series = waves()
        subcast.Series(series.values, (*NAMES[:4], "stranger"), series.times).save(tmp_path / "other.csv")
        with pytest.raises(InputError, match="'stranger', which the wrapper does not know"):
            run("replay", fitted[0] / "plant", tmp_path / "other.csv")
        times = series.times[0] + np.arange(240) * np.timedelta64(30, "m")
        subcast.Series(series.values, NAMES, times).save(tmp_path / "fast.csv")
        with pytest.raises(InputError, match="a step every 1800 s, and the wrapper every 3600 s"):
            run("replay", fitted[0] / "plant", tmp_path / "fast.csv")
