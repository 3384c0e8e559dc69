# Each target works alone on a machine with Python 3.11 or newer, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= ../shared/data
# glibc gives large blocks back to the system after every use; keeping them makes long batches faster.
MALLOC := MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456

.PHONY: demo test lint docs bench install

demo: install
	$(BIN)/groundrail demo

test: install
	$(BIN)/python -m pytest

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p groundrail

# The site in site/, offline: links that lead nowhere are errors.
docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: install
	$(MALLOC) $(BIN)/python benchmarks/judge.py --data $(DATA)/eval

# The package is installed as users get it, not editable: tests and type checker see the same files.
install: $(VENV)/.dependencies
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall .

$(VENV)/.dependencies: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt "setuptools>=77" wheel
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt ".[dev]"
	touch $@
