"""Load on the live service: 207 sensors with an MTGNN of random weights, SQLite, one process.

    python benchmarks/service.py                     # all parts, a quarter of an hour; writes results/service-load.json
    python benchmarks/service.py --parts intake      # one of intake, latency, stateless, soak; added to the record
    python benchmarks/service.py --quick             # a small shape and short parts; writes nothing

The service is `subcast serve` in a process of its own, and this script is its client on the same two cores: what the
client uses, the service lacks. Readings that are answered with 200 are on disk (synchronous=FULL).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import records
from rich.console import Console
from wrapper import LOOKBACK, chosen, traffic

from subcast import SubsetForecaster
from subcast.screening import Screener
from subcast.training.loop import processor_threads
from subcast.windows import Split

PARTS = ("intake", "latency", "stateless", "soak")
RECORD = "service-load"
MOST_STEPS = 200_000


def main() -> None:
    """Measure the parts that are asked for, show them, and write the record."""
    parser = argparse.ArgumentParser(description="Measure the live service under load.")
    parser.add_argument("--quick", action="store_true", help="a small shape; nothing is written")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seconds", type=float, default=600.0, help="length of the soak")
    parser.add_argument("--work", type=Path, default=records.RESULTS.parent / "runs", help="folder of the wrapper")
    arguments = parser.parse_args()
    quick = arguments.quick
    steps, n = (3_000, 20) if quick else (34_272, 207)
    folder = arguments.work / f"service-wrapper-{n}"
    split = prepared(steps, n, folder)
    path = records.RESULTS / f"{RECORD}.json"
    figures: dict[str, Any] = json.loads(path.read_text())["figures"] if path.exists() and not quick else {}
    figures["shape"] = {"steps": steps, "sensors": n, "lookback": LOOKBACK}
    for part in arguments.parts:
        before = os.getloadavg()
        with Serving(folder, arguments.work / "service-load.sqlite3") as service:
            client = Client(service, split)
            measured = measure(part, client, figures, quick, 20.0 if quick else arguments.seconds)
        load = {"load_of_the_machine": {"before": before, "after": os.getloadavg()}}
        figures[part] = {**measured, **load}
        Console().print_json(data={part: figures[part]})
        if not quick:
            note = "the client runs on the same two cores, and other processes may have used them: see the load"
            records.write_record(RECORD, figures, packages=("numpy", "torch", "fastapi", "sqlalchemy"), note=note)


def prepared(steps: int, n: int, folder: Path) -> Split:
    """Return the data; fit and save the wrapper and its screener if the folder does not have them."""
    split, model = traffic(steps, n)
    if not (folder / "wrapper.json").exists():
        with processor_threads(1):
            robust = SubsetForecaster(model, settings=chosen(), progress=False).fit(split.train, split.val[::40])
        robust.save(folder)
        Screener.fit(robust, split.train).save(folder)
    return split


class Serving:
    """`subcast serve` in a process of its own, on an empty database."""

    def __init__(self, folder: Path, database: Path) -> None:
        self.database = database
        for suffix in ("", "-wal", "-shm", ".lock"):
            Path(f"{database}{suffix}").unlink(missing_ok=True)
        with socket.socket() as trial:
            trial.bind(("127.0.0.1", 0))
            self.port = trial.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        code = "from subcast.cli import main; main()"
        options = ["--port", str(self.port), "--clock", "feed", "--rate", "0", "--log-level", "error"]
        self.command = [
            sys.executable,
            "-c",
            code,
            "serve",
            str(folder),
            "--database",
            f"sqlite:///{database}",
            *options,
        ]

    def __enter__(self) -> Serving:
        self.process = subprocess.Popen(self.command, env={**os.environ, "OMP_NUM_THREADS": "1"})
        until = time.monotonic() + 180
        while time.monotonic() < until:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return self
            except httpx.HTTPError:
                time.sleep(0.2)
        raise SystemExit("the service did not start")

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def memory(self) -> float:
        """Return the resident memory in MB, without what is mapped from files."""
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        found = {line.split(":")[0]: line.split()[1] for line in status if line.startswith("Rss")}
        return int(found["RssAnon"]) / 1024

    def processor(self) -> float:
        """Return the processor seconds that the service has used: they depend little on what else the machine does."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def query(self, text: str) -> Any:
        """Return the first column of the first row of a query on the database."""
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as connection:
            return connection.execute(text).fetchone()[0]


class Client:
    """Sends the test part of the data, step by step, and again from its beginning with later times."""

    def __init__(self, service: Serving, split: Split) -> None:
        self.service = service
        series = split.test.series
        self.names, self.values = series.variables, series.values
        times = series.times[0].astype("datetime64[s]") + np.arange(MOST_STEPS) * np.timedelta64(300, "s")
        self.times = [str(time) for time in times]
        self.next = 0
        self.turn = threading.Lock()

    def body(self, first: int, last: int, columns: Any = None) -> bytes:
        """Return some steps as the body of a request."""
        chosen_columns = range(len(self.names)) if columns is None else columns
        rows = [
            {
                "sensor": self.names[column],
                "time": self.times[step],
                "value": float(self.values[step % len(self.values), column]),
            }
            for step in range(first, last)
            for column in chosen_columns
        ]
        return json.dumps({"readings": rows}).encode()

    def take(self, count: int) -> int:
        """Return the first of the next steps to send."""
        with self.turn:
            self.next += count
            return self.next - count

    def post(self, http: httpx.Client, path: str, body: bytes) -> httpx.Response:
        """Send a body as JSON."""
        return http.post(f"{self.service.url}{path}", content=body, headers={"Content-Type": "application/json"})


def measure(part: str, client: Client, figures: dict[str, Any], quick: bool, seconds: float) -> dict[str, Any]:
    """Return the figures of one part."""
    if part == "intake":
        length = 4.0 if quick else 15.0
        return {f"{steps}_steps_a_request": intake(client, steps, length) for steps in (1, 20)}
    if part == "latency":
        return latency(client, 40 if quick else 120)
    if part == "stateless":
        return stateless(client, 40 if quick else 150)
    rate = figures.get("intake", {}).get("1_steps_a_request", {}).get("readings_a_second", 4000.0)
    return soak(client, rate / 2, seconds)


def intake(client: Client, steps: int, seconds: float, threads: int = 4) -> dict[str, Any]:
    """Return how many readings a second are stored, with bodies made beforehand and four connections."""
    count = max(threads, int(seconds * 50_000 / steps / len(client.names)))  # more than can be stored in that time
    first = client.take(count * steps)
    bodies = [client.body(first + number * steps, first + (number + 1) * steps) for number in range(count)]
    stored, waits, turn = [0], [], threading.Lock()
    begin, used = time.perf_counter(), client.service.processor()

    def send() -> None:
        with httpx.Client(timeout=60) as http:
            while bodies and time.perf_counter() - begin < seconds:
                with turn:
                    if not bodies:
                        return
                    body = bodies.pop(0)
                started = time.perf_counter()
                answer = client.post(http, "/v1/readings", body)
                answer.raise_for_status()
                with turn:
                    waits.append(time.perf_counter() - started)
                    stored[0] += answer.json()["stored"]

    run([send] * threads)
    took = time.perf_counter() - begin
    found = client.service.query("SELECT count(*) FROM readings")
    return {
        "readings_a_second": stored[0] / took,
        "processor_seconds_of_the_service": client.service.processor() - used,
        "seconds": took,
        "requests": len(waits),
        "request_ms": spread(waits),
        "acknowledged": stored[0],
        "in_the_database": found,
    }


def run(works: list[Any]) -> None:
    """Run functions in threads of their own."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def spread(seconds: list[float]) -> dict[str, float]:
    """Return median and 99th percentile in milliseconds."""
    return {"median": 1000 * float(np.median(seconds)), "p99": 1000 * float(np.quantile(seconds, 0.99))}


def latency(client: Client, steps: int) -> dict[str, Any]:
    """Return the time from the last reading of a step to its stored forecast, with a reader beside it."""
    first = client.take(LOOKBACK + steps)
    reads, stop = [0], threading.Event()

    def read() -> None:
        with httpx.Client(timeout=60) as http:
            while not stop.is_set():
                sensor = client.names[reads[0] % len(client.names)]
                http.get(f"{client.service.url}/v1/forecasts/latest", params={"sensor": sensor}).raise_for_status()
                reads[0] += 1

    with httpx.Client(timeout=60) as http:
        client.post(http, "/v1/readings", client.body(first, first + LOOKBACK)).raise_for_status()
        wait_for(client, LOOKBACK)
        alone = paced(client, http, first + LOOKBACK, steps // 2)
        reader = threading.Thread(target=read)
        began = time.perf_counter()
        reader.start()
        beside = paced(client, http, first + LOOKBACK + steps // 2, steps - steps // 2)
        stop.set()
        reader.join()
    rate = reads[0] / (time.perf_counter() - began)
    return {"last_reading_to_forecast_ms": alone, "with_a_reader_ms": beside, "reads_a_second": rate}


def wait_for(client: Client, forecasts: int) -> None:
    """Wait until so many forecasts are stored."""
    while client.service.query("SELECT count(*) FROM forecasts") < forecasts:
        time.sleep(0.05)


def paced(client: Client, http: httpx.Client, first: int, steps: int) -> dict[str, float]:
    """Send a step every half second in three requests, and return the times of their forecasts."""
    thirds = np.array_split(np.arange(len(client.names)), 3)
    known, used = client.service.query("SELECT count(*) FROM forecasts"), client.service.processor()
    for step in range(first, first + steps):
        began = time.perf_counter()
        for columns in thirds:
            client.post(http, "/v1/readings", client.body(step, step + 1, columns)).raise_for_status()
        time.sleep(max(0.0, 0.5 - (time.perf_counter() - began)))
    wait_for(client, known + steps)
    with sqlite3.connect(f"file:{client.service.database}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT seconds FROM forecasts ORDER BY time DESC LIMIT ?", (steps,)).fetchall()
    used = client.service.processor() - used
    return {**spread([row[0] for row in rows]), "processor_ms_a_step": 1000 * used / steps}


def stateless(client: Client, requests: int) -> dict[str, Any]:
    """Return the times of single stateless requests with all sensors, and with 15 % of them."""
    rng = np.random.default_rng(0)
    figures: dict[str, Any] = {}
    for share in (1.0, 0.15):
        waits, columns, used = [], np.arange(len(client.names)), client.service.processor()
        with httpx.Client(timeout=60) as http:
            for number in range(requests + 5):
                count = max(1, round(share * len(client.names)))
                if number % 10 == 0:  # another set of sensors
                    columns = np.sort(rng.choice(len(client.names), count, replace=False))
                body = client.body(number, number + LOOKBACK, columns.tolist())
                started = time.perf_counter()
                client.post(http, "/v1/forecast", body).raise_for_status()
                waits.append(time.perf_counter() - started)
        used = 1000 * (client.service.processor() - used) / len(waits)
        figures[f"{share:.0%} present, ms"] = {**spread(waits[5:]), "processor_ms_a_request": used}
    return figures


def soak(client: Client, rate: float, seconds: float) -> dict[str, Any]:
    """Send `rate` readings a second for a while; return memory over time, and whether anything was lost."""
    n, service = len(client.names), client.service
    memory, errors, acknowledged, laps = [], 0, 0, 0
    begin, last = time.perf_counter(), 0.0
    with httpx.Client(timeout=60) as http:
        while (now := time.perf_counter() - begin) < seconds:
            if acknowledged / n >= now * rate / n:
                time.sleep(0.001)
                continue
            step = client.take(1)
            if step >= len(client.times):
                break
            answer = client.post(http, "/v1/readings", client.body(step, step + 1))
            errors += answer.status_code != 200
            acknowledged += answer.json().get("stored", 0) if answer.status_code == 200 else 0
            laps += 1
            if now - last >= 5:
                memory.append([round(now), round(service.memory(), 1)])
                last = now
    took = time.perf_counter() - begin
    return {
        "seconds": took,
        "readings_a_second": acknowledged / took,
        "acknowledged": acknowledged,
        "in_the_database": service.query("SELECT count(*) FROM readings"),
        "errors": errors,
        "steps_sent": laps,
        "forecasts": service.query("SELECT count(*) FROM forecasts"),
        "memory_mb": memory,
    }


if __name__ == "__main__":
    main()
