#!/usr/bin/env bash
# Runs every libFuzzer target with its seed corpus for FUZZ_SECONDS (5), with at most FUZZ_RUNS (20,000) inputs, two targets at
# a time. Each run has other inputs; FUZZ_SEED=N, which is printed with each result, repeats them. New inputs stay in
# $TMP; an input that breaks a target is kept under build/fuzz/found/.
#
# With FUZZ_CORPUS=FOLDER (make fuzz-long) it keeps useful inputs in FOLDER, starts from those there, and uses all processors.
# Runs long.
. "$(dirname "$0")/../lib.sh"
seconds=${FUZZ_SECONDS:-5} seed=${FUZZ_SEED:-$((1 + (RANDOM << 15 | RANDOM)))} runs=${FUZZ_RUNS:-20000} grown=${FUZZ_CORPUS:-$TMP}
targets=(tests/fuzz/*_fuzz.c lib/hydra/tests/*_fuzz.c)
at_once=2 copies=1
[ -z "${FUZZ_CORPUS:-}" ] || at_once=$(nproc) copies=$((1 + ($(nproc) - 1) / ${#targets[@]}))

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

run() { # SOURCE COPY
	local name found log=$TMP/$(basename "$1").$2.log corpora max_len=65536
	name=$(basename "$1" _fuzz.c)
	found=build/fuzz/found/$name corpora=("$(dirname "$1")/corpus/$name")
	if [ "$name" = report ]; then # the whole way of any capture, and the longer one is the longer it takes
		corpora=("$(dirname "$1")"/corpus/{native,kineto,ncu_csv,ncu_rep,nsys}) max_len=8192
	fi
	mkdir -p "$grown/$name" "$found"
	if build/fuzz/tests/"${name}_fuzz" -max_total_time="$seconds" -seed=$((seed + $2)) -runs="$runs" -timeout=60 -rss_limit_mb=1500 \
		-max_len=$max_len -artifact_prefix="$found/" -print_final_stats=1 -verbosity=0 \
		"$grown/$name" "${corpora[@]}" >"$log" 2>&1; then
		pass "fuzz_${name}__finds_nothing_in_${seconds}_s ($(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, FUZZ_SEED=$((seed + $2)))"
	else
		tail -60 "$log"
		not_ok "fuzz_${name}__finds_nothing_in_${seconds}_s: $found (FUZZ_SEED=$((seed + $2)))"
	fi
}

for t in "${targets[@]}"; do
	for ((copy = 0; copy < copies; copy++)); do
		while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
		run "$t" "$copy" >"$TMP/$(basename "$t").$copy.result" &
	done
done
wait
cat "$TMP"/*.result
