"""The service in processes of its own, for tests that kill it, and a sender that does not give up."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import numpy as np
import onnx

from service_tools import HORIZON, LOOKBACK, NAMES, fit_wrapper, make_series, readings_of
from subcast.adapters.onnx import from_onnx


def write_model(path):
    """Write an ONNX file that forecasts the last reading; it is stored with the wrapper, as a function is not."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = np.zeros((LOOKBACK, HORIZON), dtype=np.float32)
    weights[-1] = 1
    nodes = [
        helper.make_node("Transpose", ["x"], ["nodes"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["nodes", "weights"], ["steps"]),
        helper.make_node("Transpose", ["steps"], ["y"], perm=[0, 2, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "last",
        [helper.make_tensor_value_info("x", kind, ["b", LOOKBACK, len(NAMES)])],
        [helper.make_tensor_value_info("y", kind, ["b", HORIZON, len(NAMES)])],
        initializer=[onnx.numpy_helper.from_array(weights, "weights")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def make_plant(folder, n_steps=6000):
    """Save a wrapper with its model, fitted on the first steps, and return the whole series."""
    series = make_series(n_steps=n_steps)
    model = from_onnx(write_model(folder.with_suffix(".onnx")), variables=NAMES)
    fit_wrapper(series[:1500], model).save(folder)
    return series


def free_port():
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


class Running:
    """`subcast serve` in a process of its own."""

    def __init__(self, plant, *options, log=subprocess.DEVNULL):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.command = [
            sys.executable, "-c", "from subcast.cli import main; main()", "serve", str(plant),
            "--port", str(self.port), "--clock", "feed", "--rate", "0", "--catch-up", "100000",
            "--log-level", "warning", *options,
        ]  # fmt: skip
        self.log = log
        self.process = None

    def start(self, wait=True):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(self.command, env=environment, stdout=self.log, stderr=self.log)
        if wait:
            self.wait()
        return self

    def wait(self, path="/healthz", seconds=90):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.process.poll() is None, "the service ended"
            try:
                if httpx.get(self.url + path, timeout=2).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.05)
        raise AssertionError("the service did not start")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        return None if self.process is None else self.process.returncode


class Sender(threading.Thread):
    """Sends steps one after another, each in several requests, until it is told to stop; repeats what fails."""

    def __init__(self, url, series, first=1300, parts=3, pause=0.0):
        super().__init__(daemon=True)
        self.url, self.series, self.first, self.parts, self.pause = url, series, first, parts, pause
        self.acknowledged = {}  # (sensor, time): value
        self.sent = 0  # whole steps
        self.statuses = {}
        self.halt = threading.Event()
        self.error = None

    def run(self):
        try:
            with httpx.Client(timeout=10) as client:
                while not self.halt.is_set() and self.first + self.sent < len(self.series):
                    self.send_step(client, self.first + self.sent)
                    self.sent += 1
                    time.sleep(self.pause)
        except Exception as error:
            self.error = error

    def send_step(self, client, step):
        rows = readings_of(self.series, step, step + 1)
        for part in range(self.parts):
            some = rows[part :: self.parts]
            self.post(client, some, f"{step}-{part}")
            self.acknowledged |= {(row["sensor"], row["time"]): row["value"] for row in some}

    def post(self, client, rows, key):
        for _ in range(3000):
            try:
                answer = client.post(
                    f"{self.url}/v1/readings", json={"readings": rows}, headers={"Idempotency-Key": key}
                )
            except httpx.HTTPError:
                time.sleep(0.05)
                continue
            self.statuses[answer.status_code] = self.statuses.get(answer.status_code, 0) + 1
            if answer.status_code == 200:
                return
            assert answer.status_code == 503, answer.text
            assert answer.headers["retry-after"]
            time.sleep(0.05)
        raise AssertionError("a request was never answered")

    def finish(self):
        """Stop after the present step."""
        self.halt.set()
        self.join(120)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error
