# make demo    install into .venv, train on embedded data, label a few queries
# make test    install what the tests need, check format, lint and types, run all tests
# make attack  attack the core, the readers and the server for ATTACK_SECONDS (60) each: needs clang (see CONTRIBUTING.md)
# make quick   the same without C++, browser, server processes and long trainings
# make coverage     all tests, with the share of lines and branches that they run, into build/coverage
# make docs    build the documentation site into build/site
# make browser      install a browser for the tests of the web page, if permitted
# make screenshots  take the screenshots of that page and of a report, into docs/images/
# make bench   compare with PECOS, Omikuji and napkinXC, into docs/benchmarks.md (under an hour; see bench/)
# make bench-scale  measure growth with the number of labels, into the same page
# make bench-serving  measure the server under load, into the same page and docs/serving.md
# make stub    rewrite src/treetop/__init__.pyi from the registry of methods
# make format  reformat the code

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
NATIVE := CMakeLists.txt pyproject.toml $(wildcard cpp/*.?pp cpp/*.py cpp/bindings/*.?pp cpp/kernels/*.?pp)

.PHONY: demo test quick quick-tests coverage cpp-coverage attack fuzzers stub docs browser screenshots bench bench-scale bench-serving format \
    lint types cpp-test cpp-test-arm clean

demo: $(VENV)/.installed
	$(BIN)/treetop demo

# Each worker keeps to one core and to one thread where a test asks for no other number: see tests/conftest.py.
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal
CPP_TESTS = PATH="$(abspath $(BIN)):$$PATH" cmake -S . -G Ninja -DTREETOP_TESTS=ON \
    -DPython_EXECUTABLE="$(abspath $(BIN))/python"

test: $(VENV)/.installed-test browser
	$(MAKE) --no-print-directory --jobs 2 lint types cpp-test
	$(PYTEST)

quick: $(VENV)/.installed-test
	$(MAKE) --no-print-directory --jobs 3 lint types quick-tests

quick-tests: $(VENV)/.installed-test
	$(PYTEST) -m "not browser and not process and not minilm and not slow"

coverage: $(VENV)/.installed-test browser cpp-coverage
	$(PYTEST) --cov --cov-report=term --cov-report=html

# The lines and branches of the core that the C++ tests run.
cpp-coverage: $(VENV)/.installed-test
	$(CPP_TESTS) -B build/cpp-coverage -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS="--coverage -fprofile-update=atomic" >/dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/cpp-coverage
	PATH="$(abspath $(BIN)):$$PATH" ctest --test-dir build/cpp-coverage --output-on-failure
	$(BIN)/gcovr --root . --filter cpp/ --exclude cpp/tests/ --merge-lines build/cpp-coverage

browser:
	@sh tests/get_browser.sh

# With models of Debian's package descriptions, built from the lists that apt keeps on this machine, and of
# Python's documentation.
screenshots: $(VENV)/.installed-test browser
	$(BIN)/python tests/screenshots.py docs/images
	$(BIN)/python tests/report_screenshot.py docs/images/report.png

lint: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

# Checked, and with sanitizers. Without optimisation it takes no longer to build than with it and without sanitizers.
cpp-test: $(VENV)/.installed-test
	$(CPP_TESTS) -B build/cpp-tests -DTREETOP_SANITIZE=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 >/dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/cpp-tests
	PATH="$(abspath $(BIN)):$$PATH" ctest --test-dir build/cpp-tests --parallel 2 --output-on-failure

# The same tests with NEON kernels, for ARM processors; needs g++-aarch64-linux-gnu and qemu-user-static.
cpp-test-arm: $(VENV)/.installed-test
	$(CPP_TESTS) -B build/cpp-tests-arm \
	    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
	    -DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64-static >/dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/cpp-tests-arm
	PATH="$(abspath $(BIN)):$$PATH" ctest --test-dir build/cpp-tests-arm --output-on-failure

# Every attack in bench/attacks, and the fuzzers of the core; ATTACK_OPTIONS="--only levels" runs some of them.
ATTACK_SECONDS ?= 60
FUZZ_CXX ?= clang++
attack: fuzzers $(VENV)/.installed-attack
	$(BIN)/python bench/attacks/run_attacks.py --seconds $(ATTACK_SECONDS) $(ATTACK_OPTIONS)

fuzzers: $(VENV)/.installed-test
	@mkdir -p build && echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' | \
	    $(FUZZ_CXX) -x c++ -fsanitize=fuzzer,address,undefined - -o build/has_libfuzzer 2>/dev/null || \
	    { echo "the fuzzers need $(FUZZ_CXX) with libFuzzer and sanitizers: on Debian, apt-get install clang libclang-rt-14-dev (or that of your clang's version)" >&2; exit 1; }
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -G Ninja -B build/attack -DTREETOP_LIBFUZZER=ON -DTREETOP_SANITIZE=ON \
	    -DTREETOP_CHECKED=ON -DCMAKE_CXX_COMPILER=$(FUZZ_CXX) -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 \
	    -DPython_EXECUTABLE="$(abspath $(BIN))/python" >/dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/attack

stub: $(VENV)/.installed
	$(BIN)/python tools/write_stub.py

docs: $(VENV)/.installed-docs
	$(BIN)/python -m mkdocs build --strict --quiet

# Reference data: folders with train.jsonl.xz and test.jsonl.xz, by default those next to the checkout.
DATA ?= ../shared/data/deb-tags ../shared/data/deb-deps ../shared/data/tib-core

# RESUME=--resume skips the data sets that are done.
bench: $(VENV)/.installed-bench $(VENV)-peers/.installed
	$(BIN)/python bench/peers/run.py $(DATA) --peers $(VENV)-peers/bin/python $(RESUME)
	$(BIN)/python bench/peers/report.py
	$(BIN)/python bench/linear/training_profile.py $(DATA) --output docs/benchmarks.md
	$(BIN)/python bench/league/fill.py

# Growth with the number of labels; takes minutes and up to 20 GB of memory.
bench-scale: $(VENV)/.installed-bench
	$(BIN)/python bench/linear/scale.py --output docs/benchmarks.md

# Load on the server, and label search among a million names; needs a quiet machine.
bench-serving: $(VENV)/.installed-bench
	$(BIN)/python bench/serving/serving.py $(filter %/deb-deps,$(DATA)) --output docs/benchmarks.md docs/serving.md
	$(BIN)/python bench/serving/label_search.py --output docs/benchmarks.md

# One environment for all peers: PECOS needs an older numpy and scipy, the others work with any.
$(VENV)-peers/.installed: constraints.txt
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	    'libpecos==1.2.8' 'omikuji==0.5.2' 'napkinxc==0.7.2' 'numpy<2' 'scipy<1.14'
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

$(VENV)/.installed-attack: $(VENV)/.installed-test
	$(PIP) --editable '.[attack]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) --editable '.[docs]'
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(PIP) --editable '.[bench]'
	touch $@

clean:
	rm -rf build $(VENV) $(VENV)-peers .mypy_cache .ruff_cache .pytest_cache
