# `make demo` and `make test` set up their own environment; nothing else is needed but Python and make.
PYTHON ?= python3
VENV ?= .venv
LOCK ?= requirements/locked.txt
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(notdir $(LOCK))
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BENCH ?= .venv-bench

.PHONY: demo test lint types imports docs unit coverage test-slow test-browser bench format lock clean

demo: $(READY)
	$(BIN)/vrbm demo

test: lint types imports docs unit

$(READY): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"vrbm needs Python 3.11 or later; {sys.executable} is {sys.version.split()[0]}. Use make PYTHON=...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) --require-hashes -r $(LOCK)
	$(PIP) --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip check --disable-pip-version-check
	touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

unit: $(READY)
	$(BIN)/pytest -n 2

# The same tests, a quarter slower, with the lines that none of them reaches.
coverage: $(READY)
	$(BIN)/pytest -n 2 --cov=vrbm --cov-report=term-missing:skip-covered

test-slow: $(READY)
	$(BIN)/pytest -m slow

# Needs Chromium on the path.
test-browser: $(READY)
	$(BIN)/pytest -m browser tests/experiments/test_browser.py

# Against peers and against the bare matrix products; nothing else should run meanwhile. Where torch
# for CPUs has an index of its own: make bench TORCH_INDEX=…
bench: $(BENCH)/.ready
	$(BENCH)/bin/python benchmarks/run.py
	$(BENCH)/bin/python benchmarks/accept.py docs/benchmarks/results.json

$(BENCH)/.ready: pyproject.toml $(LOCK) requirements/bench.txt
	$(PYTHON) -m venv --clear $(BENCH)
	sed '/--hash/d; s/ \\$$//' $(LOCK) > $(BENCH)/constraints.txt
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -c $(BENCH)/constraints.txt -c requirements/bench.txt -e ".[bench]"
	touch $@

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Rewrites requirement files from pyproject.toml, with the hash of every file that may be installed: the
# newest versions, the same with those for a GPU, and the lowest that we claim; requirements/bench.txt
# pins the peers of the benchmarks by hand.
COMPILE := $(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras
lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --universal --extra io --extra dev --extra docs --upgrade pyproject.toml requirements/build.in -o requirements/locked.txt
	$(COMPILE) --universal --extra io --extra cuda --upgrade -c requirements/locked.txt pyproject.toml -o requirements/cuda.txt
	$(COMPILE) --resolution lowest-direct --extra dev --extra docs pyproject.toml requirements/build.in -o requirements/lowest.txt

clean:
	rm -rf $(VENV) .venv-* docs/_build demo .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
