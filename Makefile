# sonde: GPU profiling by NVTX region. `make help` prints these lines:
#
#   make              build/sonde (optimised), libsonde, the injected library, workloads
#   make test         build with ASan + UBSan under build/asan/ and run every test
#   make test-gpu     the tests that need a GPU
#   make fuzz         the libFuzzer targets (clang)
#   make fuzz-long    runs each fuzz target for FUZZ_SECONDS (600) on all processors; keeps the corpus under build/fuzz/corpus/
#   make clang        compiles everything with clang, without a warning
#   make tsan         the injected library under ThreadSanitizer
#   make bench        the benchmarks: ratios of times that are measured side by side
#   make lib          libsonde.so and libsonde.a, which export the functions of include/sonde.h only
#   make sonde-mpi    build/sonde-mpi, if there is an mpicc (another one: MPICC=mpicc.mpich)
#   make install      PREFIX=/usr/local DESTDIR=
#   make uninstall    removes what install put there
#   make tarball      build/packages/sonde-VERSION-linux-ARCH.tar.gz, which needs only glibc
#   make wheel        the same files as a Python wheel, with `import sonde`
#   make deb          packages for Debian (debhelper, lintian)
#   make accept       rewrites every expected output of tests: tests/cli/golden/, README, docs
#   make lint         clang-tidy over src/ and lib/
#   make analyze      the slow checks of clang-tidy, and cppcheck
#   make clean        removes build/
#
# Rooms are folders under src/; lib/hydra is the composer of configurations. A new .c file in a room, or in a folder of a
# room, is found automatically. make/ has separate parts: sonde-mpi (mpi.mk), installing (install.mk), packages
# (packages.mk), and fakes for tests without a GPU (fakes.mk).

VERSION   := 0.1.0
PREFIX    ?= /usr/local
CC        ?= cc
BUILD     ?= build
OPT       ?= -O2 -g
WERROR    ?=
PKGS      := libpcre2-8 jansson libxxhash sqlite3 zlib
# STATIC=1 links the libraries in PKGS statically (not libc), for machines that do not have them.
STATIC    ?=
CUDA_HOME ?= /usr/local/cuda
# $(call folder_of,HEADER,FOLDERS): the folder of a vendor's header, below CUDA_HOME or in FOLDERS; empty when there is none.
folder_of  = $(firstword $(foreach d,$(CUDA_HOME)/include $(CUDA_HOME)/extras/CUPTI/include $(2),$(if $(wildcard $(d)/$(1)),$(d))))

WARN      := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wno-string-concatenation
# Flags given on the command line, for example by distributions, are added behind ours and do not replace them.
override CPPFLAGS := -Isrc -Ilib -Iinclude -D_GNU_SOURCE -DSONDE_VERSION='"$(VERSION)"' -DSONDE_DATADIR='"$(PREFIX)/share/sonde"' $(CPPFLAGS)
# The program and the library share their objects: position-independent, with all symbols hidden but those of sonde.h.
override CFLAGS := -std=gnu17 $(WARN) $(WERROR) $(OPT) -fPIC -fvisibility=hidden $(shell pkg-config --cflags $(PKGS)) $(CFLAGS)
comma     := ,
LIBS      := $(if $(STATIC),-Wl$(comma)-Bstatic $(filter-out -lm -lpthread -ldl,$(shell pkg-config --static --libs $(PKGS))) -Wl$(comma)-Bdynamic,$(shell pkg-config --libs $(PKGS))) -lm -lpthread -ldl

ROOMS     := base catalogue config format sample capture read attribute unmix replay fold cellfile merge ranks tree compare export lib check
HYDRA_SRC := $(sort $(wildcard lib/hydra/*.c))
# The part of the sampler that uses CUPTI needs CUPTI's headers (12.6 or newer). Without them, sampling_absent.c takes its
# place and reports that.
CUPTI_PM_INC := $(call folder_of,cupti_pmsampling.h)
PM_SRC    := $(addprefix src/sample/,calibration_kernels.c counter_sets.c pm_device.c pm_load.c sampling.c sampling_loop.c)
PM_LEFT   := $(if $(CUPTI_PM_INC),src/sample/sampling_absent.c,$(PM_SRC))
LIB_SRC   := $(filter-out $(PM_LEFT),$(foreach r,$(ROOMS),$(sort $(wildcard src/$(r)/*.c src/$(r)/*/*.c)))) $(HYDRA_SRC)
CLI_SRC   := $(sort $(wildcard src/cli/*.c))
LIB_OBJ   := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ   := $(CLI_SRC:%.c=$(BUILD)/%.o)
TEST_SRC  := $(sort $(wildcard tests/unit/*_test.c))
TESTS     := $(TEST_SRC:tests/unit/%.c=$(BUILD)/tests/%)

.PHONY: all help test test-gpu fuzz bench install accept lint analyze clean
all: $(BUILD)/sonde

help:
	@sed -n 's/^#   make/make/p' Makefile

# Flags of test builds, which start the program thousands of times.
AT_START  ?=
$(BUILD)/sonde: override LDFLAGS += $(AT_START)
$(BUILD)/sonde: $(CLI_OBJ) $(BUILD)/rooms.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/rooms.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

include make/mpi.mk

# --- libsonde: src/lib/ with everything it needs from the rooms ---------------------------------
SONAME    := libsonde.so.$(firstword $(subst ., ,$(VERSION)))
API_OBJ   := $(filter $(BUILD)/src/lib/%,$(LIB_OBJ))
.PHONY: lib
all: lib
lib: $(BUILD)/libsonde.so $(BUILD)/libsonde.a $(BUILD)/sonde.pc

$(BUILD)/libsonde.so: $(API_OBJ) $(BUILD)/rooms.a src/lib/sonde.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=src/lib/sonde.map -Wl,--as-needed \
		-o $@ $(API_OBJ) $(BUILD)/rooms.a $(LIBS)

# The archive has a single object, in which hidden symbols can be made local; with many objects they would stay global.
$(BUILD)/libsonde.a: $(API_OBJ) $(BUILD)/rooms.a
	$(LD) -r -o $(BUILD)/libsonde.o $(API_OBJ) $(BUILD)/rooms.a
	objcopy --localize-hidden $(BUILD)/libsonde.o
	@rm -f $@
	$(AR) rcs $@ $(BUILD)/libsonde.o

# The prefix in sonde.pc is relative to the file itself, so that an installation can be moved.
$(BUILD)/sonde.pc: Makefile
	@mkdir -p $(@D)
	printf '%s\n' 'prefix=$${pcfiledir}/$(if $(findstring /,$(LIBFOLDER)),../../..,../..)' 'Name: sonde' 'Description: GPU profiles by NVTX region' 'Version: $(VERSION)' \
		'Requires.private: $(filter-out jansson libxxhash,$(PKGS))' 'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/$(LIBFOLDER) -lsonde' \
		'Libs.private: -lm -lpthread -ldl' >$@
# ----------------------------------------------------------------------------------------------

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Flags of test builds for folders whose code need not be fast, to compile them quickly.
LIGHT     ?=
LIGHT_IN  ?= src/cli tests/unit
$(foreach d,$(LIGHT_IN),$(BUILD)/$(d)/%.o): override CFLAGS += $(LIGHT)
# And for folders whose code takes most of the time of such a build.
HOT       ?=
HOT_IN    ?=
$(foreach d,$(HOT_IN),$(BUILD)/$(d)/%.o): override CFLAGS += $(HOT)
# Flags for the hashes of the HTML page: in a fuzz target they take most of the time, and they do not depend on the input.
HASH      ?=
$(BUILD)/src/base/sha256.o: override CFLAGS += $(HASH)

# Unmixing and comparing must give the same bits on every machine: no fused multiply-add. (-fno-math-errno is safe: no code
# reads the errno of sqrt.)
$(BUILD)/src/unmix/%.o $(BUILD)/src/compare/%.o: override CFLAGS += -ffp-contract=off -fno-math-errno

# One cmocka program per tests/unit/X_test.c. made.c has functions that make records for them.
$(BUILD)/tests/%_test: $(BUILD)/tests/unit/%_test.o $(BUILD)/tests/unit/made.o $(BUILD)/rooms.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

# The only part of the injected library that is pure arithmetic, so that a unit test can link it.
$(BUILD)/tests/pace_test: $(BUILD)/src/inject/pace.o
-include $(BUILD)/src/inject/pace.d

$(BUILD)/tests/unit/%.o: tests/unit/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests/unit $(CFLAGS) -MMD -MP -c -o $@ $<

# --- lib/hydra, which needs src/base only: its tests link only these two -----------------------
HYDRA_OBJ  := $(HYDRA_SRC:%.c=$(BUILD)/%.o) $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard src/base/*.c)))
CASES_OBJ  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard lib/hydra/tests/cases/*.c)))
TESTS      += $(BUILD)/tests/hydra_test

$(BUILD)/libhydra.a: $(HYDRA_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/tests/hydra_test: $(BUILD)/lib/hydra/tests/hydra_test.o $(BUILD)/libhydra.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

# The runner of recorded cases (lib/hydra/tests/cases_test.sh).
$(BUILD)/tests/hydra_cases: $(CASES_OBJ) $(BUILD)/libhydra.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/lib/hydra/tests/%.o: override CPPFLAGS += -Itests/unit -Ilib/hydra/tests/cases
-include $(CASES_OBJ:.o=.d) $(BUILD)/lib/hydra/tests/hydra_test.d
# ----------------------------------------------------------------------------------------------

# --- the injected library and the programs that its tests profile -----------------------------
# The library needs the NVTX headers; its CUPTI part needs the CUPTI headers too. Without them, everything else is built.
NVTX_INC   := $(call folder_of,nvtx3/nvToolsExt.h,/usr/include)
CUPTI_INC  := $(call folder_of,cupti_activity.h)
INJ_CUPTI  := $(filter-out src/inject/cupti_absent.c,$(sort $(wildcard src/inject/cupti*.c)))
INJ_ALL    := $(filter-out src/inject/empty_hooks.c src/inject/cupti_absent.c $(INJ_CUPTI),$(sort $(wildcard src/inject/*.c)))
INJ_SRC    := $(INJ_ALL) src/format/event.c src/base/glob.c src/base/secret.c src/base/utf8.c $(if $(CUPTI_INC),$(INJ_CUPTI),src/inject/cupti_absent.c)
INJ_OBJ    := $(INJ_SRC:%.c=$(BUILD)/pic/%.o)
# No stack protector: it reads thread-local memory, and the flusher's process does not have any.
INJ_FLAGS  := -fPIC -fno-plt -fno-stack-protector -fvisibility=hidden -ftls-model=initial-exec -pthread $(if $(NVTX_INC),-isystem $(NVTX_INC)) $(if $(CUPTI_INC),-isystem $(CUPTI_INC))
INJ_LINK   := -shared -pthread -Wl,-z,now -Wl,-z,nodelete -Wl,-z,defs -ldl
# The sanitizers of test builds are for programs. The injected library is loaded into other programs, so it is built
# without them, except by `make tsan`.
INJ_OPT    ?= -O2 -g
INJ_CC      = $(CC) $(CPPFLAGS) -std=gnu17 $(WARN) $(WERROR) $(INJ_OPT)
INJECT     := $(if $(NVTX_INC),$(BUILD)/libsonde_inject.so $(BUILD)/libsonde_inject_empty.so)
# The library that marks PyTorch modules is loaded into the user's Python, which provides the functions of the Python API.
MODULES    := $(if $(NVTX_INC),$(BUILD)/python/libsonde_modules.so $(BUILD)/python/sitecustomize.py)
HAS_STATIC := $(filter /%,$(shell $(CC) -print-file-name=libc.a))
WORK_SRC   := $(sort $(wildcard workloads/*.c))
WORKLOADS  := $(if $(NVTX_INC),$(WORK_SRC:workloads/%.c=$(BUILD)/workloads/%) $(BUILD)/workloads/plugin.so $(if $(HAS_STATIC),$(BUILD)/workloads/static))

.PHONY: inject workloads
all: inject workloads
inject: $(INJECT) $(MODULES)
workloads: $(WORKLOADS)

$(BUILD)/libsonde_inject.so: $(INJ_OBJ)
	$(CC) $(INJ_OPT) $(LDFLAGS) -o $@ $^ $(INJ_LINK)

$(BUILD)/libsonde_inject_empty.so: $(BUILD)/pic/src/inject/empty_hooks.o
	$(CC) $(INJ_OPT) $(LDFLAGS) -o $@ $^ $(INJ_LINK)

$(BUILD)/python/libsonde_modules.so: src/modules/modules.c
	@mkdir -p $(@D)
	$(INJ_CC) $(INJ_FLAGS) -shared -o $@ $< -ldl
$(BUILD)/python/%.py: src/modules/%.py
	@mkdir -p $(@D)
	cp $< $@

$(BUILD)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(INJ_CC) $(INJ_FLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/workloads/%: workloads/%.c
	@mkdir -p $(@D)
	$(INJ_CC) -isystem $(NVTX_INC) -MMD -MP -o $@ $< -pthread -ldl

$(BUILD)/workloads/plugin.so: workloads/lib/plugin.c
	@mkdir -p $(@D)
	$(INJ_CC) -isystem $(NVTX_INC) -fPIC -shared -o $@ $< -ldl

$(BUILD)/workloads/static: workloads/lib/static.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -std=gnu17 $(WARN) -O2 -isystem $(NVTX_INC) -static -o $@ $< 2>/dev/null

include make/fakes.mk

# The injected library and the workloads, both under ThreadSanitizer.
TSAN := BUILD=build/tsan OPT="-O0 -g1 -fsanitize=thread" INJ_OPT="-O1 -g -fsanitize=thread" WERROR=-Werror
.PHONY: tsan
tsan:
	$(MAKE) --no-print-directory $(TSAN) inject workloads

# The analysis under ThreadSanitizer (tests/cli/threads_test.sh).
.PHONY: tsan-threads
tsan-threads:
	$(MAKE) --no-print-directory $(TSAN) build/tsan/tests/threads_test

# Small programs that tests and benchmarks call.
TOOLS      := $(patsubst tests/tools/%.c,$(BUILD)/tools/%,$(sort $(wildcard tests/tools/*.c))) $(BUILD)/bench/capture_many $(BUILD)/bench/unmix_bench \
	$(if $(CUPTI_PM_INC),$(BUILD)/bench/sampling_toggle)
.PHONY: tools
tools: $(TOOLS)
$(BUILD)/tools/%: tests/tools/%.c $(BUILD)/rooms.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $(filter %.c %.a,$^) $(LIBS)

# Programs for a machine with a GPU are built into build/gpu; on that machine run `make BUILD=build/gpu test-gpu`.
.PHONY: gpu-programs cupti-parts
gpu-programs:
	$(MAKE) --no-print-directory BUILD=build/gpu STATIC=1 all tools cupti-parts

cupti-parts: $(if $(CUPTI_INC),$(BUILD)/libcupti_parts.so $(BUILD)/bench/launch_cost)
$(BUILD)/bench/launch_cost: bench/launch_cost.c
	@mkdir -p $(@D)
	$(INJ_CC) -isystem $(NVTX_INC) -isystem $(CUPTI_INC) -o $@ $< -ldl
$(BUILD)/libcupti_parts.so: bench/lib/cupti_parts.c
	$(INJ_CC) $(INJ_FLAGS) -shared -o $@ $< -ldl

-include $(INJ_OBJ:.o=.d) $(TOOLS:=.d) $(BUILD)/pic/src/inject/empty_hooks.d $(WORKLOADS:=.d)
# ----------------------------------------------------------------------------------------------

# Less for the debugger (-g1) is less to compile and link. A program at a fixed address, with the sanitizers' libraries in it,
# has little to relocate at each of its starts. Undefined behaviour is a trap, which AddressSanitizer reports with its stack
# (handle_sigill in tests/run): descriptions of each place that may trap would be most of the program.
ASAN := BUILD=build/asan LDFLAGS=-no-pie AT_START="-static-libasan -static-libubsan" OPT="-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fsanitize-undefined-trap-on-error -DSONDE_ARENA_MALLOC -fsanitize-coverage=trace-pc" WERROR=-Werror \
	LIGHT=-O0 LIGHT_IN="src/capture src/catalogue src/check src/cli src/config src/lib src/ranks src/sample tests lib/hydra/tests"

test:
	$(MAKE) --no-print-directory $(ASAN) build/asan/sonde lib unit-programs inject workloads tools mpi-programs
	tests/run build/asan

.PHONY: unit-programs
unit-programs: $(TESTS) $(BUILD)/tests/hydra_cases

# One libFuzzer program per tests/fuzz/X_fuzz.c; tests/fuzz/fuzz_test.sh runs them. LIGHT_IN: folders whose code no target runs.
FUZZ := CC=clang BUILD=build/fuzz WERROR=-Werror OPT="-O0 -gline-tables-only -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -DSONDE_ARENA_MALLOC" \
	HASH="-O2 -fno-sanitize=all" HOT=-O1 HOT_IN="src/base src/cellfile src/read lib/hydra" LIGHT="-O0 -fno-sanitize=all" LIGHT_IN="src/capture src/cli src/compare src/lib src/sample tests/unit lib/hydra/tests/cases"
FUZZ_SRC := $(sort $(wildcard tests/fuzz/*_fuzz.c) $(wildcard lib/hydra/tests/*_fuzz.c))

fuzz:
	$(MAKE) --no-print-directory $(FUZZ) fuzz-programs

# Fuzzes for longer than the test run does, each time with new seeds, and starts from the corpus of the last run.
fuzz-long:
	FUZZ_SECONDS=$${FUZZ_SECONDS:-600} FUZZ_RUNS=$${FUZZ_RUNS:--1} FUZZ_CORPUS=build/fuzz/corpus tests/fuzz/fuzz_test.sh

# Compiles everything with clang, without a warning.
clang:
	$(MAKE) --no-print-directory $(FUZZ) build/fuzz/sonde fuzz-programs inject workloads tools unit-objects

.PHONY: fuzz-long clang unit-objects
unit-objects: $(TEST_SRC:%.c=$(BUILD)/%.o) $(BUILD)/tests/unit/made.o $(CASES_OBJ) $(BUILD)/lib/hydra/tests/hydra_test.o

.PHONY: fuzz-programs
fuzz-programs: $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(FUZZ_SRC)))

$(BUILD)/tests/%_fuzz: $(BUILD)/tests/fuzz/%_fuzz.o $(BUILD)/rooms.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/tests/%_fuzz: $(BUILD)/lib/hydra/tests/%_fuzz.o $(BUILD)/libhydra.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LIBS)

include make/install.mk
include make/packages.mk

# The vendor headers that the injected library and src/capture/passes.c need.
LINT_FLAGS = $(CPPFLAGS) $(CFLAGS) -isystem src/sample/c_only $(if $(NVTX_INC),-isystem $(NVTX_INC)) $(if $(CUPTI_INC),-isystem $(CUPTI_INC)) \
	$(if $(CUPTI_HOST_INC),-DSONDE_HAVE_CUPTI_HOST) $(patsubst -I%,-isystem %,$(filter -I%,$(shell $(MPICC) -show 2>/dev/null)))

lint:
	scripts/lint $(LINT_FLAGS)

# Slow checks. Read their findings with care: many are about paths that cannot happen.
analyze:
	CHECKS='-*,clang-analyzer-*,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling' scripts/lint $(LINT_FLAGS)
	if command -v cppcheck; then cppcheck --quiet --std=c11 -Isrc -Ilib -Iinclude --suppress=missingIncludeSystem src lib; fi

# The schemas are built into the validator by .incbin, which the compiler does not list as a dependency.
$(BUILD)/src/check/schema.o: $(wildcard schema/*.json)
# So is the page into the HTML exporter.
$(BUILD)/src/export/html_page.o: $(wildcard src/export/html/*)

# Rewrites everything that tests compare with: the files of golden/, and the output of sonde that pages quote.
accept: all tools
	rm -f $(BUILD)/golden.used
	for t in $$(grep -lE 'golden |ACCEPT' tests/*/*_test.sh); do ACCEPT=1 GOLDEN_USED=$(BUILD)/golden.used BUILD=$(BUILD) $$t; done
	scripts/golden-unused $(BUILD)/golden.used

# Benchmarks: one program per bench/X.c, which the scripts in bench/ run.
BENCH := $(patsubst bench/%.c,$(BUILD)/bench/%,$(sort $(filter-out $(if $(CUPTI_PM_INC),,bench/sampling_toggle.c),$(wildcard bench/*.c))))

bench: bench-tools inject workloads tools
	bench/report.sh
	bench/kineto.py
	$(if $(INJECT),bench/native.sh $(BUILD))
	$(if $(shell command -v chromium),bench/html.sh)
	$(BUILD)/bench/compose_bench
	$(BUILD)/bench/unmix_bench
	$(BUILD)/bench/diff_bench
	$(BUILD)/bench/diff_rates
	bench/diff_noise.sh $(BUILD)

.PHONY: bench-tools
bench-tools: $(BUILD)/sonde $(BENCH)
-include $(BENCH:=.d)

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/rooms.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# --- captures --------------------------------------------------------------------------------
# The number of passes is computed with CUPTI's host API: its headers are needed to build, the library is found
# at run time. c_only/ contains an empty <string>, because a C header of CUPTI includes it by mistake.
CUPTI_HOST_INC := $(call folder_of,cupti_profiler_host.h)
PM_OBJ := $(PM_SRC:%.c=$(BUILD)/%.o)
$(BUILD)/src/capture/passes.o $(BUILD)/bench/sampling_toggle.o $(PM_OBJ): override CPPFLAGS += $(if $(CUPTI_HOST_INC),-DSONDE_HAVE_CUPTI_HOST -isystem src/sample/c_only -isystem $(CUPTI_HOST_INC) -isystem $(CUDA_HOME)/include)

# The CUDA workloads, if there is an nvcc: code for the H200 and portable PTX.
NVCC       ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc))
NVCC_ARCH  ?= -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90
CU_WORK    := $(if $(NVCC),$(patsubst workloads/%.cu,$(BUILD)/workloads/%,$(sort $(wildcard workloads/*.cu))))
.PHONY: cuda-workloads
cuda-workloads: $(CU_WORK)
workloads: cuda-workloads

$(BUILD)/workloads/idle: workloads/idle_causes.h
$(BUILD)/workloads/%: workloads/%.cu
	@mkdir -p $(@D)
	$(NVCC) -O2 -std=c++17 $(NVCC_ARCH) -cudart static -o $@ $<

test-gpu:
	tests/gpu/run_gpu.sh $(BUILD)
	tests/gpu/real_gpu.sh $(BUILD)
	tests/gpu/idle_gpu.sh $(BUILD)
	tests/gpu/findings_gpu.sh $(BUILD)
	tests/gpu/counters_gpu.sh $(BUILD)
	tests/gpu/gpm_gpu.sh $(BUILD)
	tests/run $(BUILD) native_gpu
	REAL_NCU=1 tests/run $(BUILD) llm_perf_opt

# ---------------------------------------------------------------------------------------------

clean:
	rm -rf build

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_SRC:%.c=$(BUILD)/%.d) $(BUILD)/tests/unit/made.d $(FUZZ_SRC:%.c=$(BUILD)/%.d)
.SECONDARY:
