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
	grep "^decode at" "$T/err" | awk '{ t = $6; sub(/ms.*/, "", t); n++; s += t; if (t > m) m = t; if (/full/) f++; k += $8 } END { if (n) printf "#    %d decodes, mean %.2f ms, max %.2f ms, %d full, %.1f samples each\n", n, s / n, m, f, k / n }'
	grep "^decode at" "$T/err" | head -"${LINES_SHOWN:-4}" | sed 's/^/#      /'
	grep -v "^decode at" "$T/err" | head -3 | sed 's/^/#      /'
}
echo "# idle"
SONDE_PM_IMAGE=256 probe "idle 256" --seconds 0.7 --interval 50us
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
for image in 128 256 512 1024; do
	SONDE_PM_IMAGE=$image probe "busy, image $image, 50 us" --seconds 1 --interval 50us
done
for mb in 64 128; do
	SONDE_PM_BUFFER_MB=$mb SONDE_PM_IMAGE=512 probe "busy, image 512, buffer $mb MB, 50 us" --seconds 1 --interval 50us
done
SONDE_PM_IMAGE=512 probe "busy, image 512, 20 us" --seconds 1 --interval 20us
SONDE_PM_IMAGE=512 probe "busy, image 512, 30 us" --seconds 1 --interval 30us
probe "busy, as it chooses" --seconds 2
LINES_SHOWN=8
for mb in 32 128; do
	SONDE_PM_BUFFER_MB=$mb probe "bursts 20 ms at 20 us, buffer $mb MB" --seconds 1 --interval 20us --burst 20ms
	SONDE_PM_BUFFER_MB=$mb probe "bursts 20 ms at 10 us, buffer $mb MB" --seconds 1 --interval 10us --burst 20ms
done
LINES_SHOWN=4
for image in 256 512; do
	SONDE_PM_IMAGE=$image probe "full, image $image, 200 us" --seconds 4 --interval 200us --counters full
done
probe "full, as it chooses" --seconds 4 --counters full
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
