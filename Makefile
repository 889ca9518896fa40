PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: .venv help demo test faults bench check format generate clean

help: ## show what there is
	@grep -hE '^[a-z.]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

# The project's own installation comes second: pip's hash mode refuses an editable install in the same call.
$(VENV)/.demo: .ci/requirements.txt pyproject.toml
	@echo "setting up $(VENV) (first time only; takes a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes --only-binary :all: -r .ci/requirements.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.demo .ci/requirements-dev.txt
	@echo "adding what the tests need to $(VENV)"
	@$(PIP) install --require-hashes --only-binary :all: -r .ci/requirements-dev.txt
	@touch $@

.venv: $(VENV)/.dev ## make the environment

demo: $(VENV)/.demo ## play a conversation, then serve the thread page (ARGS=--once: play and stop)
	@$(BIN)/threadsmith demo $(ARGS)

test: $(VENV)/.dev ## run the tests (ARGS is passed to pytest)
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

faults: $(VENV)/.dev ## kill bots everywhere and see what is lost or doubled (ARGS="--kills 10000 --seed 7")
	@$(BIN)/python -m tests.faults.run $(ARGS)

bench: $(VENV)/.dev ## run the benchmarks, which write docs/benchmarks.* (ARGS=--quick: a short run that writes them only with --write)
	@$(BIN)/python -m tests.bench $(ARGS)

check: $(VENV)/.dev ## lint, types, import direction, drift of generated files
	@failed=; \
	for each in "ruff check ." "ruff format --check ." mypy "lint-imports --no-cache" "python -m tests.generated --check"; do \
	  echo "== $$each"; $(BIN)/$$each || failed="$$failed '$$each'"; \
	done; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

format: $(VENV)/.dev ## let ruff format and mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

generate: $(VENV)/.dev ## write the generated files (JSON Schemas, reference tables)
	@$(BIN)/python -m tests.generated

clean: ## remove the environment and caches (never data)
	@rm -rf $(VENV) .bench tests/bench/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
