import pytest

from subcast.screening import sentences


@pytest.mark.parametrize(
    ("steps", "step", "expected"),
    [(7, 300 * 10**9, "35 minutes"), (1, 3600 * 10**9, "1 hour"), (48, 3600 * 10**9, "2 days"), (3, None, "3 steps"),
     (1, None, "1 step"), (90, 10**9, "1.5 minutes")],
)  # fmt: skip
def test_durations_are_written_in_words(steps, step, expected):
    assert sentences.duration(steps, step) == expected


def test_ranges_without_a_bound_are_written():
    assert "at most 5" in sentences.out_of_range(9.0, -float("inf"), 5.0)
    assert "at least 5" in sentences.out_of_range(1.0, 5.0, float("inf"))
    assert "no reading" in sentences.out_of_range(float("inf"), 0.0, 5.0)
    assert "no code" in sentences.out_of_range(-999.0, -float("inf"), float("inf"))


def test_a_bias_is_written_with_its_side():
    assert (
        sentences.biased(2.5, "below", "4 hours") == "has been 2.5 below what the other sensors say for about 4 hours"
    )
    assert sentences.biased(None, "above", "1 day") == "has been above what the other sensors say for about 1 day"


def test_a_stuck_sensor_is_compared_with_what_is_usual_then():
    assert sentences.stuck(2.0, "1 day", "1 hour").endswith("without a change; up to 1 hour is usual")
    alone = sentences.stuck(2.0, "1 day", "1 hour", alone=True)
    assert "while the other sensors say something else; up to 1 hour is usual then" in alone
