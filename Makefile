# make demo    remember a sample conversation and answer questions from it (no key, no network beyond the registry)
# make test    what CI runs
# make check   style, types, tests: green before a change is proposed
# make docs    draw the graphs and the figures of the documentation
# make site    build the documentation as a site, in site/
# make bench   LOCOMO=path/to/locomo.json: evidence, answers, cost and speed on LoCoMo

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# setuptools warns of folders with the name of the package, at each editable install
PIP := PYTHONWARNINGS=ignore $(BIN)/pip
LOCOMO ?=
OUT ?= bench-out
# One process a core; files stay whole, so that what a file's tests share is made once.
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile

.PHONY: demo test check bench docs site clean

demo: $(VENV)/.demo
	$(BIN)/engram demo

test: $(VENV)/.dev
	LANGGRAPH_STRICT_MSGPACK=true $(BIN)/python -m pytest $(PARALLEL)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	LANGGRAPH_STRICT_MSGPACK=true $(BIN)/python -m pytest $(PARALLEL)

bench: $(VENV)/.dev
	@test -n "$(LOCOMO)" || { echo "make bench: say where the data is: make bench LOCOMO=path/to/locomo10.json"; exit 2; }
	$(BIN)/engram bench locomo $(LOCOMO) --out $(OUT) --json

docs: $(VENV)/.dev
	$(BIN)/python docs/draw_graphs.py
	$(BIN)/python docs/draw_figures.py

site: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site *.egg-info lab/*.egg-info $(OUT)

# torch comes first and pinned: left to the others, its newest build brings gigabytes of GPU libraries.
$(VENV)/.base:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip
	$(PIP) install --quiet torch==2.13.0
	touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.base
	$(PIP) install --quiet --editable '.[offline,agents,inspect]'
	touch $@

$(VENV)/.dev: pyproject.toml lab/pyproject.toml | $(VENV)/.base
	$(PIP) install --quiet --editable '.[dev]'
	$(PIP) install --quiet --editable lab
	touch $@ $(VENV)/.demo
