"""The program on the page about clusters runs as it is written there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def programs():
    """Return the Python programs of the page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs/guide/cluster.md").read_text(), flags=re.DOTALL)


def test_all_programs_compile():
    assert len(programs()) == 3
    for number, program in enumerate(programs()):
        compile(program, f"program {number}", "exec")


@pytest.mark.cluster
def test_the_cluster_on_one_machine_runs_as_written(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "program.py").write_text(programs()[0])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["(12, 2)", "(12, 2)"]
    assert "Traceback" not in result.stderr
    assert (tmp_path / "bank" / "bank-shards.json").is_file()
