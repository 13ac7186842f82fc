# make run     set up what is missing and start the program
# make test    set up what is missing and run the tests
# make test-long    the tests that take minutes
# make lint    style, types and import contracts
# make wheel   build the wheel into dist/
# make docs    write docs/*.md from the tables in the code
# make screenshots   pictures of every pane, each checked, in build/screenshots
# make bench   measure the program against its bars, in a real terminal, twenty minutes
# make lock    pin the dependencies anew, with hashes

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Where it is set each of the hundreds of programs that the tests start would compile itself anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-long lint wheel docs screenshots bench lock clean

run: $(VENV)/.run
	@$(BIN)/python -m nanoherm_tui $(ARGS)

# A file's tests stay together: some share a program that they have started. Many wait much of their time, so there are
# two processes more than there are cores; tests/conftest.py puts the files that take longest first.
PROCESSES ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))
test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder $(ARGS)

test-long: $(VENV)/.test
	$(BIN)/python -m pytest -m long $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

wheel: $(VENV)/.test
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .

docs: $(VENV)/.test
	$(BIN)/python -m docs.generate

screenshots: $(VENV)/.test
	$(BIN)/python -m screenshots.make_screenshots $(ARGS)

# The stamps are newer than what they were made from, so a second run skips the set-up.
$(VENV)/.run: requirements.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
		echo "A virtual environment could not be made. On Debian: apt install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

$(VENV)/.test: requirements-test.txt $(VENV)/.run
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-test.txt
	@touch $@

bench: $(VENV)/.test
	$(BIN)/python -m tests.bench $(ARGS)

lock:
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-index-url \
		--no-emit-trusted-host --no-emit-find-links --extra web --output-file requirements.txt pyproject.toml
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-index-url \
		--no-emit-trusted-host --no-emit-find-links --extra web --extra test --extra llmock --constraint requirements.txt \
		--output-file requirements-test.txt pyproject.toml

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
