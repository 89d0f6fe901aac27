#!/usr/bin/env bash
# Real programs on a real GPU: training with backward on autograd's thread, a decode loop replayed from a
# CUDA graph and the same loop run eagerly, and backward under emit_nvtx.
#
#   make gpu-programs                      on any machine; copy build/gpu to the one with the GPU
#   tests/gpu/real_gpu.sh build/gpu        on the machine with the GPU and PyTorch (about 2 minutes)
#
# Prints one `ok`, `not ok` or `skip` line per check, with figures behind `#`. $KEEP: a folder for the runs.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
SONDE=$PWD/$BUILD/sonde
export LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"
failed=0

if ! nvidia-smi -L >/dev/null 2>&1 || ! python3 -c 'import torch' 2>/dev/null; then
	echo "skip real_gpu: no GPU or no PyTorch here"
	exit 0
fi

capture() { # NAME PROGRAM… → $T/NAME.json
	local name=$1
	shift
	if ! "$SONDE" run -q counters=off "hydra.run.dir=$T/$name" -- "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null; then
		tail -5 "$T/$name.err" | sed 's/^/#   /'
	fi
	"$SONDE" report "$T/$name/native" -f json >"$T/$name.json" 2>>"$T/$name.err"
	"$SONDE" validate "$T/$name.json" >>"$T/$name.err" 2>&1 || echo "#   $name: report.json does not validate: $(tail -1 "$T/$name.err")"
}

judge() { # NAME-OF-CHECK PYTHON: `load(name)` gives a report; print figures, assert what must hold
	if python3 - "$T" "$2" <<'END'; then echo "ok $1"; else
import json, sys
class Report:
    def __init__(self, name):
        self.doc = json.load(open(f"{sys.argv[1]}/{name}.json"))
        agg = self.doc["aggregate"]
        if "regions" not in agg: # an aggregate of one scope may refer to it
            agg = self.doc["scopes"][0]
        self.regions = {r["id"]: r for r in agg["regions"]}
        self.coverage = self.doc["coverage"]
    def share(self):
        return self.coverage["launches_attributed"] / self.coverage["launches_total"]
load = Report
say = lambda *a: print("#  ", *a)
exec(sys.argv[2])
END
		echo "not ok $1"
		failed=$((failed + 1))
	fi
}

capture train python3 workloads/torch_train.py --steps 10
judge "training: at least 99 % of the launches are in regions, backward below step" '
r = load("train"); say("coverage", r.coverage)
say({k: (v["kernel_count"], round(v["total_ms"], 3)) for k, v in r.regions.items() if v["depth"] < 2})
assert r.share() >= 0.99, r.share()
assert r.regions["step/backward"]["kernel_count"] > 200, r.regions["step/backward"]["kernel_count"]'

capture eager python3 workloads/torch_decode.py --steps 100
capture graph python3 workloads/torch_decode.py --steps 100 --graph
judge "a graph: kernels stand where they were captured, as many as without the graph, times within 15 %" '
e, g = load("eager"), load("graph"); worst = 0
parts = [k for k in e.regions if k.startswith("decode/step/layer") and k.count("/") == 3]
assert len(parts) == 8, sorted(e.regions)
for k in parts:
    a, b = e.regions[k], g.regions[k]
    worst = max(worst, abs(b["total_ms"] / a["total_ms"] - 1))
    assert a["kernel_count"] == b["kernel_count"], (k, a["kernel_count"], b["kernel_count"])
    assert b["kind"] == "graph", b["kind"]
say("eager", round(e.regions["decode/step"]["total_ms"], 3), "graph", round(g.regions["decode/step"]["total_ms"], 3), "worst", round(worst, 3))
assert worst <= 0.15, worst'

capture emit python3 workloads/torch_train.py --steps 10 --emit-nvtx
judge "emit_nvtx: backward hangs below, per layer" '
r = load("emit"); say("regions", len(r.regions), "coverage", r.share())
back = [k for k, v in r.regions.items() if v["kind"] == "backward"]
say(len(back), "backward regions, e.g.", back[:6])
assert any("layer0" in k and "mlp" in k for k in back) and any("layer1" in k and "attn" in k for k in back)
assert r.share() >= 0.99 and len(r.regions) < 1500, (r.share(), len(r.regions))'

"$SONDE" report "$T/train/native" 2>/dev/null | head -40 | sed 's/^/#   /'
exit $((failed > 0))
