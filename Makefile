# The first use of any target makes the virtual environment; VENV= puts it elsewhere.
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
TRY ?= timm
READY := $(VENV)/.ready
# A process for each core takes tests from those that have more left; each has two processes with torch beside it.
PARALLEL ?= --numprocesses auto --maxprocesses 8 --dist worksteal

# One thread: the tests compare numbers, and machines of other people's runs are shared.
export OMP_NUM_THREADS = 1

.PHONY: try test check quick fix docs rules facts agree speed ray neovim clean golden golden-write golden-packages real fuzz browser site site-browser playground playground-browser release-check

# Lint a real package from the package index.
try: $(VENV)/.installed
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT \
	&& $(BIN)/pip download --quiet --no-deps --dest "$$folder" $(TRY) \
	&& $(BIN)/python -m zipfile -e "$$folder"/*.whl "$$folder/$(TRY)" \
	&& cd "$$folder" && $(abspath $(BIN))/gradlint check --output-format full --exit-zero --statistics $(TRY)

test: $(READY)
	$(BIN)/python -m pytest $(PARALLEL)

# All that must hold before a commit is pushed.
check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/make_docs.py --check
	$(BIN)/python -m pytest $(PARALLEL)

# The tests of the house: reading, configuring, reporting, fixing. Those that run torch or whole corpora take longer.
QUICK := tests/test_*.py tests/entrypoints tests/scan tests/settings tests/report tests/fixes tests/source tests/harness tests/rules/test_docs.py \
	--ignore tests/entrypoints/test_confirm.py --ignore tests/entrypoints/test_precommit.py

# The same in a minute: the tests that need no torch, and every 20th program of the golden files.
quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PARALLEL) $(QUICK)
	$(BIN)/python -m tests.golden --only examples --only pages --only seeds --sample 20

fix: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Write what is generated from the rules.
docs: $(READY)
	$(BIN)/python tools/make_docs.py

# The table of rules: effect, fix, and the examples, executed.
rules: $(READY)
	$(BIN)/python -m tests.rules.table

# Measure the table of operations, their aliases and derivatives anew; takes some minutes.
facts: $(READY)
	$(BIN)/python -m tools.measure_facts --jobs 2
	$(BIN)/python -m tools.measure_aliases
	$(BIN)/python -m tools.measure_derivatives
	$(BIN)/python -m tools.measure_grad_fns

# Ask torch about thousands of generated programs, and about the whole programs with their mutations; then put what
# gradlint finds in some of the former and all of the latter before torch.
N ?= 5000
CONFIRM ?= 300
SEED ?= 0
agree: $(READY)
	$(BIN)/python -m tests.torch_agrees $(N) --seed $(SEED) --jobs 2
	$(BIN)/python -m tests.torch_agrees.confirming $(CONFIRM) --seed $(SEED) --jobs 2
	$(BIN)/python -m tests.programs.run
	$(BIN)/python -m tests.programs.run --confirm
	$(BIN)/python -m tests.confirm.fresh

# Look for programs that gradlint crashes on, or takes too long for: a minute, or FUZZ_SECONDS=3600. What is found is
# made small, and kept as a test. `python -m tests.fuzz --count 2000` checks the same programs each time, and writes none.
FUZZ_SECONDS ?= 60
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) --seed $(SEED) --keep tests/fuzz/kept

# What gradlint finds in a fixed corpus must be what tests/golden records: a refactoring changes nothing.
# GOLDEN="--only pages --sample 10" takes a part, GOLDEN=--diff-summary counts the differences by code.
GOLDEN ?=
golden: golden-packages
	$(BIN)/python -m tests.golden $(GOLDEN)

golden-write: golden-packages
	$(BIN)/python -m tests.golden --write $(GOLDEN)

# Each error and warning in the pinned packages must have been read: benchmarks/judged.tsv.
real: golden-packages
	$(BIN)/python -m benchmarks.judged

golden-packages: $(READY)
	$(BIN)/python -m tests.golden.packages

# Compare with a bare parse and with torchfix, which needs an environment of its own: it pins an old libcst.
speed: $(READY) $(VENV)-torchfix/.ready
	$(BIN)/python benchmarks/speed.py --torchfix $(VENV)-torchfix/bin/python
	$(BIN)/python -m benchmarks.confirm

# The tests of scans on a cluster of Ray's, in an environment of their own: Ray is large.
ray: $(VENV)-ray/.ready
	RAY_DATA_DISABLE_PROGRESS_BARS=1 $(VENV)-ray/bin/python -m pytest tests/ray

# Neovim by the configuration of its page: `nvim`, 0.11 or later, must be installed.
neovim: $(READY)
	$(BIN)/python -m pytest tests/neovim

# The page of `--output-format html` in a real browser, which must be installed, as must Node.js; screenshots go to SHOTS.
SHOTS ?= $(shell mktemp -d)
browser: $(READY)
	cd tests/browser && npm install --silent --no-fund --no-audit
	$(BIN)/gradlint check --isolated --exit-zero --quiet --confirm --output-format html -o $(SHOTS)/report.html fixtures
	cd tests/browser && node report.mjs $(SHOTS)/report.html $(SHOTS)
	@echo "screenshots: $(SHOTS)"

# The documentation site, in an environment of its own. Warnings are errors, and each link and anchor is followed;
# addresses elsewhere are not asked. SITE/index.html works from file://, and its search without a network.
SITE ?= build/site
site: $(VENV)-site/.ready
	$(VENV)-site/bin/python -m tools.site sources $(SITE)-sources
	NO_MKDOCS_2_WARNING=1 $(VENV)-site/bin/mkdocs build --quiet --strict --config-file $(SITE)-sources/mkdocs.yml --site-dir $(abspath $(SITE))
	$(VENV)-site/bin/python -m tools.site check $(SITE)

# The site with what its playground runs on: Pyodide from npm, which must be installed, and the wheels for it.
PLAYGROUND := build/playground
playground: site $(PLAYGROUND)/.ready
	$(VENV)-site/bin/python -m tools.site playground $(PLAYGROUND) $(SITE)

$(PLAYGROUND)/.ready: tools/site/playground/package.json
	mkdir -p $(PLAYGROUND) && cp $< $(PLAYGROUND) && cd $(PLAYGROUND) && npm install --silent --no-fund --no-audit
	$(VENV)-site/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest $(PLAYGROUND) \
	  --platform pyemscripten_2026_0_wasm32 --python-version 3.14 msgspec==0.22.0
	@touch $@

# The playground in a real browser, as for `make browser`, served from this machine.
playground-browser: playground
	cd tests/browser && npm install --silent --no-fund --no-audit
	cd tests/browser && node playground.mjs $(abspath $(SITE)) $(SHOTS)
	@echo "screenshots: $(SHOTS)"

# The site in a real browser, as for `make browser`: what it loads, its width on a phone, its search in both languages.
site-browser: site
	cd tests/browser && npm install --silent --no-fund --no-audit
	cd tests/browser && node site.mjs $(abspath $(SITE)) $(SHOTS)
	@echo "screenshots: $(SHOTS)"

# Build sdist and wheel twice and compare them, check their metadata, install the wheel into a fresh environment.
release-check: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-release.txt
	$(BIN)/python -m tools.release check

clean:
	rm -rf $(VENV) $(VENV)-torchfix $(VENV)-ray $(VENV)-site

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(READY): requirements-dev.txt $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $@

$(VENV)-ray/.ready: requirements-ray.txt
	$(PYTHON) -m venv $(VENV)-ray
	$(VENV)-ray/bin/pip install --quiet --disable-pip-version-check --editable . --requirement requirements-ray.txt
	@touch $@

$(VENV)-site/.ready: requirements-site.txt
	$(PYTHON) -m venv $(VENV)-site
	$(VENV)-site/bin/pip install --quiet --disable-pip-version-check --editable . --requirement requirements-site.txt
	@touch $@

$(VENV)-torchfix/.ready:
	$(PYTHON) -m venv $(VENV)-torchfix
	$(VENV)-torchfix/bin/pip install --quiet --disable-pip-version-check torchfix==0.7.0 setuptools
	@touch $@
