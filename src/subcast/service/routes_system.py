"""The service itself: status, health, metrics, and a look at the wrapper's folder."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from subcast import __version__
from subcast.service import models
from subcast.service.clock import AUTO, stored_mode
from subcast.service.feed import last_step
from subcast.service.grid import SECOND, moment_text
from subcast.service.problems import ProblemError
from subcast.service.requests import service_of
from subcast.service.runtime import Service
from subcast.service.schema import forecasts, receipts

router = APIRouter(tags=["service"])


@router.get("/v1/status", response_model=models.Status)
def get_status(request: Request) -> Any:
    """Return what the service is, what it waits for, and what it assumes."""
    service = service_of(request)
    with service.database.read() as connection:
        last, plan = last_step(connection), service.planner.plan(connection)
        counts = {
            "readings": connection.execute(sa.select(sa.func.sum(receipts.c.stored))).scalar() or 0,
            "forecasts": connection.execute(sa.select(sa.func.count()).select_from(forecasts)).scalar() or 0,
        }
        now, decided = service.now(connection), stored_mode(connection)
    grid, variables = service.grid, service.feed.variables
    return {
        **_facts(service),
        **counts,
        "clock": decided if service.options.clock == AUTO and decided is not None else service.options.clock,
        "now": grid.text(now // SECOND * SECOND),
        "last_step": None if last is None else grid.text(last),
        "next_step": None if plan.time is None else grid.text(plan.time),
        "waiting_for": [name for name, waits in zip(variables, plan.waiting.tolist(), strict=True) if waits],
    }


def _facts(service: Service) -> dict[str, Any]:
    """Return what does not change from step to step."""
    wrapper, version, grid = service.wrapper, service.versions.present, service.grid
    notes = []
    if grid.zone is None:
        notes.append("the training had no zone: its clock is taken to show UTC where the present time matters")
    if service.engine.last_failure:
        notes.append(f"the last step could not be processed: {service.engine.last_failure}")
    return {
        "version": __version__,
        "wrapper": wrapper.metadata_.name or service.options.folder.name,
        "sensors": len(wrapper.variables),
        "lookback": wrapper.lookback,
        "horizon": wrapper.horizon,
        "freq": grid.steps.freq,
        "zone": grid.zone,
        "unit": wrapper.metadata_.unit,
        "levels": list(wrapper.levels) if wrapper.calibration_ is not None else [],
        "fingerprints": version.names,
        "screening": version.screening,
        "deadline_seconds": service.deadline,
        "tolerance_seconds": grid.tolerance / SECOND,
        "late_steps": service.late_steps,
        "database": service.database.words,
        "started_at": moment_text(service.started_at),
        "notes": notes,
    }


@router.post("/v1/refresh", response_model=models.Refreshed)
def post_refresh(request: Request) -> Any:
    """Look at the wrapper's folder now; a new version is used from the next step on."""
    service = service_of(request)
    changed = service.refresh_now()
    return {"version": service.versions.present.fingerprint, "changed": changed}


@router.get("/healthz", response_model=models.Liveness)
def get_health(request: Request) -> Any:
    """Return whether the process works; the database does not matter here."""
    service = service_of(request)
    threads = {"engine": service.engine.alive, "writer": service.writer.alive}
    ended = [name for name, alive in threads.items() if not alive]
    if service.started and ended:
        return JSONResponse({"status": "failed", "checks": dict.fromkeys(ended, "the thread ended")}, status_code=500)
    return {"status": "ok", "checks": {"engine": "makes forecasts" if service.engine.leads else "another worker does"}}


@router.get("/readyz", response_model=models.Liveness, responses={503: {"model": models.Problem}})
def get_ready(request: Request) -> Any:
    """Return whether readings can be stored and forecasts made."""
    service = service_of(request)
    service.database.ping()
    if service.engine.last_failure:
        raise ProblemError("starting", f"the last step could not be processed: {service.engine.last_failure}")
    return {"status": "ready", "checks": {"database": "ok", "engine": "ok"}}


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def get_metrics(request: Request) -> Response:
    """Return metrics for Prometheus."""
    service = service_of(request)
    return Response(service.metrics.text(service), media_type=CONTENT_TYPE_LATEST)
