#!/usr/bin/env bash
# Time and memory of unmixing grow with the samples and no faster: bench/unmix_bench, small. The bar is 1,000,000 samples of
# 64 counters and 10,000 classes in seconds (docs/performance.md has it); something quadratic in the samples
# would take sixteen times as long for four times as many, and hours there.
. "$(dirname "$0")/../lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 # what was freed is not held

# unmix_so_many SAMPLES: CPU seconds, and MB beyond the samples themselves
unmix_so_many() {
	"$BUILD/bench/unmix_bench" "$1" 200 8 | awk '
		/ samples, / { given = $(NF - 1) }
		/^unmixed/ { for (i = 1; i < NF; i++) { if ($i == "(CPU") cpu = $(i + 1); if ($i == "MB") all = $(i - 1) } }
		END { print cpu, all - given }'
}
grows_no_faster() {
	read -r few_s few_mb < <(unmix_so_many 20000)
	read -r many_s many_mb < <(unmix_so_many 80000)
	echo "20,000 samples: $few_s s, $few_mb MB; 80,000: $many_s s, $many_mb MB"
	awk -v a="$few_s" -v b="$many_s" -v c="$few_mb" -v d="$many_mb" \
		'BEGIN { exit !(a > 0 && c > 0 && b < 10 && b <= 8 * a && d <= 4.4 * c) }'
}

ok unmix__time_and_memory_grow_with_the_samples grows_no_faster
