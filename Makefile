# Each recipe is one line; what it does is in tools/. Works with GNU make 3.81 too.
PYTHON ?= python3
NB ?=
GPU ?=
CORNERS ?=
SITE_REPOSITORY ?=
SITE_AISTUDIO ?=
VENV_PYTHON := .venv/bin/python
STATE := $(CURDIR)/.venv/var
# By file: the cells of a notebook need one kernel, one after the other. Notebooks come
# first, since the two that train take longest.
PARALLEL := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Plugins that load much in every process, and that no notebook needs.
UNNEEDED := -p no:hypothesispytest -p no:anyio

# What a user has set up for other work must not change what the notebooks show, and
# a home folder that cannot be written to must not bring up warnings in them.
# Of Python's variables, those stay that say how it writes to a terminal, and where it keeps
# what it has compiled.
KEPT := PYTHONIOENCODING PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX
unexport $(filter-out $(KEPT),$(filter PYTHON%,$(.VARIABLES)))
unexport PYTEST_ADDOPTS PYTEST_PLUGINS PYTEST_DISABLE_PLUGIN_AUTOLOAD
unexport JUPYTER_PATH MPLBACKEND MATPLOTLIBRC
export IPYTHONDIR := $(STATE)/ipython
export MPLCONFIGDIR := $(STATE)/matplotlib
export JUPYTER_RUNTIME_DIR := $(STATE)/jupyter
export JUPYTER_PREFER_ENV_PATH := 1

# Jupyter does not start without a home that it can write to, and a container that runs
# as a mere number has none. Nor could pip keep there what it has fetched.
ifeq ($(shell test -w "$$HOME" && echo 1),)
KNOWN_HOME := $(shell getent passwd "$$(id -u)" 2>/dev/null | cut -d: -f6)
KNOWN_HOME := $(shell test -w "$(KNOWN_HOME)" && echo "$(KNOWN_HOME)")
export HOME := $(or $(KNOWN_HOME),$(STATE))
ifeq ($(KNOWN_HOME)$(PIP_CACHE_DIR),)
export PIP_NO_CACHE_DIR := 1
endif
endif

# Paddle's matrix library takes its slowest way on AMD, unless it is told to use AVX2: a
# product of matrices then takes less than half the time. On other processors it chooses
# well by itself. Whoever has set the variable, also to nothing, keeps it.
CPUINFO := /proc/cpuinfo
ifeq ($(origin MKL_DEBUG_CPU_TYPE),undefined)
ifneq ($(shell grep -qs AuthenticAMD $(CPUINFO) && grep -sowm 1 avx2 $(CPUINFO)),)
export MKL_DEBUG_CPU_TYPE := 5
endif
endif

NEED_PYTHON = command -v "$(PYTHON)" >/dev/null || { echo "make: there is no $(PYTHON): install Python 3.9 to 3.13, or say make PYTHON=/path/to/it" >&2; exit 1; }

.PHONY: help setup run notebooks test test-notebooks test-matrix torch bench lab
.PHONY: test-bundle student site slides reveal pdf aistudio doctor lock clean

help:  ## list the targets (this is what `make` alone does)
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1 # /p' Makefile | awk -F' # ' '{ printf "%-22s %s\n", $$1, $$2 }'

setup:  ## make .venv, or bring it up to date; GPU=1 for paddlepaddle-gpu, GPU=0 back
	@$(NEED_PYTHON)
	@"$(PYTHON)" tools/setup_env.py --gpu "$(GPU)" $(if $(filter file,$(origin PYTHON)),,--python-given) $(if $(filter setup,$(MAKECMDGOALS)),,--quiet)

run: setup  ## execute all notebooks (NB=notebooks/en: in English); results go to build/
	@$(VENV_PYTHON) tools/run_notebooks.py run $(NB)

notebooks: setup  ## execute them in place, in both languages: outputs are stored
	@$(VENV_PYTHON) tools/run_notebooks.py in-place $(NB)

test: setup torch reveal  ## run the tests, and compare all notebooks with their stored outputs
	@$(VENV_PYTHON) -m pytest $(PARALLEL)

test-notebooks: setup  ## only the notebooks; NB=notebooks/x.ipynb for one
	@$(VENV_PYTHON) -m pytest $(UNNEEDED) $(if $(NB),$(NB),$(PARALLEL) notebooks)

test-matrix:  ## the same on all versions, an hour; CORNERS=1 for oldest and newest
	@"$(PYTHON)" tools/test_matrix.py --corners "$(CORNERS)" $(PARALLEL)

torch: setup  ## the CPU build of PyTorch into .venv, to compare with
	@$(VENV_PYTHON) tools/install_torch.py $(if $(filter torch,$(MAKECMDGOALS)),,--optional)

slides: setup reveal  ## slides of all notebooks (or NB=...), in build/slides/
	@$(VENV_PYTHON) tools/slides.py $(NB)

reveal: setup
	@$(VENV_PYTHON) tools/install_reveal.py $(if $(filter slides reveal,$(MAKECMDGOALS)),,--optional)

pdf: setup  ## all notebooks (or NB=...) as one PDF in build/ (needs Chromium)
	@$(VENV_PYTHON) tools/book_pdf.py $(NB)

bench: setup  ## how fast it all is, 5 minutes; results go to benchmarks/
	@$(VENV_PYTHON) -m benchmarks

site: setup  ## the web book, into build/site/, from the notebooks as stored
	@$(VENV_PYTHON) tools/make_site.py --repository "$(SITE_REPOSITORY)" --aistudio "$(SITE_AISTUDIO)"

aistudio: setup  ## build/aistudio.zip, for students on AI Studio, Kaggle or Colab
	@$(VENV_PYTHON) tools/aistudio.py

test-bundle: aistudio  ## run that zip's notebooks where students would, 10 minutes
	@$(VENV_PYTHON) tools/test_bundle.py

lab: setup  ## open JupyterLab on the notebooks, for this machine only
	@$(VENV_PYTHON) -m jupyter lab --ip=127.0.0.1 --ServerApp.root_dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

doctor:  ## find why a notebook fails on this machine, and what to do
	@$(NEED_PYTHON)
	@"$(PYTHON)" tools/doctor.py

student: setup  ## notebooks without solutions; they go to build/student/
	@$(VENV_PYTHON) tools/student.py

lock:  ## derive requirements/*.txt anew from pyproject.toml (needs uv)
	@"$(PYTHON)" tools/make_locks.py

clean:  ## delete what make made: .venv and build/
	@rm -rf .venv build
