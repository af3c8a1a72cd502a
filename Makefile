# The one list of commands. Each sets up what it needs in .venv; only Python (3.11 or newer) and make are assumed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
PIP    := -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test nightly test-gpu test-oldest docs links lint format bench bench-cores bench-gpu bench-tune reproduce release clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | expand -t 12

# A stamp for each dependency group, made again when the project's requirements change; pip 25.1 knows groups.
$(VENV)/.cli: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) install --editable ".[cli]"
	@touch $@

$(VENV)/.%: pyproject.toml $(VENV)/.cli
	@$(BIN)/python $(PIP) install --upgrade "pip>=25.1"
	$(BIN)/python $(PIP) install --group $*
	@touch $@

demo: $(VENV)/.cli  ## the main job, start to end, on bundled data: a model and a report in semisvm-demo/
	$(BIN)/semisvm demo

test: $(VENV)/.test  ## all tests but the long ones (the papers' data is used where SEMISVM_DATA or ../shared/data has it)
	@$(BIN)/python tests/helpers/browser.py
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

nightly: $(VENV)/.test  ## the long tests: simulations, many seeds, the code of all pages
	$(BIN)/python -m pytest -n auto --dist worksteal -m nightly $(ARGS)

# On a machine with a CUDA device the same tests run there; without one, on Triton's interpreter.
test-gpu: $(VENV)/.test $(VENV)/.test-gpu  ## the tests of the device solver, on a GPU or on Triton's interpreter
	$(BIN)/python -c 'import sys, torch; sys.exit(torch.cuda.is_available())' && export TRITON_INTERPRET=1; \
	$(BIN)/python -m pytest tests/engine -k "gpu or cuda or interpreter or device" $(ARGS)

# An environment with exactly the oldest versions that pyproject.toml allows, or with those of VERSIONS.
test-oldest:  ## all tests with the oldest versions of the dependencies (VERSIONS="scikit-learn==1.7 pandas==2.3": with these)
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(PYTHON) tests/helpers/oldest.py $(VERSIONS) > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python $(PIP) install --upgrade "pip>=25.1"
	$(OLDEST)/bin/python $(PIP) install -c $(OLDEST)/constraints.txt --editable ".[cli]" --group test
	$(OLDEST)/bin/python tests/helpers/oldest.py --check $(VERSIONS)
	$(OLDEST)/bin/python -m pytest -n auto --dist worksteal $(ARGS)

lint: $(VENV)/.test $(VENV)/.lint  ## style, types, spelling, and which way imports point
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: $(VENV)/.lint  ## put the code in house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Warnings are errors: a link that leads nowhere is one.
docs: $(VENV)/.test $(VENV)/.docs  ## the site, with the examples executed: docs/_build/html/index.html
	$(BIN)/python -m studies.pages docs/results
	$(BIN)/python -m pytest -q tests/test_pages.py -m nightly
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

links: docs  ## whether the links to other sites lead somewhere
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/links

# The papers' data: SEMISVM_DATA, else ../shared/data where it exists.
bench bench-cores bench-gpu bench-tune reproduce: export SEMISVM_DATA ?= $(wildcard ../shared/data)

bench: $(VENV)/.bench  ## the start of the command, and training compared with LIBSVM and oneDAL
	$(BIN)/python -m studies.speed.start
	$(BIN)/python -m studies.speed.training $(ARGS)

bench-cores: $(VENV)/.bench  ## training compared with oneDAL on 1, 2, 4, 8, 16 cores (ARGS="--cores 2 1 --before FOLDER/src")
	$(BIN)/python -m studies.speed.training --all --solvers ours onedal-f32 onedal-f64 $(or $(ARGS),--cores 16 8 4 2 1)

bench-gpu: $(VENV)/.gpu  ## the GPU solver on the papers' sets, on a million rows, and its roofline
	$(BIN)/python -m studies.speed.gpu $(ARGS)

bench-tune: $(VENV)/.bench  ## training and tuning in one call: ours, GridSearchCV, scikit-learn-intelex, TorchKM
	$(BIN)/python -m studies.speed.tuning $(ARGS)

reproduce: $(VENV)/.cli  ## the published tables in small, ours and theirs (ARGS="ptsvm" for a whole paper)
	$(BIN)/python -m studies.papers $(or $(ARGS),--quick)

# The files that are published, checked, and tried in an empty environment.
release: $(VENV)/.release  ## sdist and wheel in dist/, checked and tried in an empty environment
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv --clear dist/try
	dist/try/bin/python $(PIP) install dist/*.whl
	cd dist/try && bin/python ../../tests/helpers/installed.py core
	dist/try/bin/python $(PIP) install "$$(ls dist/*.whl)[cli]"
	cd dist/try && bin/python ../../tests/helpers/installed.py
	rm -rf dist/try
	@ls -l dist

clean:  ## remove the environment and everything made
	rm -rf $(VENV) $(OLDEST) build dist studies-out docs/_build docs/examples docs/reference docs/results .pytest_cache .ruff_cache .mypy_cache .hypothesis
