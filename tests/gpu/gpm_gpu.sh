#!/usr/bin/env bash
# Counters by NVML's GPM on a GPU (Hopper or newer): together with PM sampling in one run, as another user, and while another
# program uses PM sampling.
#
#   tests/gpu/gpm_gpu.sh BUILD       (under two minutes)
#
# Prints one `ok`, `not ok` or `skip` line per check, with figures behind `#`. $KEEP: a folder for the runs.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu} P=$PWD/tests/gpu/gpm_gpu.py
SONDE=$PWD/$BUILD/sonde
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T" && chmod 777 "$T"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$T"' EXIT
failed=0
check() { # WORDS COMMAND…
	local what=$1
	shift
	if "$@"; then echo "ok $what"; else echo "not ok $what" && failed=1; fi
}
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || { echo "skip gpm_gpu: no PyTorch with a GPU"; exit 0; }
"$SONDE" doctor 2>/dev/null | grep -E '^[a-z]+ +(counters|gpm) ' | sed 's/^/# /'
"$SONDE" doctor 2>/dev/null | grep -qE '^ok +gpm ' || { echo "skip gpm_gpu: no GPM here"; exit 0; }

run() { # NAME ROUNDS KEYS…: $AS, a command in front
	local name=$1 rounds=$2 begin=$SECONDS
	shift 2
	${AS:-} "$SONDE" run "hydra.run.dir=$T/$name" "$@" -- python3 "$P" work "$rounds" >"$T/$name.out" 2>"$T/$name.err" </dev/null
	"$SONDE" report "$T/$name/native" -f json --metrics '*' >"$T/$name.json" 2>>"$T/$name.err" || tail -3 "$T/$name.err"
	grep -h "counters" "$T/$name.err" | head -3 | sed 's/^/#   /'
	echo "# $name: $((SECONDS - begin)) s"
}

run both 8 counters=basic counters.source=both
"$SONDE" report "$T/both/native" -f perfetto >"$T/both.trace" 2>>"$T/both.err"
check "GPM is late by no more than a period" python3 "$P" late "$T/both.trace"
check "GPM and PM sampling agree in one run" python3 "$P" agree "$T/both.json"

export HOME=$T XDG_CACHE_HOME=$T/cache
AS="setpriv --reuid 65534 --regid 65534 --clear-groups" run other 6 counters.source=gpm
check "another user has GPM's figures" python3 "$P" figures "$T/other.json"
check "the end says whose they are" grep -q "by NVML's GPM" "$T/other.err"

"$SONDE" sample --seconds 300 >/dev/null 2>&1 &
holder=$!
sleep 3
run taken 6 counters=basic
kill "$holder" 2>/dev/null
wait "$holder" 2>/dev/null
check "while another program has the PM samples GPM counts" python3 "$P" figures "$T/taken.json"
check "the report says why" grep -q "counters come from NVML's GPM" "$T/taken.json"
[ "$failed" = 0 ] && echo "gpm_gpu: all ok"
exit $failed
