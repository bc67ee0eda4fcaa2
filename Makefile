PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python3.14 python; do "$$name" -E -c "import sys; assert sys.version_info >= (3, 11)" 2>/dev/null && echo "$$name" && break; done)
PYTEST ?=
LANE ?= test
ONLY ?=
REPO ?=
PINS ?=
BIN := .venv/bin
SET_UP = "$(PYTHON)" -E tools/setup/setup_environment.py $(if $(filter file,$(origin PYTHON)),,--this-python)
# ArcGIS, QGIS and others set it, to a Python of their own: with it no other one starts.
unexport PYTHONHOME
# Jupyter writes below HOME: where that cannot be, into .venv.
WRITABLE_HOME = test -w "$$HOME" || { export HOME="$$PWD/.venv/home"; mkdir -p "$$HOME"; }
# JupyterLab refuses to run as root, as one does in a container, unless told so.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
# The whole course is in JupyterLab's file browser: my_answers too, and what notebooks link to.
OFFLINE_LAB := --ServerApp.root_dir=. --LabApp.news_url= --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate "--LabApp.app_settings_dir=$$PWD/tools/lab"
# A notebook that is opened takes over what its kernel says of Python: ours says the same for every version.
KERNELS := $$PWD/tools/lab
COMPARABLE := env -u MPLBACKEND -u ATTENTION_MARKED -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 PYTHONHASHSEED=0 TQDM_DISABLE=1 ATTENTION_PROGRESS=off

# Kernels of older processors, which round otherwise: what is stored in the notebooks has to hold with them, too.
SSE := ATEN_CPU_CAPABILITY=default MKL_ENABLE_INSTRUCTIONS=SSE4_2 MKL_CBWR=SSE4_2 OPENBLAS_CORETYPE=NEHALEM DNNL_MAX_CPU_ISA=SSE41
AVX2 := ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 MKL_CBWR=AVX2 OPENBLAS_CORETYPE=HASWELL DNNL_MAX_CPU_ISA=AVX2


.PHONY: help lab update site site-serve cards check test test-all test-processors test-colab test-classroom answers notebooks text stale trainings checkpoints models encoder glove vectors pins links clean setup setup-test setup-site setup-all python

help:
	@echo "make lab                    build .venv where needed and open JupyterLab on the first notebook"
	@echo "make update                 fetch the new version of the course; answers and cells of yours are kept"
	@echo "make site                   build the course as a site into site/, from the notebooks as they are stored"
	@echo "make site-serve             build it, and show it on this computer"
	@echo "make cards                  write cards.txt, the questions and equations of all notebooks, for Anki"
	@echo "make check                  after a change: style, utils/, exercises, the files of the notebooks"
	@echo "make test                   before a change lands: that, every notebook, widgets in Chromium where it is installed"
	@echo "make test-all               at night and before a release: everything, trainings, processors, versions and seeds"
	@echo "make test-processors        every notebook with the kernels of older processors (SSE, then AVX2)"
	@echo "make test-colab             the tests of the notebooks with Colab's IPython 7.34 and ipywidgets 7.7.1"
	@echo "make test-classroom         export notebooks for nbgrader and otter-grader, and let both grade answers"
	@echo "make answers                judge the answers of tests/answers: how often is the mistake named?"
	@echo "make notebooks              execute every notebook in place, or ONLY=\"02 masking\"; a second run leaves no diff"
	@echo "make text                   after a change of words alone: what takes no kernel, in seconds"
	@echo "make stale                  what a change has made void, and which command renews it"
	@echo "make trainings              train what takes longest, and keep it for the tests"
	@echo "make checkpoints            train what notebooks hand on to others, and store its weights"
	@echo "make models                 fetch the published models, an encoder and a chat model (91 and 98 MB, once)"
	@echo "make encoder                fetch the encoder alone"
	@echo "make glove                  fetch 40,000 of Stanford's GloVe vectors (some 15 MB) for the notebook on similarity"
	@echo "make vectors                train the vectors that ship with the course anew (needs WordNet)"
	@echo "make pins                   raise all pinned versions; PINS=\"torch==VERSION\" keeps that one"
	@echo "make links REPO=owner/name  write the course's address into notebooks and documents"
	@echo "make clean                  remove .venv and caches; never a file of yours"

lab: setup
	@$(WRITABLE_HOME); export JUPYTER_PATH="$(KERNELS)$${JUPYTER_PATH:+:$$JUPYTER_PATH}"; $(BIN)/python -m jupyterlab $(AS_ROOT) $(OFFLINE_LAB) $(LAB_OPTIONS) notebooks/00_start_here.ipynb

update: python
	@"$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))" -E tools/setup/update_course.py

site: setup-site
	@$(BIN)/python -m tools.site.build

site-serve: site
	@echo "The site is at http://127.0.0.1:8000 until Ctrl + C"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8000

cards: setup-site
	@$(BIN)/python -m tools.site.cards

check: setup-test
	@$(COMPARABLE) $(BIN)/python -m pytest --lane check $(PYTEST)

test: setup-all
	@$(BIN)/python -m utils.model_files --if-possible
	@$(COMPARABLE) $(BIN)/python -m pytest --lane test $(PYTEST)

# Where a published model cannot be had, the tests that need it are skipped. The night begins with what no other command runs; the others are told that it is night.
test-all: setup-all
	@$(BIN)/python -m utils.model_files --if-possible
	@$(COMPARABLE) $(BIN)/python -m pytest --lane all $(PYTEST)
	@$(MAKE) --no-print-directory LANE=all test-processors test-colab test-classroom

# The cells as they ship: what else is tried in their kernels hangs on no processor.
test-processors: setup-test
	@$(COMPARABLE) $(SSE) $(BIN)/python -m pytest --lane $(LANE) --once $(PYTEST) notebooks
	@$(COMPARABLE) $(AVX2) $(BIN)/python -m pytest --lane $(LANE) --once $(PYTEST) notebooks

# Colab's older packages are laid over those of .venv, in front of them on the path.
test-colab: setup-test
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --upgrade --target .venv/colab -r tools/setup/requirements-colab.txt
	@PYTHONPATH="$$PWD/.venv/colab" $(COMPARABLE) $(BIN)/python -m pytest --lane $(LANE) $(PYTEST) notebooks tests/notebooks/test_notebooks.py tests/notebooks/test_course_repo.py

# Both have a .venv of their own, with the course's packages behind theirs on the path.
test-classroom: setup-test
	@test -x .venv/classroom/bin/otter || { $(BIN)/python -m venv .venv/classroom && .venv/classroom/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -r tools/setup/requirements-classroom.txt; }
	@$(BIN)/python -c "import site; print(site.getsitepackages()[0])" > "$$(.venv/classroom/bin/python -c 'import site; print(site.getsitepackages()[0])')/course.pth"
	@$(COMPARABLE) $(BIN)/python -m pytest --lane $(LANE) $(PYTEST) tests/notebooks/test_export.py

answers: setup-test
	@$(COMPARABLE) $(BIN)/python -m tests.answers

notebooks: setup-test
	@$(COMPARABLE) $(BIN)/python -m tools.notebooks.execute $(ONLY)
	@$(BIN)/python -m tools.site.pages

text: setup-test
	@$(BIN)/python -m tools.notebooks.execute --text $(ONLY)
	@$(BIN)/python -m tools.site.pages

stale: setup-test
	@$(BIN)/python -m tools.notebooks.stale

# What stands there before is left where a notebook fails.
trainings: setup-test
	@$(COMPARABLE) $(BIN)/python -m tools.notebooks.trainings

checkpoints: setup-test
	@$(COMPARABLE) $(BIN)/python -m tools.notebooks.checkpoints

models: setup
	@$(BIN)/python -m utils.model_files

encoder: setup
	@$(BIN)/python -m utils.model_files encoder

glove: python
	@$(SET_UP) tools/vectors/requirements-glove.txt
	@$(BIN)/python -m tools.vectors.fetch_glove

vectors: python
	@$(SET_UP) tools/vectors/requirements-vectors.txt
	@$(BIN)/python -m tools.vectors.train_vectors

pins: setup-test
	@$(BIN)/python tools/setup/raise_pins.py $(PINS)

links: setup-test
	@$(BIN)/python -m tools.notebooks.links $(REPO)

clean:
	@rm -rf .venv site .site-cache .pytest_cache .ruff_cache .hypothesis
	@find utils tests tools experiments notebooks -name __pycache__ -type d -prune -exec rm -rf {} +

setup: python
	@$(SET_UP)

setup-test: python
	@$(SET_UP) requirements-test.txt

setup-site: python
	@$(SET_UP) requirements-site.txt

setup-all: python
	@$(SET_UP) requirements-test.txt requirements-site.txt

python:
	@"$(PYTHON)" -E -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || { echo "setup: $(or $(PYTHON),Python 3.11 or newer) was not found, or is older than 3.11: install Python 3.11 or newer, for instance from python.org, then run the command again." >&2; exit 1; }
