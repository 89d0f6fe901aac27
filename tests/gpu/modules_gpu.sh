#!/usr/bin/env bash
# `sonde run --modules` on a GPU, each part under four minutes:
#
#   turns      the cost, measured in one process that alternates: decode <= 1.06, training <= 1.02
#   compile    torch.compile: no graph break, nothing compiled again, kernels at the compiled region
#   tree       programs without ranges: >= 99 % of launches in regions, and the same tree as that of the annotated program
#   memory     PyTorch's allocator by region compared with the program's own figures; the time of one reading
#   ddp        one rank of DDP and of FSDP: the same output, >= 99 % of launches in regions
#   loop       data loading by workers, autocast, a gradient scaler, a schedule, evaluations
#   snapshot   torch.cuda.memory._dump_snapshot compared with what Python itself reads
#   trace      torch.profiler with stacks, and a graph captured inside a trace, compared with an independent reading
#   hostile    odd programs with the real PyTorch: the same output, errors and status
#
#   make gpu-programs                        on any machine; copy build/gpu to the one with the GPU
#   tests/gpu/modules_gpu.sh build/gpu       on the machine with the GPU; PARTS='turns tree' runs these two
#
# Prints one `ok` or `not ok` line per part, with figures behind `#`. $KEEP: a folder for the runs; $OUT: a folder for a small snapshot and traces.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu} P=tests/gpu/modules_gpu.py C=tests/gpu/modules_check.py
SONDE=$PWD/$BUILD/sonde
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 CUBLAS_WORKSPACE_CONFIG=:4096:8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$T"' EXIT
failed=0
check() { # NAME COMMAND…
	local name=$1
	shift
	if "$@"; then echo "ok modules_gpu__$name"; else echo "not ok modules_gpu__$name" && failed=1; fi
}
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || { echo "skip modules_gpu: no PyTorch with a GPU"; exit 0; }
python3 -c 'import torch; print("# PyTorch", torch.__version__, torch.cuda.get_device_name())'

# Runs a program with --modules; the report is DIR/report.json, the output DIR.out.
modules() { # DIR DEPTH COMMAND…
	local dir=$1 depth=$2
	shift 2
	rm -rf "$dir"
	"$SONDE" run -q counters=off report.labels=raw --modules="$depth" -o "$dir" -- "$@" >"$dir.out" 2>"$dir.err" || {
		tail -5 "$dir.err"
		return 1
	}
}

# --- what it costs -----------------------------------------------------------------------------------
turns() {
	for kind in decode train; do
		most=$([ $kind = decode ] && echo 1.06 || echo 1.02)
		modules "$T/turns_$kind" auto python3 $P turns $kind
		check "by_turns_${kind}_is_at_most_$most" python3 $C turns "$most" "$T/turns_$kind.out"
		grep -h 'leaf modules' "$T/turns_$kind.err" "$T/turns_$kind/report.md" | head -1 | sed 's/^/# /'
		modules "$T/turns_all" all python3 $P turns $kind
		echo "# with all modules:" && python3 $C turns 9 "$T/turns_all.out"
	done
}

# --- torch.compile -----------------------------------------------------------------------------------
compile() {
	for mode in default reduce-overhead; do
		python3 $P compile $mode 2>"$T/err" | grep '^compile' >"$T/without"
		modules "$T/compile" all python3 $P compile $mode
		grep '^compile' "$T/compile.out" >"$T/with"
		check "compile_${mode}_is_as_without" cmp "$T/without" "$T/with"
		sed 's/^/# /' "$T/with"
		check "compile_${mode}_breaks_nothing_and_compiles_once" grep -q '"graph_break": 0, "recompiles": 0' "$T/with"
		check "compile_${mode}_has_its_kernels_at_the_compiled_region" python3 $C inside "$T/compile/report.json" 0.99 OptimizedModule
	done
}

# --- trees -------------------------------------------------------------------------------------------
tree() {
	"$SONDE" run -q counters=off report.labels=raw -o "$T/ranges" -- python3 $P tree --ranges >"$T/ranges.out" 2>"$T/err"
	modules "$T/tree" all python3 $P tree
	check "the_tree_is_that_of_the_annotated_program" python3 $C same "$T/ranges/report.json" "$T/tree/report.json"
	# Programs of ours: without their ranges, and with.
	cat >"$T/bare.py" <<'PY'
import runpy, sys, torch
class range_:
    def __init__(self, *a): pass
    def __enter__(self): pass
    def __exit__(self, *a): pass
torch.cuda.nvtx.range = range_
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
PY
	for w in "decode:torch_decode.py --steps 100:layer0=layers.0 layer3=layers.3 lm_head=head" \
		"train:torch_train.py --steps 20:layer0=layers.0 layer1=layers.1 backward=backward optimizer=AdamW.step" \
		"graph:torch_decode.py --steps 100 --graph:layer0=layers.0 layer3=layers.3 lm_head=head"; do
		IFS=: read -r name words pairs <<<"$w"
		# shellcheck disable=SC2086
		modules "$T/bare_$name" all python3 "$T/bare.py" workloads/$words
		check "${name}_has_99_percent_of_its_launches_in_regions" python3 $C inside "$T/bare_$name/report.json" 0.99
		# shellcheck disable=SC2086
		"$SONDE" run -q counters=off report.labels=raw -o "$T/own_$name" -- python3 workloads/$words >"$T/own.out" 2>"$T/err"
		# shellcheck disable=SC2086
		check "${name}_has_the_launches_of_the_annotated_one" python3 $C twins "$T/own_$name/report.json" "$T/bare_$name/report.json" $pairs
	done
}

# --- the allocator -----------------------------------------------------------------------------------
memory() {
	python3 $P truth "$T/truth.json" >"$T/out" 2>&1 || cat "$T/out"
	modules "$T/memory" all python3 $P memory "$T/seen.json"
	check "the_allocator_has_what_the_program_sees" python3 $C holds "$T/memory/report.json" "$T/seen.json" "$T/truth.json"
	grep -h 'allocator was read' "$T/memory/report.md" | head -1 | sed 's/^/# /'
	python3 $P reading | sed 's/^/# /'
}

# --- programs as people have them --------------------------------------------------------------------
alike() { # NAME PERCENT: the program says the same with and without, and so many of its launches are in regions
	if ! timeout 120 python3 $P "$1" >"$T/without" 2>"$T/err"; then
		echo "skip modules_gpu__$1: it does not run here: $(tail -1 "$T/err")"
		return
	fi
	modules "$T/$1" auto python3 $P "$1"
	check "$1_says_the_same" diff "$T/without" <(head -n "$(wc -l <"$T/without")" "$T/$1.out") # sonde's report follows
	tail -1 "$T/without" | sed 's/^/# /'
	check "$1_has_$2_percent_of_its_launches_in_regions" python3 $C inside "$T/$1/report.json" "0.$2"
}
shows() { # NAME REGION…
	local name=$1 region
	shift
	for region; do
		check "${name}_has_the_region_$region" grep -q "\"name\": *\"$region\"" "$T/$name/report.json"
	done
}
ddp() {
	alike ddp 99
	shows ddp step DistributedDataParallel backward AdamW.step all_reduce
	alike fsdp 99
	[ ! -e "$T/fsdp" ] || shows fsdp step backward AdamW.step
}
loop() {
	alike loop 95 # what follows the model in an evaluation is in no module
	shows loop step DataLoader Classifier body head backward AdamW.step CrossEntropyLoss
}

# --- files of PyTorch --------------------------------------------------------------------------------
snapshot() {
	python3 $P snapshot "$T/real.pickle" >"$T/out" 2>&1 || cat "$T/out"
	"$SONDE" report "$T/real.pickle" -f json -o "$T/real.json" >"$T/out" 2>&1 || cat "$T/out"
	check "a_real_snapshot_has_what_python_reads" python3 tests/cli/snapshot_truth.py check "$T/real.pickle" "$T/real.json"
	"$SONDE" report "$T/real.pickle" 2>/dev/null | head -12 | sed 's/^/# /'
	[ -z "${OUT:-}" ] || gzip -9 -c "$T/real.pickle" >"$OUT/h200_train.pickle.gz"
}
trace() {
	python3 $P trace "$T/stacks.json" >"$T/out" 2>&1 || cat "$T/out"
	check "a_trace_with_stacks_has_its_modules" python3 tests/kineto/modules.py "$SONDE" "$T/stacks.json"
	python3 $P trace "$T/graph.json" graph >"$T/out" 2>&1 || cat "$T/out"
	for f in stacks graph; do "$SONDE" report "$T/$f.json" -f json -o "$T/$f.report.json" 2>"$T/out" || cat "$T/out"; done
	check "a_graph_captured_in_the_trace_has_its_modules" python3 tests/kineto/layers.py "$T/stacks.report.json" "$T/graph.report.json"
	"$SONDE" report "$T/graph.json" 2>&1 | head -20 | sed 's/^/# /'
	[ -z "${OUT:-}" ] || for f in stacks graph; do gzip -9 -c "$T/$f.json" >"$OUT/h200_$f.json.gz"; done
}
hostile() {
	timeout 400 python3 tests/modules/hostile.py "$BUILD" "$T/hostile" --real >"$T/hostile.out" 2>&1
	grep -v '^ok' "$T/hostile.out" | cut -c1-2000
	[ "$(grep -c '^ok' "$T/hostile.out")" -ge 40 ] || echo "not ok all of them ran" >>"$T/hostile.out"
	check "hostile_programs_with_the_real_pytorch" test "$(grep -c '^not ok' "$T/hostile.out")" = 0
}

for part in ${PARTS:-turns compile tree memory ddp loop snapshot trace hostile}; do
	SECONDS=0
	echo "== $part"
	case $part in
	turns) turns ;;
	compile) compile ;;
	tree) tree ;;
	memory) memory ;;
	ddp) ddp ;;
	loop) loop ;;
	snapshot) snapshot ;;
	trace) trace ;;
	hostile) hostile ;;
	*) check "there_is_a_part_$part" false ;;
	esac
	echo "# $part: $SECONDS s"
done
[ "$failed" = 0 ] && echo "modules_gpu: all ok"
exit $failed
