# make demo   classify real images with a small network, compiled for this CPU
# make test   lint, types, and all tests; some of them also for the CPUs in TARGETS, by LLVM's names;
#             SEED=1234 repeats the random numbers of a run
# make conformance
#             the backend suite of the onnx package for this CPU, against tests/conformance/expected.txt
# make lowest the demo and a sample of the tests with the lowest versions that pyproject.toml allows,
#             which Python 3.11 or 3.12 can install
# make bench  this compiler beside onnxruntime and OpenVINO; BENCH="resnet50 --threads 1" for less,
#             then single kernels (KERNELS="resnet50 --only 3x3") and compile time (COMPILED="vgg19")
#
# Needs Python 3.11 or newer, with venv. Everything else is installed into .venv.

VENV := .venv
BIN := $(VENV)/bin
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON ?= $(shell for p in $(CANDIDATES); do \
	$$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
LOWEST := .venv-lowest
LOWEST_PYTHON ?= $(shell for p in python3.11 python3.12; do \
	$$p -c 'import venv' >/dev/null 2>&1 && echo $$p && break; done)
# the tools, weights of all types, and kernels
SAMPLE := $(addprefix tests/unit/,tools/test_glow_run.py tools/test_glow_profile.py \
	tools/test_inputs.py frontend/test_weights.py kernels/test_rows.py runtime/test_half.py)
# one more than CPUs, because tests wait a fifth of their time for programs that they start
JOBS ?= 3
BENCH ?= --no-winograd
KERNELS ?= resnet50
COMPILED ?= resnet50 vgg19
TARGETS ?= $(if $(filter x86_64,$(shell uname -m)),x86-64 haswell)
TARGET_TESTS := $(addprefix tests/unit/,kernels/test_operators.py kernels/test_products.py \
	kernels/test_integer_products.py runtime/test_compile_api.py frontend/test_quantized.py)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# tests start hundreds of processes, each of which would compile all modules that it imports
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint types unit targets lit conformance lowest bench clean
.NOTPARALLEL:

demo: $(VENV)/installed
	$(BIN)/python examples/digits/demo.py

# the types are checked by one thread, which leaves the other CPUs to the targets
test: lint unit
	@printf '%s\n' types $(TARGETS:%=target-%) | \
		xargs -P $$(( $(JOBS) + 1 )) -I GOAL $(MAKE) --no-print-directory GOAL

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .

types: $(VENV)/installed-dev $(VENV)/typing/glow
	$(BIN)/pyright --pythonpath $(BIN)/python

$(VENV)/typing/glow: $(VENV)/created
	@mkdir -p $(VENV)/typing
	@ln -sfn ../.. $@

# pytest also runs the FileCheck tests (tests/unit/test_lit.py)
unit: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q $(SEED:%=--seed %)

# code for poorer CPUs than this one, which has to run it, for all of them at the same time
targets: $(VENV)/installed-dev
	@printf '%s\n' $(TARGETS:%=target-%) | \
		xargs -P $(JOBS) -I GOAL $(MAKE) --no-print-directory GOAL

# a process that has a CPU to itself needs no others to tell it what to run (-n 0)
target-%: $(VENV)/installed-dev
	@each=$$(( $(JOBS) / $(words $(or $(TARGETS),none)) )); test $$each -gt 1 || each=0; \
	$(BIN)/python -m pytest -n $$each --dist worksteal -q --target-cpu $* \
		$(SEED:%=--seed %) $(TARGET_TESTS)

lit: $(VENV)/installed-dev
	$(BIN)/lit -j $(JOBS) tests/lit

conformance: $(VENV)/installed-dev
	$(BIN)/python -m glow.tests.conformance.suite --jobs $(JOBS)

lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python examples/digits/demo.py
	$(LOWEST)/bin/python -m pytest -q -p no:cacheprovider $(SEED:%=--seed %) $(SAMPLE)

$(LOWEST)/installed: pyproject.toml .ci/lowest.py
	@test -n "$(LOWEST_PYTHON)" || { echo "error: Python 3.11 or 3.12 with the venv module is needed; \
	set LOWEST_PYTHON=/path/to/python3.11 if it is not on the PATH" >&2; exit 1; }
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest.py >$(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --prefer-binary \
		--constraint $(LOWEST)/constraints.txt -e . pytest pytest-timeout hypothesis onnxruntime
	@touch $@

bench: $(VENV)/installed-dev
	$(PIP) -e '.[bench]'
	$(BIN)/python -m glow.benchmarks.run --json build/benchmarks.json --svg build/benchmarks.svg $(BENCH)
	$(BIN)/python -m glow.benchmarks.kernels $(KERNELS)
	$(BIN)/python -m glow.benchmarks.compile_time $(COMPILED)
	$(BIN)/python -m glow.benchmarks.quantized --json build/quantized.json
	$(BIN)/python -m glow.benchmarks.host examples/digits/digits.onnx
	$(BIN)/python -m glow.benchmarks.scaling
	$(BIN)/python -m glow.benchmarks.trees
	$(BIN)/python -m glow.benchmarks.bags
	$(BIN)/python -m glow.benchmarks.narrow_weights
	$(BIN)/python -m glow.benchmarks.operators

$(VENV)/created:
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer with the venv module is needed; \
	set PYTHON=/path/to/python3 if it is not on the PATH" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/created pyproject.toml
	$(PIP) -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/created pyproject.toml
	$(PIP) -e '.[dev]'
	@$(PIP) -e '.[upstream]' || \
	echo "no package iree-base-compiler for this platform: tests that need it are skipped" >&2
	@touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) $(LOWEST) build dist *.egg-info
