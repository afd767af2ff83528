"""One feed under screening: readings go in step by step, flags, reasons and the health of each sensor come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.errors import InputError
from subcast.limits import BAD, GOOD, MISSING, NOT_EVALUATED, SUSPECT
from subcast.screening import sentences
from subcast.screening.health import FIRST_LASTING, FLAT, NOTHING, RANGE, SILENT, STATES, TESTS, Causes, Health, Illness
from subcast.screening.learning import CLIP, MATTERS
from subcast.screening.signals import JUMPS, LASTING, SIDES, UNUSUAL, Arrival, Floats, Mask, Signals

if TYPE_CHECKING:
    from subcast.screening.screener import Screener

Flags = NDArray[np.int8]
Reason = tuple[str, int, str]
"""A test, the flag that it gave, and a sentence."""

_HALF = 0.5  # of a limit: since when a number was that large, the sensor is in doubt
_CROWD = 0.6  # of a limit: if more sensors than may be screened at once are beyond this, it is an event
_SURELY = 3  # times the longest usual run: a sensor is stuck even if it reads what the others say
_HEALTHY = 0.7  # of a limit: an ill sensor below that looks healthy
_OVERRIDES = (None, "good", "bad")


@dataclass(frozen=True, eq=False)
class ScreenedStep:
    """One step after screening.

    Parameters
    ----------
    time
        of the step, or its number in a feed without times
    flags
        [n], the QARTOD flag of each sensor: 1 good, 2 not evaluated, 3 suspect, 4 bad, 9 missing; the worst test wins
    reasons
        for each sensor the tests that it did not pass: (test, flag, sentence)
    values
        [n], the readings to forecast from: NaN where one is missing or bad, or its sensor is ill
    ill
        [n], sensors whose readings are not believed, for longer than one reading
    holes
        [lookback, n], which of the last readings (this one last) are not to be forecast from by all that is known now:
        when a sensor is found ill, some of its readings before were wrong too
    spiked
        [n], readings of the step before that were spikes, as this step shows; they are among the holes
    """

    time: np.datetime64 | int
    flags: Flags
    reasons: tuple[tuple[Reason, ...], ...]
    values: Floats
    ill: Mask
    holes: Mask
    spiked: Mask

    def hide(self, window: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """Return the last steps of the feed [t, n], this one last, with NaN for what is not to be forecast from."""
        steps = min(len(window), len(self.holes))
        hidden = np.array(window)
        hidden[len(window) - steps :][self.holes[len(self.holes) - steps :]] = np.nan
        return hidden


@dataclass
class _Judged:
    """What was found at one step."""

    readings: Floats
    flags: Flags
    reasons: dict[int, list[Reason]] = field(default_factory=dict)

    def add(self, sensor: int, test: str, flag: int, sentence: str) -> None:
        """Add what a test says about a sensor."""
        self.reasons.setdefault(sensor, []).append((test, flag, sentence))
        self.flags[sensor] = max(self.flags[sensor], flag)


class Feed:
    """The state of one feed under screening, returned by `Screener.start`."""

    def __init__(self, screener: Screener) -> None:
        n = len(screener.variables)
        self._screener, self._rules = screener, screener.rules
        self._signals = Signals(screener.rules.habits, screener.rules.scales)
        self._illness = Illness(n)
        self._beyond = np.zeros(n)  # smoothed share of readings out of range
        self._arrived = np.zeros(n, dtype=np.int64)  # readings since the begin, at most as many as are needed
        self._seen, self._same, self._doubt = (np.full(n, -1, dtype=np.int64) for _ in range(3))
        self._holes = np.zeros((screener.lookback, n), dtype=bool)
        self._suspect: dict[int, Reason] = {}
        self._asleep = np.zeros(n, dtype=bool)
        self._suspect_since = np.full(n, -1, dtype=np.int64)
        self._overrides: dict[str, str] = {}
        self._stamp: int | None = None
        self._count = 0

    # One step

    def push(self, values: ArrayLike, time: Any = None) -> ScreenedStep:
        """Judge the readings of one step.

        Parameters
        ----------
        values
            [n] in the order of the variables, NaN where nothing arrived
        time
            the time of the step, later than the one before; needed if the training had times

        Returns
        -------
        ScreenedStep
        """
        readings = self._checked(values)
        stamp = self._begin(time)
        judged = _Judged(readings, np.full(len(readings), GOOD, dtype=np.int8))
        known = self._judge_range(judged)
        arrival = self._arrive(known, stamp)
        self._asleep = arrival.asleep
        spiked = self._judge_spike(arrival)
        wild = self._judge_instant(judged, arrival, spiked)
        self._signals.advance(arrival, wild, self._illness.ill, self._recently_ill(stamp))
        self._signals.believe(arrival.differences, ~wild)
        self._judge_lasting(judged, arrival, wild, stamp)
        self._judge_evaluated(judged, arrival)
        return self._result(judged, stamp, spiked)

    def _checked(self, values: ArrayLike) -> Floats:
        try:
            readings = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"values must be numbers, NaN where nothing arrived, got {values!r:.60}") from None
        n = len(self._screener.variables)
        if readings.shape != (n,):
            raise InputError(f"values must have one number for each of the {n} variables, got shape {readings.shape}")
        return readings

    def _begin(self, time: Any) -> int:
        """Return the stamp of a step, and count the steps that were left out before it."""
        stamp = self._screener.stamp(time, self._count)
        if self._stamp is not None and stamp <= self._stamp:
            raise InputError(
                f"time must be later than that of the step before ({self._screener.moment(self._stamp)}), "
                f"got {self._screener.moment(stamp)}"
            )
        if self._stamp is not None:
            missed = self._screener.steps_between(self._stamp, stamp) - 1
            if missed > 0:
                self._signals.skip(missed)
                shift = min(missed, len(self._holes))
                self._holes = np.concatenate([self._holes[shift:], np.zeros((shift, self._holes.shape[1]), dtype=bool)])
        self._stamp, self._count = stamp, self._count + 1
        return stamp

    def _arrive(self, known: Floats, stamp: int) -> Arrival:
        """Compare readings in range with the usual ones and with what the other sensors say."""
        screener = self._screener
        deviations = screener.deviations(known, stamp) - self._signals.base
        differences = self._differences(np.clip(deviations, -CLIP, CLIP), ~np.isnan(deviations) & ~self._out())
        return Arrival(known, deviations, differences, screener.sleeps(known, stamp), screener.row(stamp))

    def _recently_ill(self, stamp: int) -> Mask:
        """Return the sensors that fell ill within a week, [n]; what lasts longer is not a fault but a change."""
        week = 14 * self._rules.scales.long * (self._screener.step or 1)
        return self._illness.ill & (stamp - self._illness.since <= week)

    def _out(self) -> Mask:
        """Return the sensors that say nothing about the others, [n]."""
        out = self._illness.ill
        for name, override in self._overrides.items():
            out[self._screener.place(name)] = override == "bad"
        return out

    def _differences(self, deviations: Floats, trusted: Mask) -> Floats:
        """Return the differences from what the others say; sensors that differ wildly say nothing about the others."""
        virtual, limits = self._screener.virtual[0], self._rules.instant
        for _ in range(self._screener.most_at_once + 1):
            differences = virtual.differences(deviations, trusted)
            beyond = np.where(trusted, np.maximum(differences / limits[0], -differences / limits[1]), 0.0)
            if not (beyond > 1).any():
                break
            trusted[beyond.argmax()] = False
        return differences

    # The tests

    def _judge_range(self, judged: _Judged) -> Floats:
        """Judge the gross range; return the readings in range."""
        limits, readings = self._screener.limits, judged.readings
        beyond = limits.causes(readings[None])[0] > 0
        beyond |= np.isinf(readings)
        judged.flags[np.isnan(readings)] = MISSING
        for sensor in np.flatnonzero(beyond).tolist():
            sentence = sentences.out_of_range(readings[sensor], float(limits.low[sensor]), float(limits.high[sensor]))
            judged.add(sensor, "gross range", BAD, sentence)
        rate = 2 / (1 + self._rules.scales.fast)
        arrived = ~np.isnan(readings)
        self._beyond = np.where(arrived, self._beyond + rate * (beyond - self._beyond), self._beyond)
        return np.where(beyond, np.nan, readings)

    def _judge_spike(self, arrival: Arrival) -> Mask:
        """Return which readings of the step before were spikes, as this step shows, and make them holes, [n]."""
        with np.errstate(invalid="ignore"):
            spiked = (self._signals.spike(arrival.differences) > self._rules.spike).any(axis=0)
        spiked &= ~arrival.asleep & ~self._illness.ill
        if np.count_nonzero(spiked) > self._screener.most_at_once:
            return np.zeros_like(spiked)
        self._holes[-1] |= spiked
        return np.asarray(spiked)

    def _judge_instant(self, judged: _Judged, arrival: Arrival, spiked: Mask) -> Mask:
        """Judge single readings against the others and against the one before; return which are not believed, [n]."""
        rules = self._rules
        numbers = self._signals.instant(arrival)
        with np.errstate(invalid="ignore"):
            wild = (numbers > rules.instant) & ~arrival.asleep  # [6, n]
            odd = (numbers > rules.instant_suspect) & ~arrival.asleep
        wild[JUMPS] &= ~spiked  # back from a spike
        odd[JUMPS] &= ~spiked
        found: Mask = np.asarray(wild.any(axis=0))
        new: Mask = found & ~self._illness.ill
        event = int(np.count_nonzero(new)) > self._screener.most_at_once
        for sensor in np.flatnonzero(odd.any(axis=0)).tolist():
            jump = bool(odd[JUMPS, sensor].any() and not np.delete(wild[:, sensor], JUMPS).any())
            self._explain_instant(judged, arrival, sensor, jump, BAD if found[sensor] and not event else SUSPECT)
            if event and new[sensor]:
                sentence = sentences.event(int(np.count_nonzero(new)) - 1)
                judged.add(sensor, "cross check", SUSPECT, sentence)
        return np.zeros_like(found) if event else found

    def _explain_instant(self, judged: _Judged, arrival: Arrival, sensor: int, jump: bool, flag: int) -> None:
        reading, rules = float(arrival.readings[sensor]), self._rules
        if jump:
            sentence = sentences.jumped(reading, float(self._signals.last[sensor]))
            judged.add(sensor, "spike" if flag == BAD else "rate of change", flag, sentence)
            return
        unit = float(rules.habits.unit[sensor])
        expected = reading - unit * float(arrival.differences[sensor])
        large = unit * float(self._signals.allowance(arrival)[sensor])
        above, below = (
            min(unit * rules.instant[side, sensor], large * rules.instant[UNUSUAL + side, sensor]) for side in (0, 1)
        )
        low, high = expected - float(below), expected + float(above)
        judged.add(sensor, "cross check", flag, sentences.differs(reading, expected, low, high))

    def _judge_lasting(self, judged: _Judged, arrival: Arrival, wild: Mask, stamp: int) -> None:
        """Judge what needs several steps, and let sensors fall ill or recover."""
        rules, signals, illness = self._rules, self._signals, self._illness
        arrived = ~np.isnan(arrival.readings)
        numbers, scores, found = self._cross_check()
        longest = rules.longest_run(signals.last)
        differs = np.abs(arrival.differences) > np.array(MATTERS)[:, None]
        stuck = (signals.run > _SURELY * longest) | (differs & (signals.run > rules.differing_run)).any(axis=0)
        cause = np.where(stuck, FLAT, found)
        cause = np.where(self._beyond > _HALF, RANGE, cause)
        cause = np.where(signals.gap > rules.gap, SILENT, cause).astype(np.int8)
        self._note_times(arrived, scores, stamp)
        for sensor in np.flatnonzero(illness.fall(cause)).tolist():
            self._fall_ill(sensor, numbers, stamp)
        place = np.maximum(illness.cause - FIRST_LASTING, 0)
        own = np.where(illness.cause >= FIRST_LASTING, scores[place, np.arange(len(place))], 0.0)
        healthy = arrived & ~wild & (own < _HEALTHY) & (scores[SIDES].max(axis=0) < 1)
        healthy &= (2 * signals.run <= longest) & (self._beyond < _HEALTHY * _HALF)
        healthy &= (illness.cause != FLAT) | (self._same > illness.since)  # not while it repeats the same reading
        signals.reset(illness.recover(healthy, rules.scales.fast))
        self._judge_suspects(judged, numbers, signals.run > longest)

    def _cross_check(self) -> tuple[Floats, Floats, Causes]:
        """Return the lasting numbers, their ratio to the limits (both [14, n]), and what it is that exceeds them.

        The sensor that exceeds its limits by most is taken out first, and the others are judged without it. If more
        would be found than may be at once, it is an event, and none is.
        """
        signals, rules, screener = self._signals, self._rules, self._screener
        out = self._out()
        trusted = ~out & (signals.gap <= rules.scales.fast)
        before = found = np.where(out, self._illness.cause, NOTHING).astype(np.int8)
        already = int(np.count_nonzero(found >= FIRST_LASTING))
        for count in range(screener.most_at_once + 2):
            levels = np.stack(
                [
                    each.differences(level, trusted)
                    for each, level in zip(screener.virtual[1:], signals.levels, strict=True)
                ]
            )
            numbers = signals.lasting(levels)
            scores = numbers / rules.lasting
            worst = np.where(trusted, scores.max(axis=0), 0.0)
            sensor = int(worst.argmax())
            if worst[sensor] < 1:
                break
            if already + count >= screener.most_at_once:
                found = before
                break
            found = found.copy()
            found[sensor] = FIRST_LASTING + int(scores[:, sensor].argmax())
            trusted[sensor] = False
        if np.count_nonzero((scores[SIDES].max(axis=0) > _CROWD) & trusted) > screener.most_at_once:
            found = before
        return numbers, scores, np.where(found != before, found, NOTHING).astype(np.int8)

    def _note_times(self, arrived: Mask, scores: Floats, stamp: int) -> None:
        """Keep since when readings are equal and numbers are large."""
        self._seen = np.where(arrived, stamp, self._seen)
        self._same = np.where((self._signals.run == 0) & arrived, stamp, self._same)
        large = (scores > _HALF).any(axis=0) | (self._beyond > 0)
        self._doubt = np.where(large, np.where(self._doubt < 0, stamp, self._doubt), -1)

    def _fall_ill(self, sensor: int, numbers: Floats, stamp: int) -> None:
        """Keep since when and why a sensor is ill, and make the readings since then holes."""
        illness, cause = self._illness, int(self._illness.cause[sensor])
        since = {SILENT: self._seen, FLAT: self._same}.get(cause, self._doubt)[sensor]
        illness.since[sensor] = since if since >= 0 else stamp
        illness.reason[sensor] = self._explain(sensor, cause, numbers)
        if cause != SILENT:
            back = self._screener.steps_between(int(illness.since[sensor]), stamp)
            self._holes[max(0, len(self._holes) - back) :, sensor] = True

    def _explain(self, sensor: int, cause: int, numbers: Floats) -> str:
        """Return why a sensor is ill."""
        rules, signals, step = self._rules, self._signals, self._screener.step
        if cause == SILENT:
            return sentences.silent(*(sentences.duration(int(each[sensor]), step) for each in (signals.gap, rules.gap)))
        if cause == RANGE:
            return "keeps sending readings that are not possible"
        if cause == FLAT:
            longest = rules.longest_run(signals.last)[sensor]
            alone = signals.run[sensor] <= longest
            differing = rules.differing_run[:, sensor]
            usual = differing[differing < signals.run[sensor]].max(initial=0) if alone else longest
            run, most = (sentences.duration(int(count), step) for count in (signals.run[sensor], usual))
            return sentences.stuck(float(signals.last[sensor]), run, most, alone=bool(alone))
        name = LASTING[cause - FIRST_LASTING]
        scale, kind = name.split()[0], name.split()[-1]
        while_ = sentences.duration(getattr(rules.scales, scale, rules.scales.slow), step)
        number, unit = float(numbers[cause - FIRST_LASTING, sensor]), float(rules.habits.unit[sensor])
        if kind == "tremble":
            return sentences.trembling(number, while_)
        if kind == "still":
            return sentences.still(while_)
        if kind == "unlike":
            return sentences.unlike(while_)
        if "unusually" in name:
            return sentences.biased(None, kind, while_)
        if kind == "mismatch":
            return sentences.mismatched(number, while_)
        return sentences.biased(None if scale == "long" else unit * number, kind, while_)

    def _judge_suspects(self, judged: _Judged, numbers: Floats, repeating: Mask) -> None:
        """Flag sensors that look as on the strangest days of the training, or repeat their reading for long."""
        arrived = ~np.isnan(judged.readings) & ~self._illness.ill
        large = numbers > self._rules.lasting_suspect
        for sensor in np.flatnonzero(large.any(axis=0) & arrived).tolist():
            cause = FIRST_LASTING + int(large[:, sensor].argmax())
            judged.add(sensor, TESTS[cause], SUSPECT, self._explain(sensor, cause, numbers))
        for sensor in np.flatnonzero(repeating & arrived).tolist():
            judged.add(sensor, TESTS[FLAT], SUSPECT, self._explain(sensor, FLAT, numbers))

    def _judge_evaluated(self, judged: _Judged, arrival: Arrival) -> None:
        """Flag readings that could not be judged: the first ones of a sensor, and those that nothing compares with."""
        arrived = ~np.isnan(judged.readings)
        others = np.count_nonzero(arrived & ~self._out()) - (arrived & ~self._out())
        enough = self._rules.scales.fast
        self._arrived = np.where(arrived, np.minimum(self._arrived + 1, enough), self._arrived)
        new, alone = arrived & (self._arrived < enough), arrived & (others == 0)
        for sensor in np.flatnonzero((new | alone) & ~arrival.asleep).tolist():
            sentence = sentences.alone() if alone[sensor] else sentences.too_new(int(self._arrived[sensor]), enough)
            judged.add(sensor, "cross check" if alone[sensor] else "flat line", NOT_EVALUATED, sentence)

    # The result

    def _result(self, judged: _Judged, stamp: int, spiked: Mask) -> ScreenedStep:
        illness = self._illness
        for sensor in np.flatnonzero(illness.ill).tolist():
            missing = np.isnan(judged.readings[sensor])
            cause = int(illness.cause[sensor])
            judged.add(sensor, TESTS[cause], MISSING if missing else BAD, illness.reason[sensor])
        ill = illness.ill
        for name, override in self._overrides.items():
            place = self._screener.place(name)
            ill[place] = override == "bad"
            self._override_flag(judged, place, override)
        values = np.where((judged.flags == BAD) | ill, np.nan, judged.readings)
        self._suspect = {
            sensor: next(reason for reason in reasons if reason[1] == SUSPECT)
            for sensor, reasons in judged.reasons.items()
            if judged.flags[sensor] == SUSPECT
        }
        suspect = judged.flags == SUSPECT
        self._suspect_since = np.where(suspect, np.where(self._suspect_since < 0, stamp, self._suspect_since), -1)
        self._holes = np.concatenate([self._holes[1:], (judged.flags == BAD)[None] | ill])
        reasons = tuple(tuple(judged.reasons.get(sensor, ())) for sensor in range(len(values)))
        return ScreenedStep(self._screener.shown(stamp), judged.flags, reasons, values, ill, self._holes.copy(), spiked)

    def _override_flag(self, judged: _Judged, place: int, override: str) -> None:
        """Give a sensor the flag that its override asks for."""
        if np.isnan(judged.readings[place]):
            return
        judged.flags[place] = GOOD if override == "good" else BAD
        flag = int(judged.flags[place])
        judged.reasons.setdefault(place, []).append(("override", flag, f"set to {override} by hand"))

    # Health

    @property
    def health(self) -> dict[str, Health]:
        """The health of each sensor by name."""
        return {name: self.health_of(name) for name in self._screener.variables}

    def health_of(self, name: str) -> Health:
        """Return the health of one sensor."""
        place = self._screener.place(name)
        illness, shown = self._illness, self._screener.shown
        override = self._overrides.get(name)
        if override is not None:
            return Health("good" if override == "good" else "dead", None, f"set to {override} by hand", "override")
        cause = int(illness.cause[place])
        if cause != NOTHING:
            return Health(STATES[cause], shown(int(illness.since[place])), illness.reason[place], TESTS[cause])
        if place in self._suspect:
            test, _, sentence = self._suspect[place]
            return Health("suspect", shown(int(self._suspect_since[place])), sentence, test)
        if self._asleep[place]:
            return Health("asleep", shown(int(self._same[place])), "rests, as usual at this time of day")
        return Health("good", None)

    def override(self, sensor: str, choice: str | None) -> None:
        """Take a sensor for good or bad whatever the tests say; None ends that."""
        place = self._screener.place(sensor)
        if choice not in _OVERRIDES:
            raise InputError(f"choice must be 'good', 'bad' or None, got {choice!r}")
        if choice is None:
            self._overrides.pop(self._screener.variables[place], None)
        else:
            self._overrides[self._screener.variables[place]] = choice

    def forget(self, sensor: str) -> None:
        """Begin anew with a sensor that was replaced: its readings so far are holes, and nothing is remembered.

        It begins with the level that the other sensors say, which may be far from the usual one in this season.
        """
        place = self._screener.place(sensor)
        fresh, known = Feed(self._screener).state(), self.state()
        kept = {name: known[name] for name in ("stamp", "count", "holes", "suspect", "overrides")}
        self.resume({**_with_fresh(known, fresh, place, len(self._screener.variables)), **kept})
        self._holes[:, place] = True
        self._suspect.pop(place, None)
        signals, others = self._signals, ~self._out()
        others[place] = False
        if others.any():
            signals.base[place] = np.median(signals.base[others])
            for virtual, level in zip(self._screener.virtual[1:], signals.levels, strict=True):
                level[place] -= virtual.differences(level, others)[place]

    # Resuming

    def state(self) -> dict[str, Any]:
        """Return the state as plain values for JSON, from which `Screener.resume` goes on as if nothing happened."""
        return {
            "screener": self._screener.fingerprint,
            "stamp": self._stamp,
            "count": self._count,
            "signals": self._signals.state(),
            "illness": self._illness.state(),
            "beyond": self._beyond.tolist(),
            **{name: getattr(self, f"_{name}").tolist() for name in _STAMPS},
            "asleep": self._asleep.tolist(),
            "holes": [np.packbits(row).tobytes().hex() for row in self._holes],
            "suspect": {str(sensor): list(reason) for sensor, reason in self._suspect.items()},
            "overrides": dict(self._overrides),
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Take a state that `state` returned."""
        if not isinstance(state, Mapping) or state.get("screener") != self._screener.fingerprint:
            raise InputError("state must be what feed.state() returned for this screener: start a new feed instead")
        n = len(self._screener.variables)
        try:
            self._signals.resume(state["signals"])
            self._illness.resume(state["illness"])
            self._beyond = np.array(state["beyond"], dtype=np.float64).reshape(n)
            for name in _STAMPS:
                setattr(self, f"_{name}", np.array(state[name], dtype=np.int64).reshape(n))
            self._asleep = np.array(state["asleep"], dtype=bool).reshape(n)
            rows = [np.frombuffer(bytes.fromhex(row), dtype=np.uint8) for row in state["holes"]]
            self._holes = np.unpackbits(np.array(rows), axis=1, count=n).astype(bool).reshape(self._holes.shape)
            self._suspect = {int(place): (str(a), int(b), str(c)) for place, (a, b, c) in state["suspect"].items()}
            self._overrides = dict(state["overrides"])
            self._stamp = None if state["stamp"] is None else int(state["stamp"])
            self._count = int(state["count"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"state is not what feed.state() returned ({error}): start a new feed instead") from None


_STAMPS = ("arrived", "seen", "same", "doubt", "suspect_since")


def _with_fresh(known: Any, fresh: Any, place: int, n: int) -> Any:
    """Return a state in which the numbers of one sensor are those of a fresh one."""
    if isinstance(known, dict):
        return {name: _with_fresh(value, fresh[name], place, n) for name, value in known.items() if name in fresh}
    if isinstance(known, list) and len(known) == len(fresh):
        return [fresh[index] if index % n == place else value for index, value in enumerate(known)]
    return known
