"""A stand-in for the service that tells a fixed story, so that the page can be driven into every state."""

from __future__ import annotations

import json
import math
import threading
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from subcast.service.page.files import page_files

START, STEP, LOOKBACK, HORIZON = datetime(2026, 5, 1, 6), timedelta(minutes=10), 12, 12
HOSTILE = '<img src=x onerror="window.broken=1">&amp;'
NAMES = [*(f"plant-{number:03d}" for number in range(11)), HOSTILE, "plant-012"]
PRINTS = {"version": "v", "model": "m", "bank": "b", "settings": "s"}
STUCK, DEAD, DUBIOUS, REPAIRED = NAMES[3], NAMES[5], NAMES[7], NAMES[9]


def text(step):
    return None if step is None else (START + step * STEP).isoformat()


def power(name, step):
    return round(max(0.0, 30 * math.sin((step - 4) / 70 * math.pi) + NAMES.index(name) % 4), 3)


class StandIn:
    """Steps go by when `step` is set; `away`, `stale` and `key` change how it answers."""

    def __init__(self):
        self.step, self.away, self.stale, self.key, self.asked = 40, False, False, None, []

    def asked_without(self):
        """The sensors that were switched off in the last question."""
        return next(body["without"] for method, _, body in reversed(self.asked) if method == "POST")

    def answer(self, method, path, query, body):
        if self.away:
            return 503, {"detail": "the database is away"}
        if self.step is None and "forecast" in path:
            return 404, {"detail": "there is no forecast yet"}
        find = getattr(self, f"_{method}{path.removeprefix('/v1').replace('/', '_').replace('-', '_')}", None)
        return (404, {"detail": "there is no such address"}) if find is None else (200, find(query, body))

    def _health(self, name):
        health = {STUCK: "stuck", DEAD: "dead", DUBIOUS: "suspect", REPAIRED: "maintenance"}.get(name, "good")
        if self.step is None:
            return "unknown"
        if health in ("stuck", "dead") and self.step < 30:
            return "good"
        return health

    def _get_status(self, query, body):
        return {
            "version": "1",
            "wrapper": "clouds",
            "sensors": len(NAMES),
            "lookback": LOOKBACK,
            "horizon": HORIZON,
            "freq": "10min",
            "zone": None,
            "unit": "MW",
            "levels": [0.9],
            "screening": "Limits and other sensors.",
            "clock": "feed",
            "last_step": text(self.step),
            "next_step": None,
            "waiting_for": [],
            "readings": 12 * (self.step or 0),
            "forecasts": self.step or 0,
            "notes": [],
            "fingerprints": PRINTS,
            "now": "2026-05-01T12:00:00Z",
            "deadline_seconds": 300.0,
            "tolerance_seconds": 60.0,
            "late_steps": 144,
            "database": "sqlite",
            "started_at": "2026-05-01T00:00:00Z",
        }

    def _get_sensors(self, query, body):
        reasons = {
            STUCK: ["flat line: 12 equal readings"],
            DEAD: ["time gap: nothing for 9 steps"],
            DUBIOUS: ["spike: 18 MW from its neighbors"],
        }
        sensors = [
            {
                "sensor": name,
                "health": {"stuck": "bad", "dead": "missing"}.get(self._health(name), self._health(name)),
                "state": self._health(name),
                "since": None if self._health(name) == "good" else text(31),
                "flag": 1,
                "reasons": reasons.get(name, []) if self._health(name) != "good" else [],
                "last_time": text(self.step),
                "last_value": None,
                "waited_for": True,
                "override": None,
                "maintenance": False,
                "mae": 1.25,
                "unit": "MW",
            }
            for name in NAMES
        ]
        return {"step": text(self.step), "sensors": sensors, "counts": {}, "screening": "", "next": None}

    def _forecast(self, names, shift=0.0):
        times = [text(self.step + 1 + ahead) for ahead in range(HORIZON)]
        forecasts = []
        for name in names:
            mean = [power(name, self.step + 1 + ahead) + shift for ahead in range(HORIZON)]
            bounds = [[value + side * (1 + ahead / 3) for ahead, value in enumerate(mean)] for side in (-1, 1)]
            interval = {"level": 0.9, "lower": bounds[0], "upper": bounds[1]}
            forecasts.append(
                {
                    "sensor": name,
                    "present": self._health(name) == "good",
                    "observed": 1.0,
                    "flag": 1,
                    "mean": mean,
                    "intervals": [interval],
                    "history": None,
                }
            )
        silent = [name for name in NAMES if self._health(name) in ("stuck", "dead")]
        return {
            "step": text(self.step),
            "made_at": "2026-05-01T12:00:00Z",
            "age_seconds": 4000.0 if self.stale else 2.0,
            "stale": self.stale,
            "reason": "complete",
            "quality": "good",
            "expected_gap": 1.9 if silent else 0.0,
            "observed_share": 0.9,
            "present": NAMES,
            "silent": silent,
            "times": times,
            "levels": [0.9],
            "forecasts": forecasts,
            "unit": "MW",
            "zone": None,
            "freq": "10min",
            "notes": [],
            "neighbors": [],
            "fingerprints": PRINTS,
            "interval_factor": 1.0,
            "revisions": [],
        }

    def _get_forecasts_latest(self, query, body):
        return self._forecast(query.get("sensor", NAMES))

    def _get_forecasts_latest_neighbors(self, query, body):
        name = query["sensor"][0]
        days = [
            {
                "end": f"2026-04-{20 - day:02d}T{11 + day}:20:00",
                "weight": 0.4 / (day + 1),
                "distance": 0.1 * day,
                "past": [power(name, self.step - 11 + step) + day for step in range(LOOKBACK)],
                "future": [power(name, self.step + 1 + step) - day for step in range(HORIZON)],
            }
            for day in range(5)
        ]
        return {"step": text(self.step), "sensor": name, "neighbors": days}

    def _get_readings(self, query, body):
        name, rows = query["sensor"][0], []
        for step in range(max(0, self.step - 35), self.step + 1):
            if name == DEAD and step > 30:
                continue
            stuck = name == STUCK and step > 30
            value, flag = (
                (power(name, 30), 4) if stuck else (power(name, step), 3 if name == DUBIOUS and step == 33 else 1)
            )
            rows.append({"sensor": name, "time": text(step), "value": value, "flag": flag, "received_at": None})
        return {"readings": rows[::-1], "next": None}

    def _get_cost(self, query, body):
        silent = [name for name in NAMES if self._health(name) in ("stuck", "dead")]
        own = [{"sensor": name, "since": text(31), "width": 6.2, "width_before": 3.1} for name in silent]
        return {
            "step": text(self.step),
            "silent": silent,
            "expected_gap": 1.9 if silent else 0.0,
            "cost": 1.9 if silent else 0.0,
            "cost_one_more": 2.7,
            "width_now": 4.0,
            "own": own,
        }

    def _get_truth(self, query, body):
        share = {
            "share": "50-85 %",
            "readings": 300,
            "mae": 1.3,
            "expected_mae": 1.2,
            "coverage": 0.912,
            "coverage_unadapted": 0.87,
            "level": 0.9,
            "interval_factor": 1.1,
        }
        return {
            "first": text(12),
            "last": text(self.step),
            "steps": (self.step or 12) - 12,
            "readings": 300,
            "mae": 1.3,
            "expected_mae": 1.2,
            "drift": 8.3,
            "coverage": 0.912,
            "coverage_unadapted": 0.87,
            "level": 0.9,
            "by_share": [share],
            "by_step": [],
            "aged": False,
            "warning": None,
        }

    def _get_truth_history(self, query, body):
        points = [
            {"step": text(step), "readings": 12, "mae": 1.0, "coverage": 0.9 + 0.1 * math.sin(step), "level": 0.9}
            for step in range(self.step or 12, 12, -1)
        ]
        return {"points": points, "next": None}

    def _get_events(self, query, body):
        happened = [(31, "dead", DEAD, f"{DEAD} sends nothing"), (34, "dead", STUCK, f"{STUCK} is stuck at 12.3 MW")]
        events = [
            {"id": step, "at": text(step), "step": text(step), "kind": kind, "sensor": name, "text": words}
            for step, kind, name, words in happened
            if step <= (self.step or 0)
        ]
        return {"events": events[::-1], "next": None}

    def _post_what_if(self, query, body):
        return {
            "forecast": self._forecast(NAMES, shift=2.0),
            "expected_gap_now": 1.9,
            "expected_gap_then": -3.0,
            "cost_now": 1.9,
            "cost_then": 1.9 + 0.8 * len(body["without"]),
            "mean_change": 0.42,
            "relative_change": 0.08,
            "width_change": 0.06,
        }


@contextmanager
def serving(stand_in):
    """Serve the page and the stand-in on 127.0.0.1; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # a connection that is kept would outlive the server

        def _reply(self):
            parts = urlsplit(self.path)
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")
            stand_in.asked.append((self.command, parts.path, body))
            file = page_files().get(unquote(parts.path))
            if file is not None:
                return self._send(200, file.content, file.headers)
            if stand_in.key is not None and self.headers.get("Authorization") != f"Bearer {stand_in.key}":
                status, answer = 401, {"detail": "a key is needed"}
            else:
                status, answer = stand_in.answer(self.command.lower(), parts.path, parse_qs(parts.query), body)
            return self._send(status, json.dumps(answer).encode(), {"Content-Type": "application/json"})

        def _send(self, status, content, headers):
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _reply

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
