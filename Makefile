# Each target works alone on a machine with Python 3.11 or newer, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS ?= constraints.txt
DATA ?= ../shared/data
# glibc gives large blocks back to the system after every use; keeping them makes long batches faster.
MALLOC := MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456

.PHONY: demo test lint docs wheel bench install

demo: install
	$(BIN)/groundrail demo

test: install
	$(BIN)/python -m pytest

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p groundrail
	$(BIN)/mypy tests benchmarks tools examples

# The site in site/, offline: links that lead nowhere are errors.
docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# Both distributions in dist/, the wheel built from the sdist, checked, and used where nothing else of the tree is.
wheel: install
	rm -rf build dist $(VENV)-wheel
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) torch
	$(VENV)-wheel/bin/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) "$$(echo dist/*.whl)[cli]"
	HF_HUB_OFFLINE=1 $(VENV)-wheel/bin/python examples/quickstart.py

bench: install
	$(MALLOC) $(BIN)/python benchmarks/judge.py --data $(DATA)/eval

# The package is installed as users get it, not editable: tests and type checker see the same files.
install: $(VENV)/.dependencies
	@rm -rf build # or modules that are gone would be installed again
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall .

$(VENV)/.dependencies: pyproject.toml $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) "setuptools>=77" wheel
	$(BIN)/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) torch
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -c $(CONSTRAINTS) ".[dev]"
	touch $@
