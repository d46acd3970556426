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
# A process that has nothing left to do takes tests from another, so that none is left alone with slow ones at the end.
SHARED := -n $(WORKERS) --dist worksteal
# More for pytest, for example: make test PYTEST_ARGS="-k rules -x"
PYTEST_ARGS ?=

# Everything to work on Toolcrib is installed, or only what it needs to run.
READY := .venv/.ready
RUNTIME := .venv/.runtime
VENV := .venv/pyvenv.cfg
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

# Some machines forbid bytecode. Each process of pytest would then compile all test files again, and each `toolcrib` that a test starts its own.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test bytecode fuzz coverage check fix bench rivals servers clients wheel dist image model clean

help:  ## show what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(READY)  ## install pinned requirements and Toolcrib itself (editable) into .venv

$(VENV):
	$(PYTHON) -m venv .venv

$(READY): pyproject.toml requirements/runtime.txt requirements/dev.txt src/toolcrib/version.py | $(VENV)
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

# They have environments of their own, so they can be installed while ours is: `make -j check servers`.
servers: $(VENV)  ## install the third-party servers that tests talk to into .test-servers
	$(BIN)/python scripts/install_test_servers.py

run: $(RUNTIME)  ## serve MCP over HTTP on 127.0.0.1:8665, with demo servers where none is configured
	@echo "Starting the gateway: $(BIN)/toolcrib serve --http --demo"
	@$(BIN)/toolcrib serve --http --demo

test: $(READY) servers  ## run every test
	$(BIN)/python -m pytest $(SHARED) $(PYTEST_ARGS)

# Worth it before several processes start at once, since none of them would wait for the work of another.
# A file that can't be read is reported by `make test`.
bytecode: $(READY)  ## compile all test files once
	-$(BIN)/python -m pytest --collect-only -qq >/dev/null

clients: $(READY)  ## try Toolcrib with the real AI clients from npm, which are installed into .clients; 1.6 GB
	$(BIN)/python scripts/install_clients.py
	$(BIN)/python -m pytest clients $(PYTEST_ARGS)

fuzz: $(READY)  ## run the fuzz tests with a hundred times as many examples, others each time
	FUZZ_TIMES=$${FUZZ_TIMES:-100} $(BIN)/python -m pytest $(SHARED) tests/fuzz --timeout 7200 $(PYTEST_ARGS)

coverage: $(READY) servers  ## the same, require the coverage floor, and show line by line what no test reached
	$(BIN)/python -m pytest $(SHARED) --cov --cov-report=term $(PYTEST_ARGS)
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

bench: $(READY) servers  ## measure; every file in bench/ that can be run
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
