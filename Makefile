# make demo    install into .venv, train on embedded data, answer a few queries
# make test    install what the tests need, check format, lint and types, run all tests
# make bench   side-by-side timings (see bench/)
# make format  rewrite the code in the project's format

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
NATIVE := CMakeLists.txt pyproject.toml $(wildcard cpp/*.?pp cpp/*.py cpp/bindings/*.?pp cpp/kernels/*.?pp)

.PHONY: demo test bench format lint types cpp-test clean

demo: $(VENV)/.installed
	$(BIN)/treetop demo

test: $(VENV)/.installed-test lint types cpp-test
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

cpp-test: $(VENV)/.installed-test
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/cpp-tests -G Ninja -DTREETOP_TESTS=ON \
	    -DPython_EXECUTABLE="$(abspath $(BIN))/python" >/dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/cpp-tests
	PATH="$(abspath $(BIN)):$$PATH" ctest --test-dir build/cpp-tests --output-on-failure

# Reference data: folders with train.jsonl.xz and test.jsonl.xz, by default those beside the checkout.
DATA ?= ../shared/data/deb-tags ../shared/data/deb-deps ../shared/data/tib-core

bench: $(VENV)/.installed-test $(VENV)-pecos/.installed
	$(BIN)/python bench/report.py $(DATA) --pecos $(VENV)-pecos/bin/python --output docs/benchmarks.md

$(VENV)-pecos/.installed: constraints.txt
	$(PYTHON) -m venv $(VENV)-pecos
	$(VENV)-pecos/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	    'libpecos==1.2.8' 'numpy<2' 'scipy<1.14'
	touch $@

format: $(VENV)/.installed-test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python constraints.txt $(NATIVE)
	$(PIP) --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(PIP) --editable '.[test]'
	touch $@

clean:
	rm -rf build $(VENV) $(VENV)-pecos .mypy_cache .ruff_cache .pytest_cache
