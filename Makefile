# Needs Python 3.10 or newer (with its venv module) and make. Everything else goes into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

# What is installed is noted in two stamp files, so that the demo need not wait for test tools.
RUNTIME := $(VENV)/.installed-runtime
DEV     := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help demo setup test long check format check-forge bench paths suites chaos soak versions \
  frameworks \
  release-check secrets clean

help:
	@echo "make demo    a task survives the death of its worker and its server (under a minute)"
	@echo "make test    all tests, against a real Temporal dev server"
	@echo "make long    the tests that take many minutes: thousands of turns, of approvals"
	@echo "make check   ruff, pyright (strict, public types complete), import-linter"
	@echo "make bench   the benchmark table -> benchmarks/RESULTS.md"
	@echo "make paths   how many modules each operation passes through -> benchmarks/RESULTS.md"
	@echo "make suites  third-party conformance suites against the bench agent"
	@echo "make frameworks  the pages of docs/frameworks, each with its framework (minutes)"
	@echo "make chaos   processes killed, frozen and restarted at random under load (minutes)"
	@echo "make soak    half an hour beside 5,000 open streams -> benchmarks/RESULTS.md"
	@echo "make release-check  builds sdist and wheel, installs the wheel, runs the demo from it"
	@echo "make secrets what docker-compose.yml has to be given: random secrets, made once"
	@echo "make versions  unit tests with the lowest and with the newest packages that are allowed"
	@echo
	@echo "PYTHON=python3.13 make ...   chooses the interpreter (now: $(PYTHON))"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "Python 3.10 or newer is needed: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "The venv module is missing (Debian, Ubuntu: apt-get install python3-venv)." >&2; exit 1; }

$(RUNTIME): pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV) ..."
	@$(PIP) install --quiet --editable '.[embedded]'
	@touch $@

$(DEV): $(RUNTIME)
	@echo "Installing the development tools into $(VENV) ..."
	@$(PIP) install --quiet --editable '.[dev]'
	@touch $@

setup: $(DEV)

demo: $(RUNTIME)
	@$(BIN)/a2a-temporal demo

# TESTS_AT_ONCE=0 runs one after the other, in this process. Compiled tests are kept in any case:
# each of the processes would compile all of them again.
TESTS_AT_ONCE ?= 4
test: $(DEV)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(TESTS_AT_ONCE) --dist loadfile --no-loadscope-reorder

check: $(DEV) check-forge
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/pyright --verifytypes a2a_temporal --ignoreexternal \
	  > $(VENV)/verifytypes.txt || { cat $(VENV)/verifytypes.txt; exit 1; }
	@$(BIN)/lint-imports

# The workflow files: their schemas, and what is known to make them unsafe. Nothing is downloaded.
FORGE := $(BIN)/check-jsonschema --builtin-schema
check-forge: $(DEV)
	@$(FORGE) vendor.github-workflows .github/workflows/*.yml
	@$(FORGE) vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	@$(FORGE) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(FORGE) vendor.dependabot .github/dependabot.yml
	@$(BIN)/zizmor --offline --quiet .github

format: $(DEV)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(DEV)
	@$(BIN)/python -m benchmarks.core --write

paths: $(DEV)
	@$(BIN)/python -m benchmarks.paths --write

# CHAOS_SEED=n makes the same plans again; CHAOS_SECONDS and CHAOS_CLIENTS say how much.
# SUITES="--only proof" picks; the first run installs each into ~/.cache/a2a-temporal-suites.
suites: $(DEV)
	@$(BIN)/python -m tests.conformance.suites $(SUITES)

chaos: $(DEV)
	@$(BIN)/python -m pytest tests/chaos -s

long: $(DEV)
	@$(BIN)/python -m pytest -m long tests

# SOAK_MINUTES, SOAK_PARKED and SOAK_RATE make it shorter or smaller.
soak: $(DEV)
	@$(BIN)/python -m benchmarks.soak --write

# Each resolution in an environment of its own; UV is the resolver that knows the lowest.
UV ?= uv
versions: $(VENV)/bin/python
	@command -v $(UV) >/dev/null || { echo "uv is needed: pip install uv" >&2; exit 1; }
	@for resolution in lowest-direct highest; do \
	  $(UV) venv --quiet --clear --python $(BIN)/python $(VENV)/$$resolution \
	  && $(UV) pip install --quiet --python $(VENV)/$$resolution/bin/python \
	       --resolution $$resolution --editable '.[dev]' \
	  && $(VENV)/$$resolution/bin/python -m pytest --quiet tests/unit || exit 1; \
	done

# RELEASE=v1.2.3 also holds that tag against the version and CHANGELOG.md.
release-check: $(DEV)
	@$(BIN)/python -m tests.release

# Kept when they are there. The inbox runs as another user, who reads the tokens: the directory is closed.
RANDOM_TEXT := openssl rand -hex 32
secrets:
	@umask 077; mkdir -p .secrets; test -e .env || { \
	  echo "POSTGRES_PASSWORD=$$($(RANDOM_TEXT))"; echo "A2A_INBOX_SECRET=$$($(RANDOM_TEXT))"; \
	  echo "A2A_INBOX_PEOPLE=./.secrets/people.json"; } > .env
	@umask 022; test -e .secrets/people.json || { \
	  echo "{\"$$($(RANDOM_TEXT))\": {\"name\": \"ann\", \"groups\": [\"finance\"]},"; \
	  echo " \"$$($(RANDOM_TEXT))\": {\"name\": \"bob\", \"groups\": [\"finance\"]},"; \
	  echo " \"$$($(RANDOM_TEXT))\": {\"name\": \"cfo\", \"groups\": []}}"; } > .secrets/people.json

clean:
	rm -rf $(VENV) dist .a2a-temporal .hypothesis .pytest_cache .ruff_cache .import_linter_cache

# Each framework has an environment of its own: their requirements exclude each other.
# FRAMEWORKS=langgraph chooses one. A page says with which versions its tests have passed.
FRAMEWORKS ?= $(patsubst tests/frameworks/requirements/%.txt,%,$(wildcard tests/frameworks/requirements/*.txt))
frameworks: $(addprefix framework-,$(FRAMEWORKS))

framework-%: $(VENV)/frameworks/%/.installed
	@$(VENV)/frameworks/$*/bin/python -m pytest --confcutdir=tests/frameworks -W default \
	  tests/frameworks/test_$*.py

.PRECIOUS: $(VENV)/frameworks/%/.installed
$(VENV)/frameworks/%/.installed: tests/frameworks/requirements/%.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing $* ..."
	@$(VENV)/bin/python -m venv $(VENV)/frameworks/$*
	@$(VENV)/frameworks/$*/bin/pip install --disable-pip-version-check --quiet \
	  pytest pytest-asyncio pytest-timeout --requirement $< --editable '.[embedded]'
	@touch $@
