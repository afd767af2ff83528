# make demo: install and see it work.   make test: install and check everything.
# Both need only Python 3.11+ and make, and are quick the second time.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
MODELS := $(VENV)/.models
DEV    := $(VENV)/.dev
SERVE  := $(VENV)/.serve
BENCH  := $(VENV)/.bench
BROWSER := $(VENV)/.browser
# Where the real datasets are, for the tests and benchmarks that need them.
export SUBCAST_DATA ?= $(abspath $(wildcard ../shared/data))

# darts and neuralforecast have many dependencies: they get an environment of their own.
HEAVY  := .venv-adapters
# The documentation tools read the source without importing it: their environment needs neither subcast nor torch.
DOCS   := .venv-docs
# Build tools, and clean environments in which the built packages are tried.
PACK   := .venv-package

.PHONY: demo serve-demo test test-browser test-cluster test-service-long test-service-fuzz test-postgres test-slow coverage lint bench fuzz clean test-adapters docs docs-serve package

demo: $(MODELS)
	$(BIN)/subcast demo --output demo

# The live service on generated data, with a feed in which sensors die and stick; Ctrl-C stops it.
serve-demo: $(SERVE)
	rm -rf live-demo
	$(BIN)/subcast demo --live --output live-demo

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not cluster' --doctest-modules --doctest-glob='*.md' src tests README.md docs

# A scheduler and workers as processes of their own, which the tests kill.
test-cluster: $(DEV)
	$(BIN)/python -m pytest -m cluster tests

# The tests that make test leaves out because they take long.
test-slow: $(DEV)
	$(BIN)/python -m pytest -n 2 -m slow tests

# Drives the page of the service in Debian's Chromium. Files that import selenium are not read by make test.
test-browser: $(BROWSER)
	SUBCAST_BROWSER=1 $(BIN)/python -m pytest tests/browser

# The service is killed 50 times under load, its database goes away for a minute, its disk is full (as root only).
test-service-long: $(DEV)
	SUBCAST_KILLS=50 $(BIN)/python -m pytest tests/service/test_faults.py

# Generated requests to every address of the service: none may end in an error of the service itself.
test-service-fuzz: $(DEV)
	$(PIP) install --quiet --constraint constraints.txt schemathesis
	SUBCAST_FUZZ=1 $(BIN)/python -m pytest tests/service_fuzz

# The service on a throw-away cluster of PostgreSQL with four workers; needs Debian's package postgresql.
test-postgres: $(DEV)
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev,postgres]'
	SUBCAST_POSTGRES=1 $(BIN)/python -m pytest tests/postgres

# Prints the lines that no test runs, and writes htmlcov/index.html. Compiled kernels are not measured.
coverage: $(DEV)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not cluster' --doctest-modules --cov --cov-report=term --cov-report=html src tests

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

# Generated inputs, most of them dirty or damaged: CASES for each target, MINUTES for all; continues where it stopped.
CASES   ?= 100000
MINUTES ?= 20
fuzz: $(DEV)
	$(BIN)/python fuzz/run.py --target all --cases $(CASES) --minutes $(MINUTES)

test-adapters: $(HEAVY)/.ready
	$(HEAVY)/bin/python -m pytest tests/adapters
	$(HEAVY)/bin/python -m pytest -rs tests/test_examples.py -k 'darts or neuralforecast'

docs: $(DOCS)/.ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo "the site is in site/: open site/index.html through a web server, or run make docs-serve"

docs-serve: $(DOCS)/.ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs serve

package: $(PACK)/.ready
	rm -rf dist $(PACK)/wheel $(PACK)/sdist
	PIP_CONSTRAINT=$(abspath constraints.txt) $(PACK)/bin/python -m build --outdir dist
	$(PACK)/bin/python tests/package_contents.py dist
	for kind in wheel sdist; do \
		suffix=$$([ $$kind = wheel ] && echo whl || echo tar.gz); \
		$(PYTHON) -m venv $(PACK)/$$kind && \
		$(PACK)/$$kind/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt dist/subcast-*.$$suffix && \
		(cd $(PACK)/$$kind && bin/python -P $(abspath tests/smoke.py)) || exit 1; \
	done

clean:
	rm -rf $(VENV) $(HEAVY) $(DOCS) $(PACK) demo live-demo site dist htmlcov .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "subcast needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(MODELS): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[models]'
	@touch $@

$(SERVE): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[models,serve]'
	@touch $@ $(MODELS)

$(DEV): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(MODELS)

$(BROWSER): $(DEV)
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ apt-get update && apt-get install --yes chromium chromium-driver; } || \
		{ echo "the browser tests need the packages chromium and chromium-driver: install them as root"; exit 1; }
	$(PIP) install --quiet --constraint constraints.txt 'selenium>=4.20'
	@touch $@

$(BENCH): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[bench]'
	@touch $@

$(HEAVY)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(HEAVY)
	$(HEAVY)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
		--editable '.[models]' pytest hypothesis onnx onnxruntime darts neuralforecast
	@touch $@

$(DOCS)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' > $(DOCS)/needs.txt
	$(DOCS)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --requirement $(DOCS)/needs.txt
	@touch $@

$(PACK)/.ready: constraints.txt
	$(PYTHON) -m venv $(PACK)
	$(PACK)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt build
	@touch $@
