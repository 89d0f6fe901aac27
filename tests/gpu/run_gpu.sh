#!/usr/bin/env bash
# `sonde run` on a real GPU: SC-001 … SC-005 on the three-range program and the residual network, a
# PyTorch transformer in three replay modes, two ranks, and the cost of region mode compared with plain ncu.
#
#   make STATIC=1 BUILD=build/gpu all workloads     on any machine; copy build/gpu to the one with the GPU
#   tests/gpu/run_gpu.sh build/gpu                  on the machine with the GPU (about 5 minutes)
#
# Prints one `ok`, `not ok` or `skip` line per check, with figures behind `#`. $KEEP: a folder for the runs.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
export SONDE=$PWD/$BUILD/sonde PATH="$PATH:/usr/local/cuda/bin" LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"
three=$PWD/$BUILD/workloads/three_ranges
NCU="pipeline.ncu.enable=true pipeline.ncu.ncu_cli.export.csv=false pipeline.ncu.ncu_cli.clock_control=none"
M=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,dram__throughput.avg.pct_of_peak_sustained_elapsed
PLAIN="$NCU pipeline.ncu.ncu_cli.set=null pipeline.ncu.ncu_cli.sections=[]"
failed=0 n=0

if ! nvidia-smi -L >/dev/null 2>&1 || ! command -v ncu >/dev/null; then
	echo "skip run_gpu: no GPU or no ncu here"
	exit 0
fi
check() { # NAME COMMAND…
	local name=$1
	shift
	if "$@"; then echo "ok $name"; else
		echo "not ok $name"
		failed=$((failed + 1))
		sed 's/^/#   /' "$T/err" | tail -12
	fi
}
run() { # ARGS…: $dir, $rc, seconds in $took
	n=$((n + 1)) dir=$T/run$n
	local begin=$EPOCHREALTIME
	"$SONDE" run "hydra.run.dir=$dir" "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	took=$(echo "$EPOCHREALTIME - $begin" | bc -l 2>/dev/null || python3 -c "print($EPOCHREALTIME-$begin)")
}
judge() { # PYTHON over d (the report), agg, ids, byid; true when it prints nothing false
	python3 - "$1" "$2" <<'END' 2>>"$T/err"
import json, sys
d = json.load(open(sys.argv[1]))
agg = d["aggregate"] or {"regions": []}
ids = [r["id"] for r in agg["regions"]]
byid = {r["id"]: r for r in agg["regions"]}
near = lambda a, b: abs(a - b) <= 0.01 * max(abs(a), abs(b), 1e-12)
sys.exit(0 if eval(sys.argv[2]) else (print("judged false:", sys.argv[2], ids, file=sys.stderr) or 1))
END
}
json() { echo "$dir/ncu/regions/report.json"; }
quiet() { "$@" >/dev/null; }
says() { grep -qF -e "$1" "$T/err"; }

"$SONDE" doctor >"$T/doctor" 2>&1
check "doctor: this machine can be profiled" [ $? -eq 0 ]
sed 's/^/#   /' "$T/doctor" | grep -v remedy

# --- three ranges, kernel replay
run $PLAIN "pipeline.ncu.ncu_cli.metrics=[$M]" -- "$three" 3
cp "$T/err" "$T/err.three" && three_dir=$dir
check "three ranges: the run ends well" [ $rc -eq 0 ]
check "three ranges: one capture" [ "$(ls "$dir"/ncu/*.ncu-rep | wc -l)" -eq 1 ]
check "SC-001 distinct sections for A, A::A1 and B" judge "$(json)" "ids == ['A', 'A/A::A1', 'B']"
check "SC-001 every configured metric is filled" judge "$(json)" "all(r['metrics'][m] is not None for r in agg['regions'] for m in '$M'.split(','))"
check "SC-001 no kernel from outside" judge "$(json)" "[byid[i]['kernel_count'] for i in ids] == [42, 21, 21] and not any('fill' in k['kernel_name'] for r in agg['regions'] for k in r['kernels'])"
check "SC-004 inclusive = exclusive + children within 1 %" judge "$(json)" "near(byid['A']['total_ms'], byid['A']['exclusive']['total_ms'] + byid['A/A::A1']['total_ms']) and near(agg['totals']['total_ms'], byid['A']['total_ms'] + byid['B']['total_ms'])"
check "three ranges: report.json is valid" quiet "$SONDE" validate "$(json)"
echo "# three ranges, 66 kernels, 3 metrics: $took s; $(grep -o 'plan.*\|passes.*' "$T/err.three" | tr '\n' ' ')"

# --- SC-002, SC-003
run $NCU pipeline.ncu.ncu_cli.set=null "pipeline.ncu.ncu_cli.sections=[Occupancy]" \
	"pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum,dram__bytes_read.sum]" -- "$three" 1
check "SC-002 the report holds the chosen groups, no other" judge "$(json)" "all({'gpu__time_duration.sum', 'dram__bytes_read.sum'} <= set(r['metrics']) and list(r['sections']) == ['Occupancy'] and not any('throughput' in m for m in r['metrics']) for r in agg['regions'])"
run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" "pipeline.ncu.ncu_cli.nvtx.include=[A]" -- "$three" 1
check "US1 only the chosen range is collected" judge "$(json)" "ids == ['A', 'A/A::A1'] and d['coverage']['launches_total'] == 14"
run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" 'capture.window=A[1:3]' -- "$three" 5
check "a window is two entries, by ncu too" judge "$(json)" "ids == ['A', 'A/A::A1'] and d['coverage']['launches_total'] == 28"
run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" pipeline.ncu.ncu_cli.kernel_name=axpy \
	pipeline.ncu.ncu_cli.kernel_name_base=function -- "$three" 1
check "SC-003 include: only that kernel is collected" judge "$(json)" "d['coverage']['launches_total'] == 12 and byid['A']['kernel_count'] == 7"
"$SONDE" report "$three_dir" --kernel-include '*axpy*' --kernel-include '*scale*' --kernel-exclude '*scale*' -f json >"$T/sel.json" 2>"$T/err"
check "SC-003 include and exclude: listing and metrics are the subset" judge "$T/sel.json" "byid['A']['kernel_count'] == 21 and all(len(r['kernels']) == 1 and near(r['total_ms'], r['kernels'][0]['total_ms']) for r in agg['regions'])"

# --- range replay: one capture per level
run $PLAIN pipeline.ncu.ncu_cli.replay_mode=range "pipeline.ncu.ncu_cli.metrics=[$M]" \
	"pipeline.ncu.ncu_cli.nvtx.include=[A,'A::A1',B]" -- "$three" 1
check "range replay: two levels, two captures for three regions" [ "$(ls "$dir"/ncu/range.level*.ncu-rep 2>/dev/null | wc -l)" -eq 2 ]
check "range replay: every region has its figures" judge "$(json)" "{'A', 'A/A::A1', 'B'} <= set(ids)"

# --- the residual network, as configured
run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" infer.steps=1 infer.warmup_steps=0
check "residual network: runs without a command" [ $rc -eq 0 ]
check "residual network: stem, residual with its convolutions, head" judge "$(json)" "ids == ['stem', 'residual', 'residual/block.conv1', 'residual/block.conv2', 'head']"
check "residual network: SC-004 reconciles" judge "$(json)" "near(byid['residual']['total_ms'], byid['residual']['exclusive']['total_ms'] + byid['residual/block.conv1']['total_ms'] + byid['residual/block.conv2']['total_ms'])"
run infer.steps=2
check "residual network: native capture by default" judge "$dir/native/regions/report.json" "'residual/block.conv1' in ids and byid['residual']['total_ms'] > 0"

# --- never silently empty
run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" "pipeline.ncu.ncu_cli.nvtx.include=['a/']" -- "$three" 1
check "nothing matched: succeeds, says so, lists the real ranges" [ $rc -eq 0 -a -n "$(grep 'no kernel was profiled' "$T/err")" -a -n "$(grep 'A/A::A1' "$T/err")" ]
check "nothing matched: suggests the right one" says "instead of 'a/' try"
run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duraton.sum]" -- "$three" 1
check "metric typo: refused before the run, with the near name" [ $rc -eq 2 -a -n "$(grep "did you mean 'gpu__time_duration" "$T/err")" ]
run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" -- /bin/sh -c "$three 1; exit 7"
check "program that fails: its status, and its report" [ $rc -eq 7 -a -s "$(json)" ]

# --- PyTorch
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	py="python3 workloads/torch_small.py 2 2"
	run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" -- $py
	check "PyTorch, kernel replay: the full tree" judge "$(json)" "{'prefill/layer0/attn', 'prefill/layer1/mlp', 'decode/layer0/attn', 'decode/layer1/mlp'} <= set(ids) and byid['decode']['instances'] == 2"
	check "PyTorch, kernel replay: one capture" [ "$(ls "$dir"/ncu/*.ncu-rep | wc -l)" -eq 1 ]
	echo "# PyTorch, kernel replay: $took s, $(grep -o 'ncu: .*' "$T/err" | tail -1)"
	run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" pipeline.ncu.ncu_cli.replay_mode=range \
		"pipeline.ncu.ncu_cli.nvtx.include=[prefill,decode]" -- $py
	check "PyTorch, range replay: falls back by itself" [ $rc -eq 0 -a -s "$dir/ncu/kernel.ncu-rep" ]
	check "PyTorch, range replay: names the API" grep -q 'calls cu' "$T/err"
	echo "# $(grep -o 'range replay cannot.*' "$T/err" | head -1); $took s"
	run $PLAIN "pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" pipeline.ncu.ncu_cli.replay_mode=app-range \
		"pipeline.ncu.ncu_cli.nvtx.include=[prefill,decode]" -- $py
	check "PyTorch, app-range: works" [ $rc -eq 0 -a -s "$dir/ncu/app-range.level0.ncu-rep" -a ! -e "$dir/ncu/kernel.ncu-rep" ]
	check "PyTorch, app-range: both regions" judge "$(json)" "{'prefill', 'decode'} <= set(ids)"
	echo "# PyTorch, app-range: $took s"
else
	echo "skip PyTorch: no torch with a GPU here"
fi

# --- two ranks
if command -v mpirun >/dev/null; then
	mpirun --allow-run-as-root --oversubscribe -n 2 "$SONDE" run "hydra.run.dir=$T/ranks" $PLAIN \
		"pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]" -- "$three" 1 >"$T/out" 2>"$T/err" </dev/null
	check "two ranks: both reports" [ "$(ls "$T"/ranks/ncu/kernel.rank[01].ncu-rep 2>/dev/null | wc -l)" -eq 2 ]
	"$SONDE" report "$T/ranks" -f json >"$T/ranks.json" 2>>"$T/err"
	check "SC-005 two scopes and the aggregate" judge "$T/ranks.json" "len(d['scopes']) == 2 and byid['A']['kernel_count'] == 28"
	"$SONDE" report "$T/ranks" --no-aggregate -f json >"$T/ranks2.json" 2>>"$T/err"
	check "SC-005 without the aggregate only it is gone" judge "$T/ranks2.json" "d['aggregate'] is None and len(d['scopes']) == 2"
else
	echo "skip SC-005 two ranks: no mpirun here"
fi

# --- what region mode costs: the same command, plain and by sonde, in turns
times_plain=() times_sonde=()
for i in 1 2 3; do
	a=$EPOCHREALTIME
	ncu -f -o "$T/plain$i" --log-file "$T/plain$i.log" --target-processes all --replay-mode kernel \
		--clock-control none --import-sass no --nvtx --metrics "$M" "$three" 3 >/dev/null 2>&1
	b=$EPOCHREALTIME
	run -q $PLAIN "pipeline.ncu.ncu_cli.metrics=[$M]" -- "$three" 3
	times_plain+=("$(python3 -c "print($b-$a)")") times_sonde+=("$took")
done
python3 - "${times_plain[@]}" "${times_sonde[@]}" <<'END' >"$T/ratio"
import statistics, sys
v = [float(x) for x in sys.argv[1:]]
p, s = statistics.median(v[:3]), statistics.median(v[3:])
print(f"{s / p:.3f} {p:.2f} {s:.2f}")
END
read -r ratio plain sonde <"$T/ratio"
echo "# region mode: plain ncu $plain s, sonde run $sonde s (report included), ratio $ratio; all: ${times_plain[*]} | ${times_sonde[*]}"
check "region mode costs at most 5 % over plain ncu" python3 -c "import sys; sys.exit(not $ratio <= 1.05)"

[ -n "${KEEP:-}" ] || rm -rf "$T"
[ $failed -eq 0 ] && echo "# all good" || echo "# $failed failed"
exit $((failed > 0))
