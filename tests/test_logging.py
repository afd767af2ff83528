"""Logging: the library prints nothing by itself, and a handler of the user receives its messages."""

import subprocess
import sys

import pytest

WARN = "import logging, subcast; logging.getLogger('subcast.datasets.base').warning('download failed')"


@pytest.mark.parametrize(
    ("code", "stderr"),
    [
        (WARN, ""),
        (
            f"import logging; logging.basicConfig(format='%(name)s: %(message)s'); {WARN}",
            "subcast.datasets.base: download failed\n",
        ),
    ],
    ids=["silent by default", "seen with a handler"],
)
def test_warning(code, stderr):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", stderr)
