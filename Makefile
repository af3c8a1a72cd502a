# The one list of commands. Each sets up what it needs in .venv; only Python (3.11 or newer) and make are assumed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench reproduce clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | expand -t 12

# A stamp for each set of extras, remade when the project's requirements change.
$(VENV)/.%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

demo: $(VENV)/.tables  ## the main job, start to end, on bundled data
	$(BIN)/semisvm demo

test: $(VENV)/.test  ## every test (the papers' data is used where SEMISVM_DATA or ../shared/data has it)
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.test $(VENV)/.lint  ## style, types, and which way imports point
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint  ## put the code in house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test $(VENV)/.bench  ## ours beside LIBSVM and oneDAL on the papers' sets (ARGS="--quick")
	$(BIN)/python -m benchmarks.supervised $(ARGS)

reproduce: $(VENV)/.test  ## the published tables in small, ours beside theirs (ARGS="ptsvm --data DIR" for a full one)
	$(BIN)/semisvm reproduce $(or $(ARGS),--quick)

clean:  ## remove the environment and everything made
	rm -rf $(VENV) build dist reproduce-out .pytest_cache .ruff_cache .mypy_cache .hypothesis
