# make demo: install and see it work.   make test: install and check everything.
# Both need only Python 3.11+ and make, and are quick the second time.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
MODELS := $(VENV)/.models
DEV    := $(VENV)/.dev
BENCH  := $(VENV)/.bench
# Where the real datasets are, for the tests and benchmarks that need them.
export SUBCAST_DATA ?= $(abspath $(wildcard ../shared/data))

# darts and neuralforecast bring much with them: an environment of their own.
HEAVY  := .venv-adapters

.PHONY: demo test test-slow coverage lint bench clean test-adapters

demo: $(MODELS)
	$(BIN)/subcast demo --output demo

test: lint
	$(BIN)/python -m pytest -n 2 -m 'not slow' --doctest-modules --doctest-glob='*.md' src tests README.md docs

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH)
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/retrieval.py
	$(BIN)/python benchmarks/forecasters.py
	$(BIN)/python benchmarks/wrapper.py

test-adapters: $(HEAVY)/.ready
	$(HEAVY)/bin/python -m pytest tests/adapters
	$(HEAVY)/bin/python examples/wrap_darts.py
	$(HEAVY)/bin/python examples/wrap_neuralforecast.py

clean:
	rm -rf $(VENV) $(HEAVY) demo .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "subcast needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(MODELS): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[models]'
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(MODELS)

$(BENCH): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[bench]'
	@touch $@

$(HEAVY)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(HEAVY)
	$(HEAVY)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
		--editable '.[models]' pytest hypothesis onnx onnxruntime darts neuralforecast
	@touch $@

# The tests that make test leaves out because they take long.
test-slow: $(DEV)
	$(BIN)/python -m pytest -n 2 -m slow tests

# Prints the lines that no test runs, and writes htmlcov/index.html. Compiled kernels are not measured.
coverage: $(DEV)
	$(BIN)/python -m pytest -n 2 -m 'not slow' --doctest-modules --cov --cov-report=term --cov-report=html src tests
