#!/usr/bin/env bash
# bench/sampling.py and bench/overhead.py with a fake GPU and a fake PyTorch. This shows that they run, since they are otherwise only used on
# a machine with a GPU. Their figures mean nothing here.
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

overhead() { # a loop that takes no time, and an attach that says to whom
	mkdir -p "$TMP/build" "$TMP/loop/torch" && cat >"$TMP/loop/torch/__init__.py" <<-'P' && cat >"$TMP/build/sonde" <<-'S' && chmod +x "$TMP/build/sonde" || return
		import time
		from unittest.mock import MagicMock
		float16 = None
		cuda = MagicMock()
		cuda.synchronize = lambda: time.sleep(0.001)
		class Tensor:
		    def chunk(self, *_): return self, self, self
		    def __getattr__(self, _): return lambda *_: self
		    def __getitem__(self, _): return self
		    def op(self, _): return self
		    __matmul__ = __add__ = __mul__ = __truediv__ = op
		def randn(*_, **__): return Tensor()
		def manual_seed(_): pass
		no_grad = MagicMock()
		relu = softmax = lambda x, *_: x
		nn = MagicMock()
		nn.functional.layer_norm = relu
	P
		#!/bin/sh
		for word; do [ "$last" != -o ] || mkdir "$word"; last=$word; done
		echo "$@" >>"$0.told"
		sleep 0.1
	S
	PYTHONPATH=$TMP/loop timeout 120 bench/overhead.py "$TMP/build" --loop bare --only empty,asleep,attached:2 --sets 3 --rounds 4 --steps 5 --warm 0 >"$TMP/out" 2>"$TMP/err"
	local code=$? number="[0-9]+\.[0-9]{4}"
	has "^(not )?ok asleep $number \[$number, $number\], bar 1.005$" && has "^(not )?ok attached:2 $number \[$number, $number\], bar 1.01$" && ! grep 'ok empty' "$TMP/out" || { cat "$TMP/err" && return 1; }
	[ "$code" = "$(grep -c '^not ok' "$TMP/out" | sed 's/2/1/')" ] && [ "$(wc -l <"$TMP/build/sonde.told")" = 2 ] && grep -qE '^attach [0-9]+ [0-9]+ [0-9]+ --for 1s' "$TMP/build/sonde.told"
}

ok bench__overhead_says_whether_its_bars_hold overhead
ok bench__sampling_says_what_it_found_and_judges_it too_slow
ok bench__sampling_without_a_sampler_is_told no_sampler
