# Each target works alone on a machine with Python 3.11 or newer, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS ?= constraints.txt
DATA ?= ../shared/data
# glibc gives large blocks back to the system after every use; keeping them makes long batches faster.
MALLOC := MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456

.PHONY: demo test test-all lint docs wheel bench install

# Without the tools of development, which `install` adds.
demo: $(VENV)/.package
	@$(INSTALL)
	$(BIN)/groundrail demo

# On two processes, each with one thread of its own for arithmetic: `make test WORKERS=8`, or 0 for one process.
WORKERS ?= 2
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile
# In minutes: no browser, no wheel, no other process, no language model, few examples of each property.
test: install
	$(PYTEST) -m "not slow"

# All tests, with many examples; chromium and chromium-driver are needed.
test-all: install
	$(PYTEST) --hypothesis-profile large

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

# The tables of docs/benchmarks.md, one after the other, which takes hours; each alone too: `make bench-scale`. With
# `make -k` one that fails does not stop the rest. SMOLLM2 is a folder or an id, empty for the one that pip fetches.
BENCHES := claims rates clauses default challenge true scorers judge scale pmi rollback release pipelining ablation long wice subsentences \
	answering dialogues memory int8 corpus
EVAL := $(DATA)/eval
SMOLLM2 ?=
MODEL = $(SMOLLM2:%=--model %)
RUN := $(MALLOC) $(BIN)/python
GROUNDRAIL := $(MALLOC) $(BIN)/groundrail
# Ends a recipe's line, without an error, where the data is not there.
needs = test -e $(1) || { echo "$@: $(1) is not there, so this is left out; name the folder with DATA=..."; exit 0; }

.PHONY: $(BENCHES:%=bench-%)
bench: $(BENCHES:%=bench-%)

bench-claims: install
	$(GROUNDRAIL) eval --units whole --data benchmarks/claims/written_dev.jsonl benchmarks/claims/real_dev.jsonl
	$(GROUNDRAIL) calibrate benchmarks/claims/written_dev.jsonl --units whole --false-release 0.15
	$(GROUNDRAIL) eval --units whole --data benchmarks/claims/written_test.jsonl

CLAIMS := benchmarks/claims/written_dev.jsonl benchmarks/claims/real_dev.jsonl benchmarks/challenge/challenge.jsonl
bench-clauses: install
	$(RUN) benchmarks/clauses.py $(CLAIMS)

bench-rates: install
	$(call needs,$(EVAL)/people_dev.jsonl); for scorer in scale nearest; do \
		$(RUN) benchmarks/rates.py $(EVAL)/people_dev.jsonl --scorer $$scorer; done

bench-default: install
	$(call needs,$(EVAL)/people_dev.jsonl); $(RUN) benchmarks/scale_or_nearest.py --data $(EVAL) --limit 100
	$(RUN) benchmarks/scale_or_nearest.py --time

bench-challenge: install
	$(GROUNDRAIL) eval --units whole --data benchmarks/challenge/challenge.jsonl --documents examples/documents

bench-true: install
	$(call needs,$(EVAL)/true); $(RUN) benchmarks/scorers.py --data $(EVAL)/true/*.csv --scorers overlap nearest scale gain
	$(call needs,$(EVAL)/true); $(GROUNDRAIL) eval --scorer overlap --set measure=f1 --data $(EVAL)/true/*.csv

bench-scorers: install
	$(call needs,$(EVAL)/true); $(RUN) benchmarks/scorers.py --data $(EVAL)/true/qags_*.csv --limit 25
	$(call needs,$(EVAL)/true); $(RUN) benchmarks/scorers.py --data $(EVAL)/true/begin.csv $(EVAL)/true/q2.csv --limit 150
	$(call needs,$(EVAL)/true); $(RUN) benchmarks/scorers.py --data $(EVAL)/true/begin.csv $(EVAL)/true/q2.csv --limit 300 \
		--scorers q2 q2-span-head
	$(call needs,$(EVAL)/wice); $(RUN) benchmarks/retrieval.py $(EVAL)/wice/claim_dev.jsonl --limit 30

bench-judge: install
	$(call needs,$(EVAL)/true); $(RUN) benchmarks/judge.py --data $(EVAL)

bench-scale: install
	$(RUN) benchmarks/scale.py --tokens 6000 --claims 4 --repeats 3

bench-pmi: install
	$(RUN) benchmarks/pmi.py $(MODEL) --tokens 64 --repeats 5
	$(RUN) benchmarks/pmi.py $(MODEL) --tokens 64 --repeats 5 --dtype bfloat16

bench-rollback: install
	$(RUN) benchmarks/rollback.py $(MODEL) --repeats 3

bench-release bench-pipelining bench-int8 bench-corpus: bench-%: install
	$(RUN) benchmarks/$*.py

bench-memory: install # as the C library does it by itself
	$(BIN)/python benchmarks/memory.py

bench-ablation: install
	$(call needs,$(EVAL)/factual_ablation); $(RUN) benchmarks/ablation.py $(EVAL)/factual_ablation/synthetic.jsonl $(MODEL)

LONG = $(GROUNDRAIL) eval --data $(EVAL)/long/evidence_inference_dev.jsonl --limit 30
bench-long: install
	$(call needs,$(EVAL)/long); for tokens in 100 200 300 480; do $(LONG) --scorer scale --set chunk_tokens=$$tokens; done
	$(call needs,$(EVAL)/long); for scorer in pairs nearest; do $(LONG) --scorer $$scorer; done

bench-wice: install
	$(call needs,$(EVAL)/wice); for scorer in scale pairs nearest; do \
		$(GROUNDRAIL) eval --scorer $$scorer --data $(EVAL)/wice/claim_dev.jsonl --limit 30; done

bench-subsentences: install
	$(call needs,$(DATA)/train/wiki_split_validation.tsv); \
		$(RUN) benchmarks/subsentences.py --data $(DATA)/train/wiki_split_validation.tsv

# The trained answerer's row only where it was trained (tools/train_answerer.py).
bench-answering: install
	$(call needs,$(EVAL)/squad_v2_dev.json); $(RUN) benchmarks/answering.py --data $(EVAL)/squad_v2_dev.json --limit 1000 \
		$(patsubst %,--model %,$(wildcard runs/answerer))

bench-dialogues: install
	$(call needs,$(EVAL)/q2_wow); $(RUN) benchmarks/dialogues.py $(EVAL)/q2_wow

# The package is installed as users get it, not editable: tests and type checker see the same files.
install: $(VENV)/.dependencies
	@$(INSTALL)

# Without the folder build, from which modules that are gone would be installed again.
INSTALL = rm -rf build && $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall .

$(VENV)/.package: pyproject.toml $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) "setuptools>=77" wheel
	$(BIN)/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) torch
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -c $(CONSTRAINTS) ".[cli]"
	touch $@

$(VENV)/.dependencies: $(VENV)/.package
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -c $(CONSTRAINTS) ".[dev]"
	touch $@
