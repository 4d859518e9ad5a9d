# Every target makes what it needs under .venv with pip. Another Python: make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
NAME ?= tutorial
SCORE ?= -n 10
BENCH ?=
BUILD ?= build
DIST ?= dist

# The CPU build of torch is a tenth of the default one; where this index has none, the default one does.
TORCH = torch==2.13.0
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check install --quiet
MADE = $(VENV)/.made-$(notdir $(PYTHON))

.PHONY: demo test lint bench score screenshots docs zipapp clean

demo: $(VENV)/.demo
	@$(BIN)/python -m frtui demo $(NAME) || [ $$? = 1 ]  # 1: without a terminal, the report says "hang"

# A process a core, at most 8: some tests start jobs of several processes themselves.
test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

lint: $(VENV)/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.test
	$(BIN)/python -m tests.bench $(BENCH)

# Jobs with a known fault: how many are named rightly; also what torch's analyzer says: make score SCORE='-n 5 --torch'
score: $(VENV)/.test
	$(BIN)/python -m tests.faults $(SCORE)

screenshots: $(VENV)/.screenshots
	$(BIN)/python screenshots/make.py

# The manual page and the completions, from the parsers.
docs: $(VENV)/.demo
	$(BIN)/python docs/make.py

# One file that runs wherever there is a Python: scp dist/frtui.pyz login:
zipapp: $(VENV)/.demo
	rm -rf $(BUILD)/zipapp
	mkdir -p $(BUILD)/zipapp $(DIST)
	$(PIP) --no-compile --target $(BUILD)/zipapp .
	rm -rf $(BUILD)/zipapp/bin $(BUILD)/zipapp/share
	cp frtui/__main__.py $(BUILD)/zipapp/
	$(BIN)/python -m compileall -b -q $(BUILD)/zipapp
	$(BIN)/python -m zipapp -c -p "/usr/bin/env python3" -o $(DIST)/frtui.pyz $(BUILD)/zipapp
	chmod 755 $(DIST)/frtui.pyz
	$(BIN)/python $(DIST)/frtui.pyz --version

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# A stamp per set of packages: `make demo` must not wait for torch.
$(MADE):
	rm -rf $(VENV)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo "frtui needs Python 3.9 or newer: make PYTHON=python3.x"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "$(PYTHON) can't make environments; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(MADE) pyproject.toml
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(PIP) --retries 0 --extra-index-url $(TORCH_INDEX) "$(TORCH)+cpu" 2>/dev/null \
	  || ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || $(PIP) "$(TORCH)"
	$(PIP) --editable ".[test]"
	@touch $@

$(VENV)/.lint: $(VENV)/.demo
	$(PIP) --editable ".[lint]"
	@touch $@

$(VENV)/.screenshots: $(VENV)/.demo
	$(PIP) resvg_py
	@touch $@
