#!/usr/bin/env bash
# Compares the causes of idle time that sonde reports with those that the program itself measures (workloads/idle.cu): the causes must
# be right, and the milliseconds within 10 %. About 10 seconds.
#
#   make gpu-programs                    on any machine; copy build/gpu to the one with the GPU
#   tests/gpu/idle_gpu.sh build/gpu      on the machine with the GPU
#   tests/gpu/idle_gpu.sh BUILD PROGRAM… another program that prints `did REGION FIELD MS`
#
# Prints one `ok` or `not ok` line per cause, with figures behind `#`. $KEEP: a folder for the run; $OVERRIDES: words for `sonde run`.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
shift
SONDE=${SONDE:-$PWD/$BUILD/sonde}
export LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"

if [ $# = 0 ]; then
	set -- "$PWD/$BUILD/workloads/idle"
	if ! nvidia-smi -L >/dev/null 2>&1; then
		echo "skip idle_gpu: no GPU here"
		exit 0
	fi
fi

# shellcheck disable=SC2086
"$SONDE" run -q counters=off ${OVERRIDES:-} "hydra.run.dir=$T/run" -- "$@" >"$T/out" 2>"$T/err" </dev/null &&
	"$SONDE" report "$T/run/native" -f json >"$T/idle.json" 2>>"$T/err" || {
	tail -5 "$T/err" "$T/out"
	echo "not ok idle: the program runs and is reported"
	exit 1
}
"$SONDE" validate "$T/idle.json" >>"$T/err" 2>&1 || { tail -1 "$T/err"; echo "not ok idle: report.json validates"; }
python3 - "$T/idle.json" "$T/out" <<'END'
import json, sys

doc = json.load(open(sys.argv[1]))
report = doc["aggregate"] if "regions" in doc["aggregate"] else doc["scopes"][0]
regions = {r["id"]: r for r in report["regions"]}
failed = 0
print("# %-13s %-13s %10s %10s %7s   idle time by cause, ms" % ("region", "figure", "did ms", "sonde ms", "off"))
lines = [w[1:] for w in map(str.split, open(sys.argv[2])) if w and w[0] == "did"]
most = {}
for region, field, did in lines:
    most[region] = max(most.get(region, 0), float(did))
for region, field, did in lines:
    did, r = float(did), regions[region]
    idle = {k[:-3]: v for k, v in (r.get("idle") or {}).items() if v}
    own = field in ("tail", "comm", "exposed_comm")
    got = r.get(field + "_ms") if own else idle.get(field, 0)
    off = (got or 0) / did - 1
    named = own or did < most[region] or idle.get(field, 0) >= 0.9 * max(idle.values())
    print("# %-13s %-13s %10.3f %10.3f %+6.1f%%   %s" % (region, field, did, got or 0, 100 * off,
          ", ".join("%s %.3f" % i for i in sorted(idle.items(), key=lambda i: -i[1]))))
    good = named and abs(off) <= 0.1
    failed += not good
    print("%s idle: %s is named%s and within 10 %%" % ("ok" if good else "not ok", field, "" if field == region else " in " + region))
sys.exit(failed > 0)
END
