# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
DEV := $(VENV)/.dev
JOBS ?= 2

# Real datasets, where they lie beside the checkout; loaders look here first.
ifneq ($(wildcard ../shared/data),)
export GUESTLIST_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test quick long lint lowest extras pythons bench papers docs clean

demo: $(CORE)
	$(BIN)/guestlist demo --out audits/demo

# Tests run side by side: threads of each would only wait for those of the others.
test quick long: export OMP_NUM_THREADS = 1
# Tests start some hundred processes, and each would compile the package again.
test quick long: export PYTHONDONTWRITEBYTECODE =

test: $(DEV) lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not long"

# Every night and before a release: the same tests with more settings and repetitions.
long: $(DEV)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m long

# What takes less than two minutes in all: for every commit.
quick: $(DEV)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow and not wheel"

lint: $(DEV)
	$(BIN)/ruff check src tests benchmarks papers docs examples
	$(BIN)/ruff format --check src tests benchmarks papers docs examples
	$(BIN)/mypy

# The site, in docs/_build: a broken link or a docstring that cannot be read ends it.
docs: $(DEV)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build

# The lowest versions that pyproject.toml allows, of dependencies and of extras; and other Pythons, where they are
# installed. Each in its own environment.
lowest extras pythons: $(DEV)
	$(BIN)/python -m benchmarks.environments $@

bench: $(DEV)
	$(BIN)/python -m benchmarks

papers: $(DEV)
	$(BIN)/python -m papers

clean:
	rm -rf $(VENV) build dist audits

$(CORE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(DEV): $(CORE)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[torch,keras,lightning,transformers,ray,attribution,dp,onnx,plot,mlflow,docs,test]"
	touch $@
