# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
PYTHON := .venv/bin/python
PYTEST := $(PYTHON) -m pytest
# Another lab beside the first: make lab-up LAB=folder
ifdef LAB
export GPUOPS_LAB_DIR := $(abspath $(LAB))
endif
TICKET ?= LAB-1
CASES ?=

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 26

.PHONY: setup
setup: ## the virtual environment with every tool, from requirements/dev.txt
	@scripts/setup

.PHONY: try
try: setup ## the pre-change review of LAB-1 on a saved snapshot: neither Go nor a cluster
	@scripts/try

.PHONY: demo
demo: setup lab-up ## the main job on the lab: reviewed in check mode, then carried out
	@scripts/demo $(TICKET)

.PHONY: test
test: setup ## every check and every test; what CI runs
	@scripts/test

.PHONY: test-all
test-all: setup ## the same, then what takes longer: the matrix, and every integration test
	@scripts/test all

.PHONY: check
check: setup ## the fast loop: lint, types, unit tests but the exhaustive ones; no lab
	@$(MAKE) -j2 --output-sync=target lint types
	$(PYTEST) tests/unit -n 2 -m "not slow"

.PHONY: lint
lint: setup
	ruff check .
	yamllint --strict .
	ansible-lint
	reuse lint --quiet
	antsibull-changelog lint

.PHONY: types
types: setup
	scripts/types

.PHONY: unit
unit: setup
	$(PYTEST) tests/unit -n 2

.PHONY: sanity
sanity: setup ## ansible-test sanity and units, in a copy under .cache
	scripts/sanity

.PHONY: matrix
matrix: setup ## unit tests on two lines of ansible-core and two Pythons
	scripts/matrix

.PHONY: integration
integration: setup ## tests against the lab
	$(PYTEST) tests/integration

.PHONY: molecule
molecule: setup ## scenarios against the lab
	scripts/molecule

.PHONY: docs
docs: setup ## the documentation site, in docs/_build
	scripts/docs

.PHONY: lab-up
lab-up: setup ## start the lab (built once), install the platform role on it, write .lab/env
	@$(PYTHON) -m lab up

.PHONY: lab-down
lab-down: setup ## stop the lab
	@$(PYTHON) -m lab down

.PHONY: lab-reset
lab-reset: setup ## put the lab back to its fixture
	@$(PYTHON) -m lab reset

.PHONY: node-mode-cases
node-mode-cases: setup ## run a file of node-mode cases against the lab: CASES=path
	@[ -n "$(CASES)" ] || { echo "node-mode-cases: say which file: make node-mode-cases CASES=path" >&2; exit 2; }
	@$(PYTEST) tests/node_mode_cases/test_cases.py --cases "$(CASES)" -v

.PHONY: soak
soak: setup ## the long runs: random kills, races, floods, hours of reconcile
	$(PYTEST) tests/integration tests/node_mode_cases -m soak

.PHONY: bench
bench: setup ## the benchmark; writes bench/results
	@$(PYTHON) -m bench

.PHONY: lock
lock: setup ## renew requirements/*.txt
	scripts/lock
