#!/usr/bin/env bash
# bench/sampling.py beside the stand-in for a GPU, with a stand-in for PyTorch: it runs where it has to run without
# being tried, and says what it is for. Its figures mean nothing here.
. "$(dirname "$0")/../lib.sh"
export SONDE_CUPTI=$PWD/$BUILD/fake/libpm_fake.so PYTHONPATH=$PWD/tests/standin/python PYTHONDONTWRITEBYTECODE=1
export FAKE_PM_COST_US=0 # a decode ends, whatever this machine is busy with
[ -e "$SONDE_CUPTI" ] || skip_all "CUPTI's headers (12.6 or newer) were not found when building"

bench() { # STATUS ARGS…
	local status=$1
	shift
	(cd "$TMP" && timeout 600 "$OLDPWD/bench/sampling.py" "$OLDPWD/$BUILD" --quads 40 --warmup 5 --seconds 1 --interval 500us "$@") >"$TMP/out" 2>"$TMP/err"
	[ $? -eq "$status" ] || { cat "$TMP/out" "$TMP/err" && false; }
}
has() { grep -qE "$1" "$TMP/out" || { echo "missing: $1" && cat "$TMP/out" && false; }; }
too_slow() {
	bench 1 --most 0.01 && has "^basic every 500us: a step takes [0-9]+ us, the sampler [0-9.]+ of a core as a rule and [0-9.]+ in sampled" &&
		has "^sampled / not sampled: median [0-9.]+ \(95 %: [0-9.]+ to [0-9.]+, standard error [0-9.]+\).*, 32 of them; all of it [0-9.]+$" &&
		has "^noise \(both not\): *median .*, 8 of them$" &&
		has "^toggled: [1-9][0-9]* slots of [0-9]+ ms on, [1-9][0-9]* samples, [0-9.]+ of a core; [1-9][0-9]* off$" &&
		has "^toggled: loop(, on / off: *median [0-9.]+ .*, [0-9]+ of them; all of it [0-9.]+|: too few slots to tell)$" &&
		has "^given back: [1-9][0-9]* slots of [0-9]+ ms on, [1-9][0-9]* samples, "
}
no_sampler() { bench 1 --counters off && grep -q "has no sampler here" "$TMP/err"; }

ok bench__sampling_says_what_it_found_and_judges_it too_slow
ok bench__sampling_without_a_sampler_is_told no_sampler
