#!/usr/bin/env bash
# Runs every libFuzzer target with its seed corpus for FUZZ_SECONDS (10), two at a time. The inputs are the same every
# time (FUZZ_SEED, 1), FUZZ_RUNS (20,000) at most: a test finds today what it found yesterday. FUZZ_SEED=0 tries others.
# New inputs stay in $TMP; an input that breaks a target is kept under build/fuzz/found/.
. "$(dirname "$0")/../lib.sh"
seconds=${FUZZ_SECONDS:-10} seed=${FUZZ_SEED:-1} runs=${FUZZ_RUNS:-20000}
targets=(tests/fuzz/*_fuzz.c lib/hydra/tests/*_fuzz.c)

command -v clang >/dev/null || skip_all "clang is not installed"
echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n);
int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return !p && n; }' >"$TMP/probe.c"
clang -fsanitize=fuzzer,address -o "$TMP/probe" "$TMP/probe.c" 2>/dev/null ||
	skip_all "clang has no libFuzzer runtime"
one_make fuzz -j"$(nproc)" fuzz >"$TMP/make.log" 2>&1 || {
	cat "$TMP/make.log"
	not_ok fuzz__targets_build
	exit 1
}

run() { # SOURCE
	local name corpus found
	name=$(basename "$1" _fuzz.c)
	corpus=$(dirname "$1")/corpus/$name found=build/fuzz/found/$name
	mkdir -p "$TMP/$name" "$found"
	if build/fuzz/tests/"${name}_fuzz" -max_total_time="$seconds" -seed="$seed" -runs="$runs" -timeout=60 -rss_limit_mb=1500 \
		-max_len=65536 -artifact_prefix="$found/" -print_final_stats=1 -verbosity=0 \
		"$TMP/$name" "$corpus" >"$TMP/$name.log" 2>&1; then
		pass "fuzz_${name}__finds_nothing_in_${seconds}_s ($(sed -n 's/^stat::number_of_executed_units: *//p' "$TMP/$name.log") inputs)"
	else
		tail -60 "$TMP/$name.log"
		not_ok "fuzz_${name}__finds_nothing_in_${seconds}_s: $found"
	fi
}

for t in "${targets[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
	run "$t" >"$TMP/$(basename "$t").result" &
done
wait
cat "$TMP"/*.result
