"""Facts about the source tree that must not get worse: tests for each module, short functions, declared abilities.

The lists of exceptions may only shrink. A test fails if the tree has an offender that is not in its list, and also if
a list names something that is no longer an offender. `python tests/test_structure.py` prints the present numbers and
offenders.
"""

from __future__ import annotations

import ast
import statistics
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LONGEST_BODY = 40
MODEL_NAMES = {"model", "forecaster", "module", "network", "regressor"}

WITHOUT_TESTS: set[str] = set()
LONG_BODIES: set[str] = {
    "retrieval/compiled/bounds.py::scan_blocks",
}
ABILITY_CHECKS: set[str] = set()


def source_files(root):
    package = root / "src" / "subcast"
    return {path.relative_to(package).as_posix(): path for path in sorted(package.rglob("*.py"))}


@cache
def parsed(path):
    return ast.parse(path.read_text())


def functions_of(tree, prefix=""):
    """Yield (qualified name, node) of all functions, including methods and nested functions."""
    for node in ast.iter_child_nodes(tree):
        name = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}" if prefix else node.name
            if not isinstance(node, ast.ClassDef):
                yield name, node
        yield from functions_of(node, name)


def body_length(function):
    """Return the number of lines of a function's statements, without its signature and docstring."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return statements[-1].end_lineno - statements[0].lineno + 1 if statements else 0


def modules_without_tests(root):
    """Return the modules `a/b.py` that have no file tests/a/test_b.py; packages need none."""
    return {
        name
        for name, path in source_files(root).items()
        if path.name != "__init__.py" and not (root / "tests" / Path(name).parent / f"test_{path.name}").exists()
    }


def long_bodies(root):
    """Return the functions whose body is longer than 40 lines."""
    return {
        f"{name}::{function}"
        for name, path in source_files(root).items()
        for function, node in functions_of(parsed(path))
        if body_length(node) > LONGEST_BODY
    }


def ability_checks(root):
    """Return the calls of hasattr, and of getattr with a default, on models outside of adapters/."""
    return {
        f"{name}::{ast.unparse(node)}"
        for name, path in source_files(root).items()
        if not name.startswith("adapters/")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and (node.func.id, len(node.args)) in {("hasattr", 2), ("getattr", 3)}
        and names_a_model(node.args[0])
    }


def names_a_model(expression):
    """Return whether an expression ends in the name of a model, such as `model`, `self.model` or `own_model`."""
    if isinstance(expression, ast.Call):
        return any(names_a_model(argument) for argument in expression.args)
    name = expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")
    return name.lstrip("_").split("_")[-1] in MODEL_NAMES


def modules_without_docstring(root):
    return {name for name, path in source_files(root).items() if ast.get_docstring(parsed(path)) is None}


def check(offenders, exceptions, rule):
    new, outdated = sorted(offenders - exceptions), sorted(exceptions - offenders)
    assert not new, f"{rule}: {new}"
    assert not outdated, f"no longer an exception, remove from the list in {Path(__file__).name}: {outdated}"


def test_every_module_has_a_test_file_of_the_same_path():
    check(modules_without_tests(ROOT), WITHOUT_TESTS, "add tests/<same path>/test_<module>.py")


def test_function_bodies_are_short():
    check(long_bodies(ROOT), LONG_BODIES, f"split functions with more than {LONGEST_BODY} lines")


def test_models_declare_their_abilities():
    check(ability_checks(ROOT), ABILITY_CHECKS, "declare the ability in the class instead of using hasattr or getattr")


def test_every_module_and_package_has_a_docstring():
    check(modules_without_docstring(ROOT), set(), "add a module docstring")


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in source_files(ROOT).values()}
    check({folder.name for folder in folders if not (folder / "__init__.py").exists()}, set(), "add __init__.py")


OFFENDERS = {
    "lonely.py": '"""A module."""\n',
    "tested.py": '"""A module."""\n',
    "inner/__init__.py": '"""A package."""\n',
    "inner/deep.py": '"""A module."""\n',
    "inner/mute.py": "x = 1\n",
    "long.py": '"""A module."""\n\n\nclass A:\n    def f(self):\n        """Text."""\n' + "        x = 1\n" * 41,
    "short.py": '"""A module."""\n\n\ndef f(\n    a,\n):\n    """Text.\n\n    More.\n    """\n' + "    x = 1\n" * 40,
    "ability.py": '"""A module."""\nhasattr(self.model, "predict")\nhasattr(getattr(a.model, "m", 0), "x")\n',
    "plain.py": '"""A module."""\nhasattr(row, "predict")\ngetattr(row, "name", 0)\ngetattr(model, name)\n',
    "adapters/mine.py": '"""A module."""\nhasattr(model, "predict")\n',
}


@pytest.fixture
def tree(tmp_path):
    for name, text in OFFENDERS.items():
        path = tmp_path / "src" / "subcast" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("test_tested.py", "inner/test_deep.py", "test_mute.py"):
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path


def test_offenders_are_found(tree):
    assert modules_without_tests(tree) == set(OFFENDERS) - {"tested.py", "inner/deep.py", "inner/__init__.py"}
    assert long_bodies(tree) == {"long.py::A.f"}
    assert modules_without_docstring(tree) == {"inner/mute.py"}
    assert ability_checks(tree) == {
        "ability.py::hasattr(self.model, 'predict')",
        "ability.py::hasattr(getattr(a.model, 'm', 0), 'x')",
        "ability.py::getattr(a.model, 'm', 0)",
    }


@pytest.mark.parametrize(("offenders", "message"), [({"a", "b"}, "add a test: .'b'."), (set(), "remove .*'a'")])
def test_new_and_outdated_exceptions_fail(offenders, message):
    with pytest.raises(AssertionError, match=message):
        check(offenders, {"a"}, "add a test")
    check({"a"}, {"a"}, "add a test")


def main():
    """Print the numbers of the source tree and its present offenders."""
    trees = {name: parsed(path) for name, path in source_files(ROOT).items()}
    lengths = sorted(body_length(node) for tree in trees.values() for _, node in functions_of(tree))
    print(f"{len(trees)} source files, {len(lengths)} functions")
    print(
        f"body lines: median {statistics.median(lengths):g}, p90 {lengths[int(0.9 * len(lengths))]}, max {lengths[-1]}"
    )
    for find in (long_bodies, modules_without_tests, ability_checks, modules_without_docstring):
        offenders = sorted(find(ROOT))
        print(f"{find.__name__.replace('_', ' ')}: {len(offenders)}", *offenders, sep="\n    ")


if __name__ == "__main__":
    main()
