#!/usr/bin/env bash
# speedscope itself reads our export: the test downloads its package and opens its page with our file.
# Mostly waits.
. "$(dirname "$0")/../lib.sh"
command -v npm >/dev/null || skip_all "npm is not installed, which fetches speedscope"
command -v python3 >/dev/null || skip_all "no python3 to drive a browser with"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/browser python3 -c 'import chromium, sys; sys.exit(not chromium.find())' || skip_all "no Chromium here (scripts/install-deps test installs it where there is one)"
(cd "$TMP" && timeout 90 npm pack --silent --fetch-retries=0 --fetch-timeout=30000 speedscope >"$TMP/packed" 2>"$TMP/err" && tar xzf "$(tail -1 "$TMP/packed")") ||
	skip_all "npm could not fetch speedscope: $(grep -m1 . "$TMP/err" || echo 'no answer')"
imports() { # CAPTURE: the names and times on its screen are those of report.json
	"$SONDE" report -f speedscope -o "$TMP/run.speedscope.json" "$1" && "$SONDE" report -f json -o "$TMP/run.json" "$1" &&
		PYTHONDONTWRITEBYTECODE=1 python3 tests/browser/speedscope.py "$TMP/package/dist/release/index.html" "$TMP/run.speedscope.json" "$TMP/run.json" "$TMP"
}
ok speedscope__shows_our_regions_and_kernels imports tests/data/ncu/mpi2_kernel.ncu-rep
ok speedscope__shows_those_of_one_process imports tests/data/ncu/seed_kernel.ncu-rep
