"""Sensors: their health."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from subcast.service.models import SensorList
from subcast.service.routes_readings import service_of

router = APIRouter(prefix="/v1", tags=["sensors"])


@router.get("/sensors", response_model=SensorList)
def get_sensors(request: Request) -> Any:
    """Return the health of all sensors: flags, reasons, since when."""
    service = service_of(request)
    unit = service.wrapper.metadata_.unit
    unknown: dict[str, Any] = {
        "health": "unknown",
        "since": None,
        "flag": 2,
        "reasons": [],
        "last_time": None,
        "last_value": None,
    }
    rest = {"waited_for": True, "override": None, "maintenance": False, "mae": None, "unit": unit}
    sensors = [{"sensor": name, **unknown, **rest} for name in service.wrapper.variables]
    return {"step": None, "sensors": sensors, "counts": {"unknown": len(sensors)}, "screening": "gross limits only"}
