# The one list of commands. Each sets up what it needs in .venv; only Python (3.11 or newer) and make are assumed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-gpu test-oldest docs lint docstrings format bench bench-cores bench-gpu bench-tune reproduce fuzz release clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | expand -t 12

# A stamp for each set of extras, remade when the project's requirements change.
$(VENV)/.%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

demo: $(VENV)/.cli  ## the main job, start to end, on bundled data: a model and a report in semisvm-demo/
	$(BIN)/semisvm demo

test: $(VENV)/.test  ## every test (the papers' data is used where SEMISVM_DATA or ../shared/data has it)
	@$(BIN)/python tests/browser.py
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

# An environment with exactly the oldest versions that pyproject.toml allows, or with those of VERSIONS.
OLDEST := .venv-oldest
test-oldest:  ## every test with the oldest versions of the dependencies (VERSIONS="scikit-learn==1.7 pandas==2.3": with these)
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(PYTHON) tests/oldest.py $(VERSIONS) > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(OLDEST)/constraints.txt --editable ".[test]"
	$(OLDEST)/bin/python tests/oldest.py --check $(VERSIONS)
	$(OLDEST)/bin/python -m pytest -n auto --dist worksteal $(ARGS)

# The files that are published, checked, and tried in an empty environment.
release: $(VENV)/.release  ## sdist and wheel in dist/, checked and tried in an empty environment
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv --clear dist/try
	dist/try/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd dist/try && bin/python ../../tests/installed.py core
	dist/try/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[cli]"
	cd dist/try && bin/python ../../tests/installed.py
	rm -rf dist/try
	@ls -l dist

# On a machine with a CUDA device the same tests run there; without one, on Triton's interpreter.
test-gpu: $(VENV)/.test $(VENV)/.test-gpu  ## the device solver's tests, on a GPU or on Triton's interpreter
	$(BIN)/python -c 'import sys, torch; sys.exit(torch.cuda.is_available())' && export TRITON_INTERPRET=1; \
	$(BIN)/python -m pytest tests/dual tests/estimators/test_auto_parts.py tests/estimators/test_svc_cv.py -k "cuda or interpreter or device" $(ARGS)

# Warnings are errors; then the links and the code of all pages, and every page in a browser where there is one.
docs: $(VENV)/.docs  ## the site, with the gallery executed: docs/_build/html/index.html
	$(BIN)/python docs/check.py code
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check.py links
	@$(BIN)/python tests/browser.py
	$(BIN)/python docs/check.py browser

lint: $(VENV)/.test $(VENV)/.lint  ## style, types, spelling, and which way imports point
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/python tools/docstrings.py --check

docstrings:  ## write the entries that docstrings share into all of them
	$(PYTHON) tools/docstrings.py

format: $(VENV)/.lint  ## put the code in house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The papers' data: SEMISVM_DATA, else ../shared/data where it exists.
bench bench-cores bench-gpu bench-tune reproduce: export SEMISVM_DATA ?= $(wildcard ../shared/data)

bench: $(VENV)/.test $(VENV)/.bench  ## the start of the command, and ours compared with LIBSVM and oneDAL on the papers' sets (ARGS="--quick")
	$(BIN)/python -m studies.speed.start_time
	$(BIN)/python -m studies.speed.supervised $(ARGS)

bench-cores: $(VENV)/.test $(VENV)/.bench  ## ours and oneDAL on 1, 2, 4, 8, 16 cores (ARGS="--cores 2 1 --before FOLDER/src")
	$(BIN)/python -m studies.speed.cores $(ARGS)

bench-gpu: $(VENV)/.test $(VENV)/.gpu  ## the GPU solver on the papers' sets, on a million rows, and its roofline
	$(BIN)/python -m studies.speed.gpu $(ARGS)

bench-tune: $(VENV)/.test $(VENV)/.bench  ## training and tuning in one call: ours, GridSearchCV, scikit-learn-intelex, TorchKM
	$(BIN)/python -m studies.speed.tune $(ARGS)

reproduce: $(VENV)/.test  ## the published tables in small, ours and theirs (ARGS="ptsvm" for a whole paper, "ssl-book" for the book's sets)
	$(BIN)/python -m $(if $(filter ssl-book,$(ARGS)),studies.ssl_book $(filter-out ssl-book,$(ARGS)),studies.papers $(or $(ARGS),--quick))

fuzz: $(VENV)/.test  ## random inputs, files and faults (ARGS="--minutes 30 --seed 1 --workers 8")
	$(BIN)/python -m studies.fuzz $(ARGS)

clean:  ## remove the environment and everything made
	rm -rf $(VENV) $(OLDEST) build dist studies-out docs/_build docs/gallery docs/reference .pytest_cache .ruff_cache .mypy_cache .hypothesis
