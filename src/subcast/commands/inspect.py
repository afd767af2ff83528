"""`subcast inspect`: what a wrapper in a folder is, read without its model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from subcast.limits import Limits
from subcast.names import plural
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.conformal import Calibration
from subcast.subset.metadata import TrainingMetadata
from subcast.subset.saving import wrapper_state
from subcast.subset.usefulness import Usefulness
from subcast.tables.zones import wall_clock

_SHOWN = 20
_KINDS = {"forecaster": "saved with the wrapper", "onnx": "an ONNX file, saved with the wrapper"}
_LIMIT_COLUMNS = ("low", "high", "change", "gap", "seen_low", "seen_high")


def run_inspect(folder: Path) -> dict[str, Any]:
    """Return what the wrapper in a folder is, as plain values for JSON."""
    state = wrapper_state(folder)
    fitted = state.needed_part("fitted")
    metadata = TrainingMetadata.from_state(state.needed_part("metadata"))
    limits = state.part("limits")
    calibration = state.part("calibration")
    model = fields.mapping(fitted, "model")
    return {
        "folder": str(folder),
        "version": fields.text(fitted, "subcast"),
        "size": sum(path.stat().st_size for path in folder.iterdir() if path.is_file()),
        "model": {"description": str(model.get("repr")), "stored": _KINDS.get(str(model.get("kind")))},
        **_training_facts(metadata),
        "windows": _window_count(fitted),
        "metric": fields.text(state, "metric"),
        "levels": list(fields.numbers(state, "levels")),
        "settings": fields.mapping(state, "settings"),
        "usefulness": _usefulness(state),
        "expected_gaps": None if calibration is None else _gaps(calibration),
        "limits": None if limits is None else Limits.from_state(limits, metadata.variables).to_dict(),
    }


def _training_facts(metadata: TrainingMetadata) -> dict[str, Any]:
    times = None if metadata.times is None else wall_clock(metadata.times, metadata.zone)
    return {
        "name": metadata.name,
        "variables": list(metadata.variables),
        "time_features": list(metadata.time_features),
        "unit": metadata.unit,
        "start": None if times is None or not len(times) else _moment(times[0]),
        "end": None if times is None or not len(times) else _moment(times[-1]),
        "steps": None if times is None else len(times),
        "rate": metadata.freq,
        "zone": metadata.zone,
        "lookback": metadata.lookback,
        "horizon": metadata.horizon,
        "protocol": metadata.protocol,
    }


def _window_count(fitted: State) -> int | None:
    """Return the number of training windows; None for a bank that does not list them."""
    bank = fitted.part("bank")
    return len(bank.arrays["starts"]) if bank is not None and fields.has_array(bank, "starts") else None


def _gaps(calibration: State) -> list[dict[str, float]]:
    """Return the expected gap in per cent for each share of variables present."""
    measured = Calibration.from_state(calibration)
    return [
        {"present": round(float(share), 4), "gap": round(float(gap), 2)}
        for share, gap in zip(measured.shares, measured.gaps, strict=True)
    ]


def _usefulness(state: State) -> dict[str, str] | None:
    """Return what was found about the model at `fit`, and the problem with it, if there is one."""
    report = fields.mapping(state, "report")
    if "model" not in report:
        return None
    with fields.restoring(state):
        found = Usefulness.from_dict(report["model"])
    return {"line": found.line, "problem": found.problem}


def _moment(time: np.datetime64) -> str:
    return str(np.datetime_as_string(time.astype("datetime64[s]")))


def show_inspect(record: Mapping[str, Any], *, every: bool = False) -> None:
    """Print what a wrapper is: its training data, model, settings, expected gaps and limits."""
    console = Console(highlight=False, soft_wrap=True)
    for line in _headlines(record):
        console.print(escape(line))
    limits = record["limits"]
    if limits is None:
        console.print("no limits of the readings: every number is taken as a reading")
        return
    shown = list(limits.items())[: None if every else _SHOWN]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("limits of", no_wrap=True)
    for column in ("low", "high", "change a step", "longest gap", "seen from", "to"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, bounds in shown:
        table.add_row(escape(name), *(_cell(bounds[column]) for column in _LIMIT_COLUMNS))
    console.print(table)
    if len(shown) < len(limits):
        console.print(f"{len(shown)} of {len(limits):,} variables; --all shows every variable", style="dim")


def _headlines(record: Mapping[str, Any]) -> list[str]:
    unit = f", in {record['unit']}" if record["unit"] else ""
    lines = [
        f"wrapper in {record['folder']}: {_size(record['size'])}, written by subcast {record['version']}",
        f"model: {record['model']['description']}, {record['model']['stored'] or 'not saved with the wrapper'}",
        f"data: {record['name'] or 'no name'}, {plural(len(record['variables']), 'variable')}{unit}",
        f"training: {_period(record)}",
        f"windows: {record['lookback']} steps back, {record['horizon']} ahead"
        + ("" if record["windows"] is None else f"; {record['windows']:,} training windows"),
        f"tuned for {record['metric'].upper()}; intervals at {_percents(record['levels'])}",
        "settings: " + ", ".join(f"{name} {value}" for name, value in _short_settings(record["settings"])),
    ]
    gaps = record["expected_gaps"]
    if gaps is not None:
        pairs = ", ".join(
            f"{gap['gap']:+.1f} % with {gap['present']:.0%} present" for gap in gaps if gap["present"] < 1
        )
        lines.append(f"expected gap to all variables: {pairs or 'none measured'}")
    found = record["usefulness"]
    if found is not None:
        lines.append(found["line"])
        lines += [f"warning: {found['problem']}"] if found["problem"] else []
    return lines


def _period(record: Mapping[str, Any]) -> str:
    if record["start"] is None:
        return "steps without times"
    rate = f"every {record['rate']}" if record["rate"] else "without a fixed rate"
    zone = f"times in {record['zone']}" if record["zone"] else "times without a zone"
    return f"{record['start'].replace('T', ' ')} to {record['end'].replace('T', ' ')}, {rate}, {zone}"


def _short_settings(settings: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the settings that fit on a line; tables such as the blend are in --json."""
    return [(name, value) for name, value in settings.items() if not isinstance(value, dict | list | tuple)]


def _percents(levels: list[float]) -> str:
    return " and ".join(f"{100 * level:g} %" for level in levels) or "no level"


def _size(size: int) -> str:
    """Write a number of bytes.

    >>> _size(900), _size(34_000), _size(2_400_000)
    ('900 bytes', '34 kB', '2.4 MB')
    """
    if size < 1e6:
        return f"{size:,} bytes" if size < 1000 else f"{size / 1e3:.0f} kB"
    return f"{size / 1e6:,.1f} MB"


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
