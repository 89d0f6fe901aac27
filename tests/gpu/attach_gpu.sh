#!/usr/bin/env bash
# An attach to a running loop has the shares of the whole run, within 2 points. About a minute.
#
#   make gpu-programs                      anywhere; build/gpu travels
#   tests/gpu/attach_gpu.sh build/gpu      on the machine with the GPU
#   tests/gpu/attach_gpu.sh BUILD COMMAND… another program, which goes on until SIGTERM
#
# One `ok` or `not ok` line per region, figures behind `#`. $KEEP: a folder for the runs; $OVERRIDES: words for both; $FOR: how long an attach is (5s).
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
shift
SONDE=${SONDE:-$PWD/$BUILD/sonde}
export LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"
if [ $# = 0 ]; then
	set -- python3 workloads/torch_decode.py --seconds 60
	if ! nvidia-smi -L >/dev/null 2>&1; then
		echo "skip attach_gpu: no GPU here"
		exit 0
	fi
fi

# shellcheck disable=SC2086
"$SONDE" run -q ${OVERRIDES:-} -o "$T/whole" -- timeout -s TERM "${WHOLE:-20}" "$@" >"$T/out" 2>"$T/err" </dev/null
(eval "$("$SONDE" env)" && exec "$@" >"$T/asleep.out" 2>&1 </dev/null) &
pid=$!
for _ in $(seq 300); do
	"$SONDE" attach 2>/dev/null | grep -q "^ *$pid " && break
	sleep 0.1
done
sleep "${WARM:-5}" # the first steps are others
for i in 1 2; do
	# shellcheck disable=SC2086
	"$SONDE" attach $pid -q --for "${FOR:-5s}" ${OVERRIDES:-} -o "$T/attach$i" >>"$T/out" 2>>"$T/err" || {
		tail -5 "$T/err"
		echo "not ok attach $i"
	}
done
kill $pid
wait $pid
for i in 1 2; do
	python3 - "$T/whole/report.json" "$T/attach$i/report.json" "$i" <<'END'
import json, sys

whole, part = ({g["id"]: g for g in json.load(open(p))["aggregate"]["regions"]} for p in sys.argv[1:3])
nr = sys.argv[3]

def twin(name):
    """The region of the whole run: the attach has not seen the ranges around it."""
    return min((w for w in whole if w == name or w.endswith("/" + name)), key=len, default=None)

root = max((g for g in part if "/" not in g and twin(g)), key=lambda g: part[g]["total_ms"], default=None)
if not root:
    print("not ok attach", nr, "has a region of the run")
    sys.exit(1)
for name in part:
    if not name.startswith(root + "/") or not twin(name):
        continue
    got, want = 100 * part[name]["total_ms"] / part[root]["total_ms"], 100 * whole[twin(name)]["total_ms"] / whole[twin(root)]["total_ms"]
    print("ok" if abs(got - want) <= 2 else "not ok", "attach", nr, name, f"# {got:.2f} %, of the run {want:.2f} %")
END
done
