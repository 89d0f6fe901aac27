#!/usr/bin/env bash
# In a directory with llm-perf-opt's own configuration tree: its commands work with `sonde run` in place of its runner, its
# manual test works unchanged, and its presets are composed as by Hydra. Uses a fake ncu, or the real one on a machine with a
# GPU (REAL_NCU=1).
. "$(dirname "$0")/../lib.sh"
if [ -n "${REAL_NCU:-}" ]; then export PATH="$PATH:/usr/local/cuda/bin"; else export PATH="$PWD/tests/standin:$PATH" SONDE_INJECT_LIB=/nonexistent; fi
root=$PWD theirs=$PWD/tests/data/llm-perf-opt
here=$TMP/repository
mkdir "$here" && cp -r "$theirs/conf" "$here/conf" && cd "$here" || exit 1

# The commands of its quickstart, unchanged.
awk '/^```bash/ {in_it = 1; next} /^```/ {if (in_it) print ""; in_it = 0} in_it' "$theirs/specs/003-nvtx-ncu-profiling/quickstart.md" |
	sed 's/pixi run python -m llm_perf_opt.runners.deep_profile_runner/"$SONDE" run/' >"$TMP/commands"
ok "their quickstart has five commands" [ "$(grep -c 'SONDE. run' "$TMP/commands")" = 5 ]
try() { # NUMBER PROGRAM…: a command of theirs, around a program that has what it selects (none: the bundled network, which has not)
	local n=$1 f files="config.yaml env.json inputs.yaml report.md ncu/cmd.txt ncu/regions/report.json ncu/regions/report.md" what="quickstart command $1${2:+ with such ranges}"
	shift
	rm -rf tmp
	bash -c "$(sed -n "${n}p" "$TMP/lines" | tr '\f' '\n')${1:+ -- $*}" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
	[ $rc -eq 0 ] || tail -8 "$TMP/err"
	dir=$(echo tmp/profile-output/[0-9]*)
	ok "$what ends well" [ $rc -eq 0 ]
	# Where nothing is selected the real ncu writes no file.
	[ -n "${REAL_NCU:-}" ] && { [ $# -eq 0 ] || [ "$n" = 4 ]; } || files="$files ncu/raw.csv ncu/sections_report.txt ncu/*.ncu-rep"
	for f in $files; do ok "$what writes $f" [ -s "$(echo "$dir"/$f)" ]; done
	ok "$what has the heading they look for" grep -q '^# NCU Region Reports' "$dir/ncu/regions/report.md"
	ok "$what has a valid report" "$SONDE" validate "$dir/ncu/regions/report.json"
}
awk 'BEGIN {RS = ""; FS = "\n"} {gsub(/\n/, "\f"); print}' "$TMP/commands" >"$TMP/lines"
for n in 1 2 3 4 5; do try $n; done
if [ -n "${REAL_NCU:-}" ]; then
	cat >"$TMP/llm" <<-'P'
		#!/usr/bin/env python3
		import torch, triton
		import triton.language as tl

		@triton.jit
		def matmul_row(x, y, n: tl.constexpr):
		    i = tl.arange(0, n)
		    tl.store(y + i, tl.load(x + i) * 2)

		x, y = torch.ones(1024, device="cuda"), torch.empty(1024, device="cuda")
		matmul_row[(1,)](x, y, 1024)
		torch.cuda.synchronize()
		for phase in "prefill", "decode", "LLM@layer":
		    with torch.cuda.nvtx.range(phase):
		        matmul_row[(1,)](x, y, 1024)
	P
	chmod +x "$TMP/llm"
	for n in 1 2 3 4 5; do try $n "$TMP/llm"; done
fi

# Their manual test, as it is: the shim's runner is sonde.
cat >"$TMP/abc.py" <<-'P'
	import torch
	x = torch.randn(1024, 1024, device="cuda")
	with torch.cuda.nvtx.range("A"):
	    y = x @ x
	    with torch.cuda.nvtx.range("A::A1"):
	        y = y.relu()
	with torch.cuda.nvtx.range("B"):
	    print(y.sum().item())
P
program=/bin/true
[ -z "${REAL_NCU:-}" ] || program="python3 $TMP/abc.py"
manual() {
	PYTHONPATH=$theirs/shim SHIM_PROGRAM=$program python3 "$theirs/tests/manual/ncu/manual_nvtx_regions.py" --run-dir "$TMP/manual" >"$TMP/out" 2>"$TMP/err" || { tail -8 "$TMP/err" && return 1; }
	grep -q "^OK: Regions materialized under .*\['A', 'B', 'A__A1'\]" "$TMP/out"
}
if command -v python3 >/dev/null; then
	ok "their manual test of regions passes" manual
	ok "its regions are in the contract's form" python3 -c 'import json, sys
regions = json.load(open(sys.argv[1]))["aggregate"]["regions"]
assert [r["name"] for r in regions] == ["A", "A::A1", "B"] and all(r["total_ms"] > 0 for r in regions)' "$TMP/manual/ncu/regions/report.json"
else
	skip "their manual test of regions passes" "python3 is not installed"
fi

[ -z "${REAL_NCU:-}" ] || exit 0 # what follows has nothing to do with ncu

composed() { # every case of their tree, by the composer alone
	gunzip -c "$theirs/compose.json.gz" >"$TMP/compose.json" &&
		"$root/$BUILD/tests/hydra_cases" --configs "$root/tests/data" "$TMP/compose.json" | tail -1 | grep -qx '148 passed, 0 failed'
}
ok "their presets compose to what Hydra gives, in every combination" composed
composes() { # sonde's own keys and defaults beside theirs: what they set is what they get
	local preset
	for preset in ncu.default ncu.high ncu.rtx3090 ncu.rtx3090.compute ncu.rtx3090.memory; do
		"$SONDE" config profiling/ncu@pipeline.ncu=$preset -p pipeline.ncu.description 2>/dev/null | grep -q 'Nsight Compute' || return
	done
	[ "$("$SONDE" config -p pipeline.torch_profiler.enable --resolve 2>/dev/null)" = True ] || [ "$("$SONDE" config -p pipeline.torch_profiler.enable --resolve 2>/dev/null)" = true ]
}
ok "sonde config composes their tree" composes
unused_keys() { "$SONDE" config 2>&1 >/dev/null; }
ok "sonde config says which keys it does not use" \
	output_has 'kept for other programs: .*pipeline.torch_profiler, pipeline.direct_inference, pipeline.static_analysis, dataset, experiment, use_flash_attn$' unused_keys
misspelt() { # IN WRONG RIGHT
	cp -r conf "$TMP/wrong" && sed -i "s/$2/$1/" "$TMP/wrong/config.yaml" && ! "$SONDE" config --config-dir "$TMP/wrong" >"$TMP/out" 2>"$TMP/err"
	local rc=$?
	rm -r "$TMP/wrong"
	[ $rc -eq 0 ] && grep -qF "did you mean 'pipeline.ncu.gating_nvtx'" "$TMP/err"
}
ok "a misspelt key of a stage that sonde has is still an error" misspelt gating_nvxt gating_nvtx

# Commands that read files do not look at ./conf, be it broken.
printf 'defaults: [nothing/here]\npipeline: 3\n' >"$TMP/broken.yaml"
reads() (
	data=$root/tests/data/ncu dir=$TMP/broken
	mkdir -p "$dir/conf/profiling" && cp "$TMP/broken.yaml" "$dir/conf/config.yaml" && cd "$dir" || return
	"$SONDE" report -f json "$data/seed_kernel.ncu-rep" >"$TMP/a.json" 2>"$TMP/err" && [ ! -s "$TMP/err" ] && "$SONDE" validate "$TMP/a.json" &&
		"$SONDE" top "$data/seed_kernel.ncu-rep" && "$SONDE" diff "$data/seed_kernel.ncu-rep" "$data/seed_kernel.ncu-rep" && { "$SONDE" doctor || [ $? -eq 1 ]; }
)
ok "report, top, diff, validate and doctor do not compose ./conf" reads

# Their workload, a Hydra program of its own, gets what is meant for it.
mkdir -p "$TMP/modules/pkg" && : >"$TMP/modules/pkg/__init__.py" && echo 'import sys; print("module", *sys.argv[1:])' >"$TMP/modules/pkg/runner.py"
handed_on() {
	PYTHONPATH=$TMP/modules "$SONDE" run hydra.run.dir="$TMP/module" pipeline.ncu.enable=true pipeline.workload.module=pkg.runner \
		dataset.sampling.num_epochs=2 device=cuda:0 pipeline.static_analysis.enable=false >"$TMP/out" 2>"$TMP/err" &&
		grep -qx "module dataset.sampling.num_epochs=2 device=cuda:0 pipeline.static_analysis.enable=false pipeline.torch_profiler.enable=false hydra.run.dir=$TMP/module/workload" "$TMP/out"
}
ok "a workload module gets its overrides, its profiler off and a directory of its own" handed_on
