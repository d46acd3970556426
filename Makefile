# `make run` starts the gateway, `make test` and `make check` are what CI runs. Everything installs itself into .venv and .test-servers.

ifneq ($(OS),Windows_NT)
PYTHON ?= python3
BIN := .venv/bin
else # the same by other names; the steps are for the shell that comes with Git there
SHELL := sh.exe
PYTHON ?= python
BIN := .venv/Scripts
endif

# Test processes at once, more than a small machine has processors: most tests wait for other processes. 0 runs them in one.
WORKERS ?= 4
# More for pytest, for example: make test PYTEST_ARGS="-k rules -x"
PYTEST_ARGS ?=

# Everything to work on Toolcrib is installed, or only what it needs to run.
READY := .venv/.ready
RUNTIME := .venv/.runtime
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.DEFAULT_GOAL := help
.PHONY: help setup run test coverage check fix bench rivals servers clients wheel dist image model clean

help:  ## show what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(READY)  ## install pinned requirements and Toolcrib itself (editable) into .venv

$(READY): pyproject.toml requirements/runtime.txt requirements/dev.txt src/toolcrib/version.py
	$(PYTHON) -m venv .venv
	$(PIP) install -r requirements/dev.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $(RUNTIME) $@

# Each step is announced: the second one takes a while and would otherwise say nothing.
$(RUNTIME): pyproject.toml requirements/runtime.txt src/toolcrib/version.py
	@echo "Setting up, once: a virtual environment in .venv ..."
	@$(PYTHON) -m venv .venv
	@echo "... the packages that Toolcrib needs to run (about half a minute) ..."
	@$(PIP) install -r requirements/runtime.txt
	@echo "... and Toolcrib itself, from this folder."
	@$(PIP) install --no-deps --editable .
	@touch $@

servers: $(READY)  ## install the third-party servers that tests talk to into .test-servers
	$(BIN)/python scripts/install_test_servers.py

run: $(RUNTIME)  ## serve MCP over HTTP on 127.0.0.1:8665, with demo servers where none is configured
	@echo "Starting the gateway: $(BIN)/toolcrib serve --http --demo"
	@$(BIN)/toolcrib serve --http --demo

test: servers  ## run every test
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

clients: $(READY)  ## try Toolcrib with the real AI clients from npm, which are installed into .clients; 1.6 GB
	$(BIN)/python scripts/install_clients.py
	$(BIN)/python -m pytest clients $(PYTEST_ARGS)

coverage: servers  ## the same, require the coverage floor, and show line by line what no test reached
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term $(PYTEST_ARGS)
	$(BIN)/coverage html
	@echo "open .coverage-html/index.html"

check: $(READY)  ## format, lint, types and import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(READY)  ## format the code and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: servers  ## measure; every file in bench/ that can be run
	$(BIN)/python scripts/run_benchmarks.py

rivals:  ## install what bench/retrieval.py compares search with into .venv-bench; several GB
	$(PYTHON) -m venv .venv-bench
	.venv-bench/$(notdir $(BIN))/python -m pip --disable-pip-version-check -qq install -r requirements/bench.txt

wheel: $(READY)  ## build dist/*.whl
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .

dist: $(READY)  ## build what a release publishes into an empty dist/, and check it
	rm -rf dist
	$(BIN)/python -m build --wheel --sdist --no-isolation --outdir dist .
	$(BIN)/python scripts/check_release.py dist/*

image:  ## build the container image and try it, where docker or podman runs
	$(PYTHON) scripts/check_image.py

model: $(READY)  ## build the search model from DATA=folder; wants a GPU (training/README.md)
	$(PIP) install -r training/requirements.txt
	$(BIN)/python -m training.prepare $(DATA)
	$(BIN)/python -m training.train --out training/.out
	$(BIN)/python -m training.install training/.out
	OPENBLAS_NUM_THREADS=2 $(BIN)/python -m training.asking $(DATA) --cache training/.cache
	$(BIN)/python -m training.words $(DATA)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m training.fusion $(DATA) --cache training/.cache

clean:  ## remove everything that was installed or built here
	rm -rf .venv .venv-bench .test-servers .clients dist .coverage .coverage.* .coverage-html
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench scripts -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
