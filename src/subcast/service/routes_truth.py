"""How past forecasts turned out, and what operators should know."""

from __future__ import annotations

import json
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Query, Request

from subcast.service import models, truth
from subcast.service.grid import moment_text
from subcast.service.requests import Cursor, Limit, page, service_of
from subcast.service.runtime import Service
from subcast.service.schema import events, scores, sensors
from subcast.subset.adaptive import GROUPS

router = APIRouter(prefix="/v1", tags=["truth"])


@router.get("/truth", response_model=models.Truth)
def get_truth(
    request: Request,
    steps: Annotated[int | None, Query(ge=1, le=10_000, description="Number of past steps to look at")] = None,
) -> Any:
    """Return the running error and the coverage of the intervals, by share present, against validation."""
    service = service_of(request)
    query = sa.select(scores).order_by(scores.c.time.desc()).limit(steps or service.options.score_steps)
    with service.database.read() as connection:
        rows = list(connection.execute(query).all())
    return truth_answer(service, rows)


def truth_answer(service: Service, rows: list[Any]) -> dict[str, Any]:
    """Return what scores say, as the API answers it."""
    wrapper, grid = service.wrapper, service.grid
    found = truth.summary(rows, len(wrapper.variables), wrapper.horizon)
    level = max(wrapper.levels, default=None) if wrapper.calibration_ is not None else None
    factors = truth.factors_of(rows[0].shares if rows else None)
    total, warning = found["total"], truth.aging(found, level)
    by_share = [
        {
            "share": GROUPS[group],
            "readings": int(sums["readings"]),
            **_measures(sums),
            "level": level or 0.0,
            "interval_factor": factors[group],
        }
        for group, sums in found["groups"].items()
        if sums["readings"]
    ]
    errors, counts = found["ahead"]
    return {
        "first": grid.text(rows[-1].time) if rows else None,
        "last": grid.text(rows[0].time) if rows else None,
        "steps": found["steps"],
        "readings": int(total["readings"]),
        **_measures(total),
        "drift": truth.drift_of(total),
        "level": level,
        "by_share": by_share,
        "by_step": [truth.ratio(error, count) for error, count in zip(errors.tolist(), counts.tolist(), strict=True)],
        "aged": warning is not None,
        "warning": warning,
    }


def _measures(sums: dict[str, float]) -> dict[str, float | None]:
    return {
        "mae": truth.ratio(sums["error"], sums["readings"]),
        "expected_mae": truth.ratio(sums["expected"], sums["bounded"]),
        "coverage": truth.ratio(sums["inside"], sums["bounded"]),
        "coverage_unadapted": truth.ratio(sums["inside_unadapted"], sums["bounded"]),
    }


@router.get("/truth/history", response_model=models.TruthHistory)
def get_truth_history(request: Request, limit: Limit = 288, cursor: Cursor = None) -> Any:
    """Return the error and the coverage of each step, the newest first."""
    service = service_of(request)
    with service.database.read() as connection:
        rows, following = page(connection, sa.select(scores), scores.c.time, limit, cursor)
    points = []
    for row in rows:
        stored = json.loads(row.shares)
        total = dict.fromkeys(("readings", "error", "expected", "inside", "inside_unadapted", "bounded"), 0.0)
        for sums in stored["groups"].values():
            total = {name: total[name] + sums[name] for name in total}
        measures = _measures(total)
        points.append({
            "step": service.grid.text(row.time), "readings": row.readings, "mae": measures["mae"],
            "coverage": measures["coverage"], "level": stored.get("level"),
        })  # fmt: skip
    return {"points": points, "next": following}


@router.get("/events", response_model=models.EventPage)
def get_events(request: Request, limit: Limit = 100, cursor: Cursor = None) -> Any:
    """Return what operators should know, the newest first: sensors that died, stick, drift or recovered, and more."""
    service = service_of(request)
    with service.database.read() as connection:
        rows, following = page(connection, sa.select(events), events.c.id, limit, cursor)
        names = {row.id: row.name for row in connection.execute(sa.select(sensors))}
    found = [
        {
            "id": row.id,
            "at": moment_text(row.at),
            "step": None if row.time is None else service.grid.text(row.time),
            "kind": row.kind,
            "sensor": names.get(row.sensor),
            "text": row.text,
        }
        for row in rows
    ]
    return {"events": found, "next": following}
