# Everything that is done with this checkout. `make` alone lists the targets.

PYTHON ?= python3
DATA_DIR ?= $(if $(HANSE_DATA_DIR),$(HANSE_DATA_DIR),$(HOME)/.hanse)
WORKERS ?= 2
SOAK_TIME ?= 60m

VENV := .venv
BIN := $(VENV)/bin
RUNTIME_STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
# A room without tests of one sort has no such folder.
TESTS := $(wildcard tests/unit tests/component tests/simulation tests/contract tests/e2e)
# A worker that is done takes over half of what another has left.
SHARED := -n $(WORKERS) --dist worksteal
FAILED := --last-failed --last-failed-no-failures none
COMPILE := uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links

# Where the environment wants no bytecode beside the sources it is kept in .venv: to read and rewrite every test anew
# is most of what it costs to collect them.
ifdef PYTHONDONTWRITEBYTECODE
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
endif

# uv installs the same locked files in a fraction of the time.
ifneq ($(shell command -v uv 2>/dev/null),)
PIP_INSTALL := uv pip install --quiet --python $(BIN)/python
else
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install install-dev lock run test coverage lint bench soak soak-guards fuzz kubernetes kubernetes-path helm helm-path vitess vitess-path test-kubernetes conformance sample clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' Makefile

install: $(RUNTIME_STAMP) ## Make .venv with .venv/bin/hanse, runtime dependencies only

install-dev: $(DEV_STAMP) ## Add the tools for tests, lint and benches to .venv

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "hanse needs Python 3.11 or newer; $(PYTHON) is not installed" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "hanse needs Python 3.11 or newer; $$($(PYTHON) --version) is too old: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
		|| { echo "$(PYTHON) cannot make virtual environments: install its venv package (Debian: python3-venv)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(RUNTIME_STAMP): requirements.lock pyproject.toml | $(BIN)/python
	@echo "installing the runtime dependencies into $(VENV)"
	@$(PIP_INSTALL) --require-hashes -r requirements.lock
	@$(PIP_INSTALL) --no-build-isolation --no-deps --editable .
	@touch $@

$(DEV_STAMP): requirements-dev.lock $(RUNTIME_STAMP)
	@echo "installing the development tools into $(VENV)"
	@$(PIP_INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@

lock: ## Choose all versions anew and write both lock files (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv" >&2; exit 1; }
	$(COMPILE) --upgrade --group build -o requirements.lock pyproject.toml
	$(COMPILE) --upgrade --group build --group dev -c requirements.lock -o requirements-dev.lock pyproject.toml
	$(COMPILE) --upgrade --group build --group dev --group clients -c requirements-dev.lock -o requirements-clients.lock pyproject.toml

run: $(RUNTIME_STAMP) ## Start a federation of three simulated clusters, data in DATA_DIR (default ~/.hanse)
	@$(BIN)/hanse up --data-dir "$(DATA_DIR)"

test: $(DEV_STAMP) ## Run all tests that need nothing but Python and kubectl
	$(BIN)/pytest $(TESTS) -m "not kubernetes" $(SHARED)

coverage: $(DEV_STAMP) ## The same, slower, with a coverage summary
	@$(BIN)/coverage erase
	$(BIN)/coverage run --parallel-mode -m pytest $(TESTS) -m "not kubernetes" $(SHARED)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --skip-empty --format=total | sed 's/.*/coverage: &%/'

lint: $(DEV_STAMP) ## Check style, types and the order of the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# PEER=kubefed sets the real KubeFed beside Hanse, on the same clusters.
bench: $(DEV_STAMP) kubernetes ## Measure propagation on real clusters, append to bench/RESULTS.md
	$(BIN)/python -m bench.placement
	$(BIN)/python -m bench.propagation
	$(BIN)/python -m bench.side_by_side --count 300
	$(BIN)/python -m bench.side_by_side --count 1000
	$(BIN)/python -m bench.machinery
	$(BIN)/python -m bench.apiserver
	$(BIN)/python -m bench.scale
	$(BIN)/python -m bench.scale --clusters 3 --objects 5000
	$(BIN)/python -m bench.scale --clusters 10 --objects 10000
	for clusters in 10 100 500; do $(BIN)/python -m bench.scale --clusters $$clusters --objects 10 || exit; done
	for clusters in 10 50 200; do $(BIN)/python -m bench.scale --clusters $$clusters --objects 100 || exit; done
	for clusters in 10 40 100; do $(BIN)/python -m bench.scale_restart --clusters $$clusters || exit; done
	$(BIN)/python -m bench.scale_plot
	$(BIN)/python -m bench.services
	$(BIN)/python -m bench.dns
	$(BIN)/python -m bench.dns_providers
	$(BIN)/python -m bench.rollouts
	$(BIN)/python -m bench.pods
	$(BIN)/python -m bench.admission
	$(BIN)/python -m bench.hooks
	$(BIN)/python -m bench.composites
	$(BIN)/python -m bench.vitess
	$(BIN)/python -m bench.vitess_topology

soak: $(DEV_STAMP) ## Play fresh seeds of all random worlds for SOAK_TIME (default 60m), append to bench/RESULTS.md
	$(BIN)/python -m tests.soak --for $(SOAK_TIME) --jobs $(WORKERS) --record

soak-guards: $(DEV_STAMP) ## Take every guard away in turn, have the control plane die at every request, play twice what must repeat
	$(BIN)/python -m tests.soak --mutations --jobs $(WORKERS) --record
	$(BIN)/hanse simulate --seeds 200 --for 2m --twice --jobs $(WORKERS)
	$(BIN)/pytest tests/soak -n $(WORKERS)
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest $(TESTS) -m "hypothesis and not kubernetes" $(SHARED)

FUZZ_CASES ?= 100000
FUZZ_SEED ?= 1

fuzz: $(DEV_STAMP) ## Play 100,000 hostile requests, manifests and DNS packets each (FUZZ_CASES, FUZZ_SEED)
	$(BIN)/python -m tests.fuzz requests --seed $(FUZZ_SEED) --count $(FUZZ_CASES)
	$(BIN)/python -m tests.fuzz manifests --seed $(FUZZ_SEED) --count $(FUZZ_CASES)
	$(BIN)/python -m tests.fuzz dns --seed $(FUZZ_SEED) --count $(FUZZ_CASES)

kubernetes: $(RUNTIME_STAMP) ## Build the real Kubernetes components into the cache, once
	@components/build

kubernetes-path: ## Print the folder of the real components (use make -s)
	@components/build --path

helm: $(RUNTIME_STAMP) ## Build the Helm that renders charts into the cache, once
	@components/build helm

helm-path: ## Print the folder of that Helm (use make -s)
	@components/build --path helm

vitess: $(RUNTIME_STAMP) ## Build the real Vitess programs into the cache, once
	@components/build vitess

vitess-path: ## Print the folder of those programs (use make -s)
	@components/build --path vitess

# The load balancers of simulated clusters listen on the same addresses: whole federations run side by side where each
# worker can have a network of its own (root on Linux), else one after the other. A newcomer needs the registries.
# Dozens of processes share two cores here; what failed is tried once more, alone, and both runs are in the output.
NEWCOMER := tests/e2e/test_newcomer.py
test-kubernetes: $(DEV_STAMP) kubernetes ## Run the tests on real Kubernetes clusters
	@$(PIP_INSTALL) --require-hashes -r requirements-clients.lock
	@status=0; networks=; federations=; \
	if unshare --net true 2>/dev/null; then networks=HANSE_OWN_NETWORKS=1; federations="-n $(WORKERS) --dist loadfile"; fi; \
	set -x; \
	$(BIN)/pytest $(filter-out tests/e2e,$(TESTS)) -m kubernetes -n $(WORKERS) --dist loadfile \
		|| $(BIN)/pytest $(filter-out tests/e2e,$(TESTS)) -m kubernetes $(FAILED) || status=1; \
	env $$networks $(BIN)/pytest tests/e2e tests/kubernetes -m kubernetes --ignore=$(NEWCOMER) $$federations \
		|| $(BIN)/pytest tests/e2e tests/kubernetes -m kubernetes --ignore=$(NEWCOMER) $(FAILED) || status=1; \
	$(BIN)/pytest $(NEWCOMER) -m kubernetes || $(BIN)/pytest $(NEWCOMER) -m kubernetes || status=1; \
	{ set +x; } 2>/dev/null; exit $$status

conformance: $(DEV_STAMP) kubernetes ## Have the upstream conformance tests judge simulated clusters, and keep the page of it
	@components/build conformance
	$(BIN)/python -m tests.conformance

# Small parts of what makes people trust it: some seeds of all random worlds, always the same, hostile input, and what
# the upstream conformance tests say of a simulated cluster.
sample: $(DEV_STAMP) kubernetes ## A few minutes of make soak, fuzz and conformance
	@components/build conformance >/dev/null
	$(BIN)/python -m tests.soak --from 1 --seeds 16 --for 4m --jobs $(WORKERS)
	$(BIN)/python -m tests.fuzz requests --seed $(FUZZ_SEED) --count 2000
	$(BIN)/python -m tests.fuzz manifests --seed $(FUZZ_SEED) --count 4000
	$(BIN)/python -m tests.fuzz dns --seed $(FUZZ_SEED) --count 10000
	$(BIN)/python -m tests.conformance --check --against embedded --focus 'sig-(auth|instrumentation|cli)'

clean: ## Remove .venv and what the tools left behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* dist
