#!/usr/bin/env bash
# The work and memory of unmixing grow at most linearly with the samples: a small run of bench/unmix_bench. The goal is 1,000,000 samples of
# 64 counters and 10,000 classes in seconds (see docs/performance-internals.md). Code that is quadratic in the samples would take sixteen
# times as long for four times as many samples, and hours for a million. The test counts steps, because seconds depend on the machine.
. "$(dirname "$0")/../lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 # what was freed is not held
core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') # threads that count at once would lose steps

# unmix_so_many SAMPLES: prints the steps, and the MB of memory without the samples themselves
unmix_so_many() {
	taskset -c "$core" "$BUILD/bench/unmix_bench" "$1" 200 8 | awk '
		/ samples, / { given = $(NF - 1) }
		/^unmixed/ { for (i = 1; i < NF; i++) { if ($i == "steps,") steps = $(i - 1); if ($i == "MB") all = $(i - 1) } }
		END { print steps, all - given }'
}
read -r few few_mb < <(unmix_so_many 20000)
read -r many many_mb < <(unmix_so_many 80000)
echo "20,000 samples: $few steps, $few_mb MB; 80,000: $many steps, $many_mb MB"
at_most() { awk -v a="$1" -v b="$2" -v times="$3" 'BEGIN { exit !(a > 0 && b <= times * a) }'; } # FEW MANY TIMES

ok unmix__memory_grows_with_the_samples at_most "$few_mb" "$many_mb" 4.4
if [ "$few" = 0 ]; then
	skip unmix__work_grows_with_the_samples "this build does not count steps; make test's does"
else
	ok unmix__work_grows_with_the_samples at_most "$few" "$many" 6
fi
