# The two commands: `make run` executes the book, `make test` checks it. Both need Python 3.11 or newer, and nothing else.

.DEFAULT_GOAL := help
.PHONY: help run test quick lint lab bench lock sbom clean

export PYTHONUTF8 := 1
SCALE  ?= laptop
# The first interpreter on the path that is new enough; or say which: make run PYTHON=/path/to/python
PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
            $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# Hashes of everything that is installed; an index that builds packages of its own has other files: make run LOCK=
LOCK   ?= requirements.lock
VENV   := .venv
PY     := $(VENV)/bin/python
READY  := $(VENV)/.installed
TOOLS  := $(VENV)/tools
PIP    := -m pip install --disable-pip-version-check --progress-bar off
# Tests that only read files fail within seconds; the others share the cores, in the order of tests/conftest.py.
READ   := tests/test_project.py tests/test_readme.py \
          $(addprefix tests/book/,test_classroom.py test_lessons.py test_notebooks.py test_widgets.py)
WORKERS = -n $(shell $(PY) -c 'from nsr.book.run_records import cores; print(cores())') --dist=loadscope --no-loadscope-reorder
VIEWER := $(VENV)/share/jupyter/lab/settings/overrides.json

help:  ## show this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## */  make \1\t/'

run: $(READY)  ## execute every notebook into outputs/laptop (SCALE=tiny or paper for another scale)
	@$(PY) -m nsr run all --scale $(SCALE)

# What numba compiles is needed by most tests: one core does that while the other one reads files.
test: $(READY)  ## run every test, notebooks at the tiny scale included
	@$(PY) -c 'from nsr.search.warming import warm_up; warm_up(drawing=True)' & \
	  $(MAKE) -s lint && $(PY) -m pytest -q -m static $(READ) && wait
	@$(PY) -m pytest $(WORKERS) -m "not static"

lint: $(READY)  ## layout, names and the flow between rooms, in seconds
	@$(PY) -m ruff format --check nsr tests
	@$(PY) -m ruff check nsr tests
	@$(PY) -m ruff check --isolated --select F,E9 --ignore F541 notebooks
	@$(VENV)/bin/lint-imports --no-logo

quick: lint  ## run the tests that take seconds: no notebook is executed, no network trained
	@$(PY) -m pytest -q -m static $(READ)
	@$(PY) -m pytest $(WORKERS) -m "not static and not slow"

lab: $(READY) $(VIEWER)  ## open the notebooks in JupyterLab
	@$(PY) -m jupyterlab --LabApp.default_url=/lab/tree/notebooks/00_start_here.py

bench: $(READY)  ## measure our speed against the published way, as ratios
	@set -e; for script in tests/bench/bench_*.py; do echo "== $$script"; $(PY) $$script; done

# torch is not in the lock: which of its builds is right (for a processor, for one kind of GPU) depends on the machine.
lock: $(TOOLS)  ## write requirements.lock anew, after a change of pyproject.toml or constraints.txt
	@echo torch > $(TOOLS)/excluded.txt
	@printf 'setuptools\nfilelock\nnetworkx\n' | $(TOOLS)/bin/uv pip compile pyproject.toml - --extra test -c constraints.txt \
	  --excludes $(TOOLS)/excluded.txt --universal --python-version 3.11.7 --generate-hashes --no-emit-index-url --no-annotate \
	  --custom-compile-command 'make lock' -q -o requirements.lock

sbom: $(READY) $(TOOLS)  ## list everything that is installed in outputs/sbom.json, in the form of CycloneDX
	@mkdir -p outputs
	@$(TOOLS)/bin/cyclonedx-py environment $(PY) --pyproject pyproject.toml --output-reproducible -o outputs/sbom.json

clean:  ## remove the environment and every output but the reference results
	rm -rf $(VENV) outputs/tiny outputs/laptop outputs/paper

# The stamp is written last, so an interrupted installation is taken up again, and a finished one never repeated.
$(READY): pyproject.toml constraints.txt $(LOCK)
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer found. Install one, or: make run PYTHON=/path/to/python"; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) and installing; the first time takes a few minutes."
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV) || { echo "Could not make $(VENV). On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@test -z "$(LOCK)" || $(PY) $(PIP) --require-hashes --no-deps -r $(LOCK)
	@$(PY) $(PIP) $(if $(LOCK),--no-build-isolation) -c constraints.txt -e '.[test]'
	@touch $(READY)

$(TOOLS):
	@$(PYTHON) -m venv $@ && $@/bin/python $(PIP) -q uv==0.13.8 cyclonedx-bom==7.5.0

# JupyterLab opens .py files as notebooks by default and asks nobody about news, in this environment only. The kernel
# is named as in the headers of the notebooks, which are rewritten otherwise.
$(VIEWER): $(READY) Makefile
	@mkdir -p $(@D)
	@echo '{"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"python": "Jupytext Notebook"}},' > $@
	@echo ' "@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}' >> $@
	@$(PY) -m ipykernel install --prefix $(VENV) --name python3 --display-name "Python 3" >/dev/null
