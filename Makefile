# Users need `make demo` and `make test`. The other targets are for developers of regard.
BUILD := build/release
JOBS ?= $(shell nproc)
DEMO := runs/demo

.PHONY: help packages configure program build demo test check-all check asan sanitize-serve clang tidy tsan arm64 old-machine fuzz soak faults mutants big-file check-convert check-peers check-serve check-viewer check-viewer-pages check-viewer-speed with-mpi check-mpi check-kills soak-serve format install package benchmark claims claims-long clean

help:
	@echo "make demo       install missing packages, build, train a small English-Hindi translator, use it, show its attention"
	@echo "make test       install missing packages, build, run every test"
	@echo "make program    build the program and the examples, without the tests"
	@echo "make check      layering, formatting, symbols, instructions, sizes, clang-tidy on changed sources"
	@echo "make tidy       clang-tidy on all sources"
	@echo "make check-all  check, then clang-16, address, undefined-behaviour and thread sanitizers, arm64 and an old processor under qemu"
	@echo "make fuzz       every fuzz target for ten minutes each (needs clang-16; SECONDS=60 for a short run)"
	@echo "make soak       a hundred sessions that join, end and are cancelled for ten minutes"
	@echo "make mutants    change one line at a time and report whether a test detects it, for ten minutes (SEED=1 SECONDS=600 DIRECTORIES=\"text nn\")"
	@echo "make faults     let every file call of a tiny run and of every output fail once (make test tries some of them)"
	@echo "make check-peers  check that other programs read files of regard (installs the packages of tools/peers.txt)"
	@echo "make check-serve  use regard serve with clients of its protocols (installs the packages of tools/serve_peers.txt)"
	@echo "make check-mpi  train tiny runs by several processes under mpirun (installs Open MPI; KILLS=4)"
	@echo "make check-kills  kill runs at 200 random times and resume them, with bit-identical results (KILLS=200)"
	@echo "make soak-serve  clients stream, cancel and send bad requests to regard serve, three tests of ten minutes"
	@echo "make check-viewer check the page of attend --html: types, tests, build, Chromium (installs npm packages and Chromium)"
	@echo "make big-file   train on a text of 3 GiB under a memory limit of 1 GiB, stop, resume, compare"
	@echo "make check-convert  convert runs of many shapes and compare them with transformers (PYTHON=python3 with torch, transformers)"
	@echo "make format     clang-format over the sources"
	@echo "make install    install the program, the library and its headers (PREFIX=/usr/local)"
	@echo "make package    write a .deb and a .tar.gz of the same files"
	@echo "make clean      remove build/ (runs/ stays)"

packages:
	@tools/packages.sh build

configure: packages
	@test -f $(BUILD)/build.ninja || { echo "== configure"; cmake --preset release >/dev/null; }

build: configure
	@echo "== build"
	@cmake --build $(BUILD) -j $(JOBS)

# Build without the tests, in half the time.
program: configure
	@echo "== build the program and the examples"
	@cmake --build $(BUILD) -j $(JOBS) --target regard_program examples

demo: program
	@echo "== demo"
	@$(BUILD)/bin/regard demo --folder $(DEMO)

test: build
	@echo "== test"
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

check: packages
	@tools/check_tidy.sh
	@tools/check_layers.sh
	@tools/check_format.sh
	@tools/check_sizes.sh
	@tools/check_symbols.sh $(BUILD)
	@tools/check_baseline.sh $(BUILD)

# Run the tests with sanitizers, except the tests with the label `data` or `slow`.
asan: packages
	@echo "== address and undefined-behaviour sanitizers"
	@cmake --preset asan $(if $(DIRECTORIES),"-DREGARD_DIRECTORIES=$(DIRECTORIES)" "-DREGARD_TEST_DIRECTORIES=$(DIRECTORIES)") >/dev/null
	@cmake --build build/asan -j $(JOBS)
	@ctest --test-dir build/asan --output-on-failure -j $(JOBS) -LE "data|slow"

check-packages:
	@tools/packages.sh check

clang: check-packages
	@echo "== clang-16"
	@cmake --preset clang >/dev/null
	@cmake --build build/clang -j $(JOBS)
	@ctest --test-dir build/clang --output-on-failure -j $(JOBS) -LE "data|slow"

tsan: packages
	@echo "== thread sanitizer"
	@cmake --preset tsan >/dev/null
	@cmake --build build/tsan -j $(JOBS)
	@ctest --test-dir build/tsan --output-on-failure -j $(JOBS) -LE "data|slow|no-tsan"

# Skip the tests with the largest shapes: qemu emulates fused multiply-adds in software, so they would take hours.
TOO_LARGE_FOR_QEMU := Large|EverySize|BeyondOnePhase|PageApart|EqualsThePlain|ThreadsAndCompany|CentralDifferences|GoDownTheGradient
arm64: check-packages
	@echo "== arm64, cross-compiled, tests under qemu-user"
	@cmake --preset arm64 >/dev/null
	@cmake --build build/arm64 -j $(JOBS)
	@ctest --test-dir build/arm64 --output-on-failure -j $(JOBS) -LE "data|slow" -E "$(TOO_LARGE_FOR_QEMU)"

# Run the program under qemu-user on a processor without AVX.
old-machine: check-packages build
	@echo "== a processor without AVX"
	@tools/check_old_machine.sh $(BUILD)/bin/regard

# Run the tests of the server with sanitizers; most of the library outside src/serve is not instrumented.
sanitize-serve: build
	@echo "== src/serve under the address, undefined-behaviour and thread sanitizers"
	@cmake --build $(BUILD) -j $(JOBS) --target test_serve_address test_serve_thread
	@$(BUILD)/bin/test_serve_address --gtest_brief=1 --gtest_filter='-Hostile.TenThousand*'
	@TSAN_OPTIONS=suppressions=tools/tsan_serve.txt $(BUILD)/bin/test_serve_thread --gtest_brief=1 --gtest_filter='-Hostile.*'

# Run clang-tidy on all sources; `check` runs it only on changed ones.
tidy: packages
	@tools/check_tidy.sh --all

check-all: build check tidy old-machine asan sanitize-serve clang tsan arm64
	@echo "== everything passed"

SECONDS_EACH := $(or $(SECONDS),600)
fuzz: check-packages
	@tools/fuzz.sh $(SECONDS_EACH)

soak: build
	@REGARD_SOAK_SECONDS=$(SECONDS_EACH) $(BUILD)/bin/test_soak

# Run mutation tests in a clone of the last commit. The clone is kept in build/, so that the next run builds
# only what has changed.
SEED ?= 1
CLONE := build/mutants-clone
mutants: packages
	@test -d $(CLONE) || git clone -q . $(CLONE)
	@git -C $(CLONE) fetch -q && git -C $(CLONE) reset -q --hard $$(git rev-parse HEAD)
	@tools/mutants.py $(CLONE) $(SECONDS_EACH) $(SEED) $(DIRECTORIES)

# Train on a file of 3 GiB (MEGABYTES sets another size) under a memory limit of 1 GiB. Needs 10 GB of disk.
MEGABYTES ?= 3072
big-file: program
	@tools/big_file.sh $(BUILD)/bin/regard $(MEGABYTES)

# Train the small networks of docs/why-attention.md again (takes minutes), and write recipes/claims/results.json.
claims: program
	@tools/make_claims.sh $(BUILD)/bin/regard build/claims

# Train the translators of docs/why-attention.md again (about an hour), and write recipes/claims/results-long.json.
claims-long: program
	@tools/make_claims_long.sh $(BUILD)/bin/regard build/claims-long

faults: build
	@REGARD_FAULTS=all ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -R '^test_faults'

# Check in a separate Python environment that other programs can read files that regard writes.
PEERS := build/peers/bin/python
$(PEERS): tools/peers.txt
	@tools/packages.sh peers
	@echo "== install the peers of tools/peers.txt"
	@python3 -m venv build/peers && $(PEERS) -m pip install -q --disable-pip-version-check -r tools/peers.txt && touch $(PEERS)

check-peers: program $(PEERS)
	@echo "== peers"
	@$(PEERS) tools/check_tensorboard.py $(BUILD)/bin/regard

# Check `regard serve` with clients of its protocols, in a separate Python environment.
SERVE_PEERS := build/serve-peers/bin/python
$(SERVE_PEERS): tools/serve_peers.txt
	@tools/packages.sh peers
	@echo "== install the clients of tools/serve_peers.txt"
	@python3 -m venv build/serve-peers && $(SERVE_PEERS) -m pip install -q --disable-pip-version-check -r tools/serve_peers.txt && touch $(SERVE_PEERS)

check-serve: program $(SERVE_PEERS)
	@echo "== clients of regard serve"
	@$(SERVE_PEERS) tools/check_serve.py $(BUILD)/bin/regard

# Configure the build with MPI.
with-mpi: packages
	@tools/packages.sh mpi
	@cmake --preset release >/dev/null

# Check training by several processes under mpirun: bit-identical results, killed and unresponsive ranks.
check-mpi: with-mpi program
	@echo "== several processes"
	@tools/check_mpi.py $(BUILD)/bin/regard $(or $(KILLS),4)

# Kill training runs at random times and resume them, KILLS times in all. Default: 200. Half of the kills are
# of runs with one process, the other half of runs with four processes; the latter are skipped without mpirun.
ALL_KILLS := $(or $(KILLS),200)
check-kills: build
	@if command -v mpirun >/dev/null; then tools/check_mpi.py $(BUILD)/bin/regard $$(($(ALL_KILLS) / 2)) --kills-only; fi
	@REGARD_KILLS=$$(($(ALL_KILLS) / 8)) $(BUILD)/bin/test_faults --gtest_filter='Each/Kills.*'

# 64 clients stream, cancel, read slowly and send bad requests. Each response is compared with that of the same
# request sent alone.
soak-serve: build
	@REGARD_SOAK_SECONDS=$(SECONDS_EACH) $(BUILD)/bin/test_serve --gtest_filter='ServeSoak.*:Hostile.KilledClients*:RandomRequests.*'

# Check the page of attend --html: unit tests, a build that must equal viewer/page.html, and tests in Chromium.
check-viewer: check-viewer-pages
	@tools/check_viewer.sh --speed
check-viewer-pages: program
	@tools/packages.sh viewer
	@tools/check_viewer.sh $(BUILD)/bin/regard
# Speed alone. Nothing else should run on the machine.
check-viewer-speed:
	@tools/packages.sh viewer
	@tools/check_viewer.sh --speed

PYTHON ?= python3
check-convert: program
	@$(PYTHON) tools/check_convert.py $(BUILD)/bin/regard

format: packages
	@git ls-files '*.cpp' '*.h' | xargs clang-format-16 -i

PREFIX ?= /usr/local
install: program
	@cmake --install $(BUILD) --prefix $(PREFIX)

package: program
	@cd $(BUILD) && cpack

benchmark: build
	@$(BUILD)/bin/regard bench peak

clean:
	@rm -rf build
