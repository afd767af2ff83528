"""Import the scripts of benchmarks/, which are no package."""

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"


def script(name):
    """Return a script as a module; scripts import each other by name.

    The folder is searched during the import alone: its retrieval.py would hide the tests' folder of that name.
    """
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.append(str(FOLDER))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(FOLDER))
    return sys.modules[name]
