# Every command here works from a fresh clone: it makes its own virtual environment first, whether
# or not another one is active.

PYTHON ?= python3
VENV ?= .venv
LOWEST_VENV ?= .venv-lowest
PYTEST_WORKERS ?= auto

BIN := $(VENV)/bin
LOWEST_BIN := $(LOWEST_VENV)/bin
# A stamp is newer than pyproject.toml when the environment has what pyproject.toml asks for.
BASE := $(VENV)/.tallystick-base
TEST := $(VENV)/.tallystick-test
PIP := -m pip --disable-pip-version-check install --quiet
# What an environment is made of: the files that the lock has the hashes of, and nothing that was built
# on the way, as what builds it would be fetched without a lock.
LOCK := .ci/lock
LOCKED := $(PIP) --require-hashes --only-binary :all:
# pip installs uv, which installs the rest in a tenth of the time.
UV := $(BIN)/uv pip install --quiet
UV_LOCKED := $(UV) --require-hashes --only-binary :all:
# The project itself has no hash; it is installed by what the lock has, and fetches nothing.
PROJECT := $(PIP) --no-index --no-deps --no-build-isolation
LOCKING := $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' $(LOCK_OPTIONS)
# The order is random; its seed stands at the start, and PYTEST_OPTIONS=--randomly-seed=N repeats it.
# A process that has nothing left takes from one that has; the slowest tests are told at the end.
PYTEST := -m pytest --durations=10 $(PYTEST_OPTIONS)
SIDE_BY_SIDE := --numprocesses=$(PYTEST_WORKERS) --dist=worksteal

# What a user's own environment adds to the search path is no part of this one. Without bytecode every
# process that a test starts would compile all that it imports.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
# The time of every file in what is built: the same for everyone, also where there is no git.
export SOURCE_DATE_EPOCH := 1580601600

.DEFAULT_GOAL := help
.PHONY: help demo format check smoke test test-process test-busy test-lowest nightly mutants lint types \
	browser docs lock wheel install-wheel sbom bench attack clean closures

help: ## Show these commands.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

demo: $(BASE) ## Score the bundled examples of every skill type.
	@$(BIN)/tallystick demo

format: $(TEST) ## Format the code, and mend what the linter can.
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

check: lint types ## Check format, style, layers and types: before a commit.

smoke: $(TEST) ## Try a little of everything, in less than a minute.
	$(BIN)/python $(PYTEST) $(SIDE_BY_SIDE) -m smoke

test: $(TEST) ## Run the fast tests, which start no process.
	$(BIN)/python $(PYTEST) $(SIDE_BY_SIDE)

test-process: $(TEST) ## Run the tests that start processes, one after the other.
	$(BIN)/python $(PYTEST) -m process

# A loop on every core takes half of the processor from the tests.
test-busy: $(TEST) ## Run the fast tests beside busy loops on every core.
	$(BIN)/python .ci/busy.py $(MAKE) test

# The tools that only these tests need: without one they fail.
nightly: export TALLYSTICK_REQUIRE := node,chromium,axe-core,sqlite3,openssl,promtool,prometheus,systemd-analyze,unshare
nightly: $(TEST) browser ## Run all that takes hours: every test, busy, with all examples; mutants; an attack; benchmarks.
	TALLYSTICK_EXAMPLES=all $(BIN)/python .ci/busy.py $(BIN)/python $(PYTEST) $(SIDE_BY_SIDE) -m 'not process'
	$(BIN)/python .ci/busy.py $(MAKE) test-process
	$(MAKE) mutants attack bench

mutants: $(TEST) ## Plant mistakes, twenty a family of tests, and count those that its tests find.
	$(BIN)/python .ci/mutants.py

# pip knows no lowest versions, so uv resolves them. The tools of the tests are lowest too.
test-lowest: $(TEST) ## Run the vectors and the tests of records and stores with the lowest versions that are declared.
	rm -rf $(LOWEST_VENV)
	$(PYTHON) -m venv $(LOWEST_VENV)
	$(UV_LOCKED) --python $(LOWEST_BIN)/python --requirement $(LOCK)/build.txt
	$(UV) --python $(LOWEST_BIN)/python --resolution lowest-direct --no-build-isolation --editable '.[test]'
	$(LOWEST_BIN)/python $(PYTEST) $(SIDE_BY_SIDE) tests/records tests/state/store tests/vectors

lint: $(TEST) ## Check the style and the format of the code, and which package imports which.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache

types: $(TEST) ## Check the types of the engine and of its plugins.
	$(BIN)/mypy

# What is locked stays as long as pyproject.toml allows it; LOCK_OPTIONS=--upgrade takes the newest.
lock: $(TEST) ## Write the lock anew, as pyproject.toml asks.
	$(LOCKING) --extra test pyproject.toml --output-file $(LOCK)/test.txt
	$(LOCKING) --constraints $(LOCK)/test.txt pyproject.toml --output-file $(LOCK)/runtime.txt
	$(BIN)/python -c 'import tomllib; \
		print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' | \
		$(LOCKING) --constraints $(LOCK)/test.txt - --output-file $(LOCK)/build.txt
	echo uv | $(LOCKING) --constraints $(LOCK)/test.txt - --output-file $(LOCK)/installer.txt

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

# From then on every command here tries what the wheel holds: engine/ and plugins/ are no packages.
install-wheel: wheel ## Put the wheel into the environment, in place of the checkout.
	$(BIN)/python $(PROJECT) --force-reinstall dist/tallystick-*.whl

sbom: $(TEST) ## Write what an installation consists of, as CycloneDX, into dist/tallystick.cdx.json.
	$(BIN)/python .ci/sbom.py dist/tallystick.cdx.json

# Chromium itself comes from the distribution: `apt-get install chromium`.
browser: ## Install axe-core into build/browser, for the tests of pages in Chromium.
	mkdir -p build/browser
	cp $(LOCK)/package.json $(LOCK)/package-lock.json build/browser
	npm ci --prefix build/browser --ignore-scripts --no-audit --no-fund --loglevel=error

docs: $(TEST) ## Build the pages as a site, into build/docs.
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet -d build/docs.trees docs build/docs

bench: $(TEST) ## Measure the speed of the kernels, of scoring and of a state.
	$(BIN)/python tests/benchmarks/score.py
	$(BIN)/python tests/benchmarks/startup.py
	$(BIN)/python tests/benchmarks/rounds.py
	$(BIN)/python tests/benchmarks/history.py
	$(BIN)/python tests/benchmarks/state.py
	$(BIN)/python tests/benchmarks/population.py
	$(BIN)/python tests/benchmarks/yuma.py

# TALLYSTICK_ATTACK_CASES is half the number of lines, TALLYSTICK_ATTACK_SEED makes others of them.
attack: export TALLYSTICK_ATTACK_CASES ?= 500000
attack: $(TEST) ## Attack with a million lines and some thousand files. Takes an hour.
	$(BIN)/python $(PYTEST) $(SIDE_BY_SIDE) -m nightly tests/attack/test_lines.py tests/attack/test_files.py

clean: ## Remove what these commands made.
	rm -rf $(VENV) $(LOWEST_VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(BASE): pyproject.toml $(LOCK)/installer.txt $(LOCK)/runtime.txt $(LOCK)/build.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(LOCKED) --requirement $(LOCK)/installer.txt
	$(UV_LOCKED) --python $(BIN)/python --requirement $(LOCK)/runtime.txt --requirement $(LOCK)/build.txt
	$(BIN)/python $(PROJECT) --editable .
	@touch $@

$(TEST): pyproject.toml $(LOCK)/installer.txt $(LOCK)/test.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(LOCKED) --requirement $(LOCK)/installer.txt
	$(UV_LOCKED) --python $(BIN)/python --requirement $(LOCK)/test.txt
	$(BIN)/python $(PROJECT) --editable .
	@touch $(BASE) $@
