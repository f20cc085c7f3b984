# `make` alone lists what there is. Everything sets up what it needs, also on a bare machine.

PYTHON ?= python3
PYTEST_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STATUS := build/pytest.status

# Three processes share the tests out, on two cores too, since much of it is waiting: see tests/parallel.py.
# One alone: PYTEST_ARGS="-n 0".
XDIST := -n 3

export PYTHON
# Where it is set, each of the thousand programs that tests start would compile all of windtunnel anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install engine images wheels demo test test-all test-fast lint site clean

help: ## list the targets
	@awk -F ': *[^#]*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(VENV)/.dev ## make .venv and install windtunnel into it, editable, with what the tests need

$(VENV)/.dev: pyproject.toml
	@tools/virtualenv $(VENV) dev
	@touch $@

$(VENV)/.site: pyproject.toml
	@tools/virtualenv $(VENV) site
	@touch $@

engine: ## a container engine where none answers (as root on Debian or Ubuntu)
	@tools/docker-engine

images: engine ## the Debian base images: pulled, or built where there is no registry
	@tools/base-images

# What several targets need: pip and debootstrap do not wait for each other.
.PHONY: ready
ready:
	@$(MAKE) --silent --no-print-directory -j 2 install images

wheels: install engine ## the published releases that some targets want, each a small image; fetched with pip
	@$(BIN)/python tools/wheels.py

demo: ready ## see it work: a planted slowdown is found, and nothing else
	@PATH="$(CURDIR)/$(BIN):$$PATH" tools/demo

test: ready ## the tests, one of each kind; PYTEST_ARGS="..." is handed to pytest
	@mkdir -p build && rm -f $(STATUS)
	@$(BIN)/pytest $(XDIST) -m "not nightly" $(PYTEST_ARGS); status=$$?; echo $$status >$(STATUS); exit $$status

test-all: ready wheels ## every test: all targets and versions, and other random examples each time
	@$(BIN)/pytest $(XDIST) --hypothesis-profile=search $(PYTEST_ARGS)

test-fast: install ## the tests that need no container engine
	@$(BIN)/pytest $(XDIST) -m "not engine" $(PYTEST_ARGS)

lint: install ## style, types, which module may import which, and the workflows
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tools/lint_workflows.py

site: $(VENV)/.site ## the documentation, in build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean: ## remove .venv and everything that was built
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
