#!/usr/bin/env bash
# Another user of CUPTI in the process, on a real GPU: torch.profiler or Triton's Proton starts in the middle of a
# native capture. The report must have all ranges, and every launch; if launches are missing it must name the tool that took them.
#
#   tests/gpu/rivals_gpu.sh build/gpu           (about a minute; needs PyTorch)
#
# Prints one `ok`, `not ok` or `skip` line per check, with the report's notes behind `#`. $KEEP: a folder for the runs.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
SONDE=$PWD/$BUILD/sonde T=${KEEP:-$(mktemp -d)} failed=0
mkdir -p "$T"
if ! nvidia-smi -L >/dev/null 2>&1 || ! python3 -c 'import torch' 2>/dev/null; then
	echo "skip rivals_gpu: no GPU or no PyTorch here"
	exit 0
fi
cat >"$T/loop.py" <<'P'
import contextlib, sys, time, torch
def profiler():
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA])
@contextlib.contextmanager
def proton():
    import triton.profiler
    try:
        triton.profiler.start("proton_out")
    except Exception as e: # it does not go on without CUPTI
        print("refused:", str(e).splitlines()[0])
        yield
        return
    yield
    triton.profiler.finalize()
a = torch.randn(512, 512, device="cuda")
def steps(nr):
    for _ in range(nr):
        torch.cuda.nvtx.range_push("step")
        for _ in range(4):
            b = a @ a
        torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()
        time.sleep(0.01)
steps(200)
with {"none": contextlib.nullcontext, "profiler": profiler, "proton": proton}[sys.argv[1]]():
    steps(1500) # 20 collections of records without one: 10 s
steps(200)
print("done")
P
check() { # NAME COMMAND…
	local name=$1
	shift
	if "$@" >>"$T/check.log" 2>&1; then echo "ok $name"; else
		echo "not ok $name"
		failed=$((failed + 1))
	fi
}
try() { # NAME [WHO]
	local dir=$T/$1
	rm -rf "$dir"
	(cd "$T" && "$SONDE" run hydra.run.dir="$dir" counters=off -- python3 "$T/loop.py" "$1") >"$T/$1.out" 2>"$T/$1.err"
	check "$1: the program ends well" grep -qx "done" "$T/$1.out"
	"$SONDE" report "$dir" -f json >"$T/$1.json" 2>>"$T/$1.err"
	check "$1: nothing is lost in silence" python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
step = {g["id"]: g for g in r["aggregate"]["regions"]}["step"]
assert step["instances"] == 1900
alone = {g["id"]: g for g in json.load(open(sys.argv[3]))["aggregate"]["regions"]}["step"]
assert step["kernel_count"] == alone["kernel_count"] or any(sys.argv[2] in n for n in r["notes"])' "$T/$1.json" "${2:-nobody}" "$T/none.json"
	grep -i cupti "$T/$1.err" | sed 's/^/#   /'
	grep -qx "done" "$T/$1.out" || tail -n 3 "$T/$1.err" | sed 's/^/#   /'
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print("#", sys.argv[2], [(g["id"], g["instances"], g["kernel_count"]) for g in r["aggregate"]["regions"]], *r["notes"], sep="\n#   ")' "$T/$1.json" "$1"
}
try none
try profiler torch.profiler
if python3 -c 'import triton.profiler' 2>/dev/null; then
	try proton Proton
else
	echo "skip proton: Triton has no profiler here"
fi
exit $((failed > 0))
