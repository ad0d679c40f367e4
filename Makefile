# Every command here works from a fresh clone: it makes its own virtual environment first, whether
# or not another one is active.

PYTHON ?= python3
VENV ?= .venv
WHEEL_VENV ?= .venv-wheel
LOWEST_VENV ?= .venv-lowest
PYTEST_WORKERS ?= auto

BIN := $(VENV)/bin
WHEEL_BIN := $(WHEEL_VENV)/bin
LOWEST_BIN := $(LOWEST_VENV)/bin
# A stamp is newer than pyproject.toml when the environment has what pyproject.toml asks for.
BASE := $(VENV)/.tallystick-base
TEST := $(VENV)/.tallystick-test
PIP := -m pip --disable-pip-version-check install --quiet
# What an environment is made of: the files that the lock has the hashes of, and nothing that was built
# on the way, as what builds it would be fetched without a lock.
LOCK := .ci/lock
LOCKED := $(PIP) --require-hashes --only-binary :all:
# The project itself has no hash; it is installed by what the lock has, and fetches nothing.
PROJECT := $(PIP) --no-index --no-deps --no-build-isolation
LOCKING := $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' $(LOCK_OPTIONS)
# The order is random; its seed stands at the start, and PYTEST_OPTIONS=--randomly-seed=N repeats it.
# A process that has nothing left takes from one that has; the slowest tests are told at the end.
PYTEST := -m pytest --numprocesses=$(PYTEST_WORKERS) --dist=worksteal --unchanged-sources --durations=10 \
	$(PYTEST_OPTIONS)

# What a user's own environment adds to the search path is no part of this one. Without bytecode every
# process that a test starts would compile all that it imports.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
# The time of every file in what is built: the same for everyone, also where there is no git.
export SOURCE_DATE_EPOCH := 1580601600

.DEFAULT_GOAL := help
.PHONY: help demo format check smoke test test-slow test-busy test-lowest lint types browser docs lock \
	wheel test-wheel sbom bench load attack clean closures

help: ## Show these commands.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

demo: $(BASE) ## Score the bundled examples of every skill type.
	@$(BIN)/tallystick demo

format: $(TEST) ## Format the code, and mend what the linter can.
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# .ci/changed.py maps changed files to tests; BASE_BRANCH=NAME compares with another branch than main.
check: $(TEST) ## Check format, style and types, and run the tests of what changed, in two minutes.
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python $(PYTEST) $$($(BIN)/python .ci/changed.py $(if $(BASE_BRANCH),--base $(BASE_BRANCH)))

smoke: $(TEST) ## Try a little of everything, in less than two minutes.
	$(BIN)/python $(PYTEST) -m smoke

test: $(TEST) ## Run the tests; those that take minutes are left out.
	$(BIN)/python $(PYTEST)

test-slow: $(TEST) ## Run the tests that take minutes.
	$(BIN)/python $(PYTEST) -m slow

# A loop on every core takes half of the processor from the tests.
test-busy: $(TEST) ## Run the tests beside busy loops on every core.
	$(BIN)/python .ci/busy.py $(MAKE) test

# pip knows no lowest versions, so uv resolves them. The tools of the tests are lowest too.
test-lowest: $(TEST) ## Run the tests of scoring, facts and states with the lowest versions that are declared.
	rm -rf $(LOWEST_VENV)
	$(PYTHON) -m venv $(LOWEST_VENV)
	$(LOWEST_BIN)/python $(LOCKED) --requirement $(LOCK)/build.txt
	$(BIN)/uv pip install --quiet --python $(LOWEST_BIN)/python --resolution lowest-direct \
		--no-build-isolation --editable '.[test]'
	$(LOWEST_BIN)/python $(PYTEST) tests/scoring tests/state tests/vectors

lint: $(TEST) ## Check the style and the format of the code.
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(TEST) ## Check the types of the engine and of its plugins.
	$(BIN)/mypy

# What is locked stays as long as pyproject.toml allows it; LOCK_OPTIONS=--upgrade takes the newest.
lock: $(TEST) ## Write the lock anew, as pyproject.toml asks.
	$(LOCKING) --extra test pyproject.toml --output-file $(LOCK)/test.txt
	$(LOCKING) --constraints $(LOCK)/test.txt pyproject.toml --output-file $(LOCK)/runtime.txt
	$(BIN)/python -c 'import tomllib; \
		print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' | \
		$(LOCKING) --constraints $(LOCK)/test.txt - --output-file $(LOCK)/build.txt

# Who moves a module, or imports one more, runs this; a test compares.
closures: $(TEST) ## Write anew which files decide results, as the imports of the code ask.
	$(BIN)/python .ci/closures.py

# The wheel comes from the source distribution, so that both are known to be complete.
wheel: $(TEST) ## Build the source distribution, and from it the wheel, into dist/.
	rm -f dist/tallystick-*
	$(BIN)/python -m hatchling build --target sdist
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation \
		--wheel-dir dist dist/tallystick-*.tar.gz
	$(BIN)/check-wheel-contents dist

# The tests start inside the environment of the wheel: from there neither engine/ nor plugins/ can
# be imported, so what they find is what the wheel holds. `make test` compares the wheel's files with the
# checkout, one by one; here run a little of everything, and the laws, whose examples may be more.
test-wheel: wheel ## Run the smoke tests and the properties against the built wheel.
	rm -rf $(WHEEL_VENV)
	$(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_BIN)/python $(LOCKED) --requirement $(LOCK)/test.txt
	$(WHEEL_BIN)/python $(PROJECT) dist/tallystick-*.whl
	cd $(WHEEL_VENV) && bin/python -c 'import importlib, sys, tomllib; \
		wheel = tomllib.load(open("$(CURDIR)/pyproject.toml", "rb"))["tool"]["check-wheel-contents"]; \
		assert all(importlib.import_module(name).__file__.startswith(sys.prefix) for name in wheel["toplevel"])'
	cd $(WHEEL_VENV) && bin/python $(PYTEST) --config-file="$(CURDIR)/pyproject.toml" \
		-m '(hypothesis or smoke) and not slow' "$(CURDIR)/tests"

sbom: $(TEST) ## Write what an installation consists of, as CycloneDX, into dist/tallystick.cdx.json.
	$(BIN)/python .ci/sbom.py dist/tallystick.cdx.json

# Chromium itself comes from the distribution: `apt-get install chromium`.
browser: ## Install axe-core into build/browser, for the tests of pages in Chromium.
	mkdir -p build/browser
	cp $(LOCK)/package.json $(LOCK)/package-lock.json build/browser
	npm ci --prefix build/browser --ignore-scripts --no-audit --no-fund --loglevel=error

load: $(TEST) ## Load the service: 200 requests a second for a minute.
	$(BIN)/python tests/benchmarks/load.py

docs: $(TEST) ## Build the pages as a site, into build/docs.
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet -d build/docs.trees docs build/docs

bench: $(TEST) ## Measure the speed of the kernels, of scoring and of a state.
	$(BIN)/python tests/benchmarks/geometric_mean.py
	$(BIN)/python tests/benchmarks/score.py
	$(BIN)/python tests/benchmarks/startup.py
	$(BIN)/python tests/benchmarks/rounds.py
	$(BIN)/python tests/benchmarks/history.py --markdown
	$(BIN)/python tests/benchmarks/state.py
	$(BIN)/python tests/benchmarks/dispute.py
	$(BIN)/python tests/benchmarks/rules_in_force.py
	$(BIN)/python tests/benchmarks/population.py
	$(BIN)/python tests/benchmarks/yuma.py
	$(BIN)/python tests/benchmarks/consensus.py
	$(BIN)/python tests/benchmarks/simulation.py
	$(BIN)/python tests/benchmarks/machines.py

# TALLYSTICK_ATTACK_CASES is the number of lines, TALLYSTICK_ATTACK_SEED makes others of them.
attack: $(TEST) ## Attack with a million lines, ten thousand files and 1 200 kills. Takes an hour.
	$(BIN)/python tests/attack/run.py

clean: ## Remove what these commands made.
	rm -rf $(VENV) $(WHEEL_VENV) $(LOWEST_VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(BASE): pyproject.toml $(LOCK)/runtime.txt $(LOCK)/build.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(LOCKED) --requirement $(LOCK)/runtime.txt --requirement $(LOCK)/build.txt
	$(BIN)/python $(PROJECT) --editable .
	@touch $@

$(TEST): pyproject.toml $(LOCK)/test.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(LOCKED) --requirement $(LOCK)/test.txt
	$(BIN)/python $(PROJECT) --editable .
	@touch $(BASE) $@
