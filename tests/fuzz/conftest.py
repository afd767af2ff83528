"""Import the modules of fuzz/, which are programs beside the package."""

import importlib.util
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[2] / "fuzz"


def load(name):
    """Return the module of fuzz/ with this name; those that it imports are found beside it."""
    if str(FUZZ) not in sys.path:
        sys.path.append(str(FUZZ))
    known = sys.modules.get(f"fuzz_{name}")
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", FUZZ / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def program():
    """A function from the name of a module of fuzz/ to the module."""
    return load


@pytest.fixture
def run_seeds(tmp_path, program):
    """Run cases of a target in this process, and return how many ended in each way."""

    def run(target, seeds):
        module, worker = program(target), program("worker")
        context = module.prepare(tmp_path)
        ends = [worker.run_one(module.run_case, context, seed) for seed in seeds]
        failures = [f"seed {end['seed']}: {end['failure']['traceback']}" for end in ends if end["failure"]]
        assert not failures, "\n".join(failures)
        outcomes = [end["outcome"] for end in ends]
        return {outcome: outcomes.count(outcome) for outcome in ("refused", "accepted", "checked")}

    return run
