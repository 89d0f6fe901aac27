#!/usr/bin/env bash
# How CUPTI decodes samples on this GPU: image and buffer sizes against time and losses. Figures only.
#
#   make gpu-programs; tests/gpu/pm_probe.sh build/gpu      about a minute
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
SONDE=$PWD/$BUILD/sonde
DUMP=$PWD/$BUILD/tools/samples_dump
export LC_ALL=C.UTF-8 SONDE_PM_TRACE=1
T=$(mktemp -d)
loop=
trap 'kill "$loop" 2>/dev/null; rm -rf "$T"' EXIT
probe() { # LABEL ARGS…
	local label=$1
	shift
	"$SONDE" sample "$@" >"$T/out" 2>"$T/err"
	echo "# $label: $(sed -n '1,2p' "$T/out" | paste -sd' ') $(grep -h 'missing\|slowed' "$T/out" | paste -sd' ')"
	grep "^decode at" "$T/err" | awk '{ t = $6; n++; s += t; if (t > m) m = t; if (/full/) f++; k += $10 } END { if (n) printf "#    %d decodes, mean %.2f ms, max %.2f ms, %d full, %.1f samples each\n", n, s / n, m, f, k / n }'
	grep "^decode at" "$T/err" | sed -n "1,${LINES_SHOWN:-4}p;60,62p" | sed 's/^/#      /'
	grep -v "^decode at" "$T/err" | head -3 | sed 's/^/#      /'
}
echo "# idle"
probe "idle" --seconds 1
python3 -c '
import torch, time
a = torch.randn(4096, 4096, device="cuda", dtype=torch.half)
b = torch.randn(1 << 26, device="cuda")
end = time.time() + 100
while time.time() < end:
    for _ in range(20):
        a @ a
        b.add_(1)
    torch.cuda.synchronize()
' &
loop=$!
sleep 7
probe "busy, as it chooses" --seconds 3
for us in 50 75 100 150; do
	probe "busy, $us us" --seconds 2 --interval ${us}us
done
SONDE_PM_IMAGE=256 probe "busy, image 256, 75 us" --seconds 2 --interval 75us
SONDE_PM_IMAGE=1024 probe "busy, image 1024, 75 us" --seconds 2 --interval 75us
SONDE_PM_BUFFER_MB=256 probe "busy, buffer 256 MB, 100 us" --seconds 2 --interval 100us
probe "two counters, as it chooses" --seconds 2 --counters dram.read_bytes,sm.active_cycles
LINES_SHOWN=8
probe "bursts 20 ms at 20 us" --seconds 2 --interval 20us --burst 20ms
probe "bursts 10 ms at 10 us" --seconds 2 --interval 10us --burst 10ms
LINES_SHOWN=4
probe "full, as it chooses" --seconds 5 --counters full
kill "$loop"
wait "$loop" 2>/dev/null
loop=
unset SONDE_PM_TRACE
for args in "$PWD/$BUILD/workloads/three_ranges" "$PWD/$BUILD/workloads/resnet --steps=200" "python3 workloads/torch_decode.py --steps 400"; do
	rm -rf "$T/run"
	# shellcheck disable=SC2086
	"$SONDE" run "hydra.run.dir=$T/run" counters=basic -- $args >"$T/out" 2>"$T/err" </dev/null
	echo "# run $args: status $?"
	sed 's/^/#    /' "$T/err" | tail -4
	"$DUMP" "$T/run/native" 2>&1 | grep "^series\|^align\|sm.active\|^note" | cut -c1-220 | sed 's/^/#    /'
	grep -i "seconds\| s$\|ms" "$T/out" | head -2 | sed 's/^/#    /'
	[ -z "${OUT:-}" ] || { d=$OUT/$(basename "${args%% *}")$RANDOM && mkdir -p "$d" && cp "$T"/run/native/*.sonde "$d/"; }
done
