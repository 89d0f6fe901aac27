#!/usr/bin/env bash
# Sampled counters from device to report, with a fake GPU (device/). It needs no GPU, but does not prove that NVIDIA's GPUs
# behave the same; tests/gpu/sample_gpu.sh does.
# Mostly waits.
. "$(dirname "$0")/../lib.sh"
FAKE=$PWD/$BUILD/fake/libpm_fake.so
DUMP=$PWD/$BUILD/tools/samples_dump
PROG=$PWD/$BUILD/workloads/pairs
[ -e "$FAKE" ] || skip_all "CUPTI's headers (12.6 or newer) were not found when building"
[ -x "$PROG" ] || skip_all "the NVTX headers were not found when building"
export SONDE_CUPTI=$FAKE

# Nothing here depends on time: the expected values are those that the fake device reports ($FAKE_PM_TOLD), and programs and
# samplers run until the device reports that something has happened. So the tests also pass on a busy machine.
export FAKE_PM_TOLD=$TMP/told
gave() { awk -v n="$1" '$1 == "gave" {sum += $3} END {exit sum < n}' "$TMP/told"; }
started() { [ "$(grep -c ^start "$TMP/told")" -ge "$1" ]; }
restarted() { awk '$1 == "full" {full = 1} full && $1 == "start" {found = 1} END {exit !found}' "$TMP/told"; }
export -f gave started restarted
kept() { # all samples the device gave, without the trial, which is the first stretch, and the first sample of each other one
	awk '$1 == "start" {s[$2]++; n[$2] = 0} $1 == "gave" && s[$2] > 1 {sum += $3 - (n[$2] == 0 && $3 > 0); n[$2] += $3} END {print sum + 0}' "$TMP/told"
}
firsts() { awk '$1 == "start" {n = 0} $1 == "gave" && $3 {sum += n == 0; n = 1} END {print sum + 0}' "$TMP/told"; }

has() { grep -qF -e "$1" "$2" || { echo "missing: $1" && cat "$2" && false; }; }
lacks() { ! grep -qF -e "$1" "$2" || { echo "there: $1" && cat "$2" && false; }; }
sample() { rm -f "$TMP/told" && timeout 600 "$SONDE" sample "$@" >"$TMP/out" 2>"$TMP/err"; }
sample_until() { # "EVENT" ARGS…
	local pid
	rm -f "$TMP/told"
	"$SONDE" sample --seconds 1000 "${@:2}" >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	wait_for $1 || echo "waited in vain: $1"
	kill -TERM "$pid" && wait "$pid"
}

# A program that has a range, runs until the event $UNTIL, and ends with status 3.
cat >"$TMP/prog" <<END
#!/bin/bash
"$PROG" 10 >/dev/null
until \${UNTIL:-true} 2>/dev/null; do sleep 0.02; done
echo output && exit 3
END
chmod +x "$TMP/prog"
run() { # ARGS…: $dir; the program's output and status are as ever
	n=$((${n:-0} + 1)) dir=$TMP/run$n
	rm -f "$TMP/told"
	timeout 600 "$SONDE" run "hydra.run.dir=$dir" "$@" -- "$TMP/prog" >"$TMP/out" 2>"$TMP/err"
	[ $? -eq 3 ] && [ "$(head -1 "$TMP/out")" = output ] || { cat "$TMP/out" "$TMP/err" && false; }
}
dump() { "$DUMP" "$dir/native" >"$TMP/dump" 2>&1; }
number() { sed -n "s/^$1 .*$2=\([0-9.]*\).*/\1/p" "$TMP/dump" | head -1; }
dumped_all() { # the samples of all series are those the device gave
	local nr
	nr=$(sed -n 's/^series .* samples=\([0-9]*\).*/\1/p' "$TMP/dump" | awk '{n += $1} END {print n + 0}')
	[ "$nr" -gt 0 ] && [ "$nr" = "$(kept)" ] || { echo "$nr samples, not $(kept)" && cat "$TMP/dump" "$TMP/told" && false; }
}
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 > b + 0) }'; }

as_text() { sample --seconds 0.2 && has "NVIDIA Fake (GPU 0, GF999)" "$TMP/out" && has "DRAM read" "$TMP/out" && has "; 1 start, the first" "$TMP/out"; }
as_json() {
	sample --seconds 0.2 --interval 1ms -f json && python3 - "$TMP/out" "$(kept)" <<-'END'
		import json, sys
		d, kept = json.load(open(sys.argv[1])), int(sys.argv[2])
		read = [c for c in d["counters"] if c["role"] == "dram.read_bytes"][0]
		assert d["interval_ns"] == 1000000 and d["samples"] == kept >= 198, (d, kept)
		assert read["total"] == kept * 11000 and read["time_ns"] == kept * 1000000, d
		assert d["gaps"] == d["overflows"] == 0
	END
}
live() { # a terminal is followed, on one line of 80 columns
	script -qec "'$SONDE' sample --seconds 0.6 --interval 1ms >/dev/null" /dev/null | tr '\r' '\n' | sed 's/\x1b\[K//g' >"$TMP/out" &&
		grep -qE '^[0-9.]+ s  SM active [0-9.]+ %  issue slots used [0-9.]+ %  tensor pipe [0-9.]+ %  DRAM [0-9.]+ %$' "$TMP/out" &&
		! grep -E '.{80}' "$TMP/out"
}
dram() { # in % of what memory can move: (11000 + 12000) bytes in a ms, of 6144 bits at 2 GHz, twice
	sample --seconds 0.1 --interval 1ms -f json && python3 - "$TMP/out" <<-'END'
		import json, sys
		found = {f["name"]: f for f in json.load(open(sys.argv[1]))["figures"]}
		assert found["DRAM"]["unit"] == "%" and abs(found["DRAM"]["mean"] / (100 * 23e6 / 3072e9) - 1) < 1e-9, found["DRAM"]
	END
}
as_csv() { # every sample, the first after the start left out
	sample --seconds 0.2 --interval 1ms --counters dram.read_bytes,lts__t_sectors -f csv &&
		[ "$(head -1 "$TMP/out")" = start_ns,end_ns,dram__bytes_read.sum,lts__t_sectors.sum ] &&
		awk -F, -v kept="$(kept)" 'NR > 1 && ($2 - $1 > 1000500 || $3 != 1000 || $4 != 2000) { exit 1 } END { exit NR - 1 != kept || kept < 198 }' "$TMP/out"
}
as_capture() { rm -f "$TMP/a.sonde" && sample --seconds 0.2 -o "$TMP/a.sonde" && "$DUMP" "$TMP/a.sonde" >"$TMP/dump" && dumped_all; }
refused() { # ENV MESSAGE
	! env "$1" timeout 600 "$SONDE" sample --seconds 0.2 >"$TMP/out" 2>"$TMP/err" && has "$2" "$TMP/err" && [ "$(wc -l <"$TMP/err")" = 1 ]
}
unknown_counter() { ! sample --counters dram__byte_read.sum && has "did you mean 'dram__bytes_read.sum'" "$TMP/err"; }
unknown_role() { ! sample --counters dram.reed_bytes && has "did you mean 'dram.read_bytes'?" "$TMP/err"; }
wrong_time() { ! sample --interval soon && has "not a time such as" "$TMP/err"; }
impossible_time() { # ARGS MESSAGE
	! sample $1 && has "$2" "$TMP/err"
}
impossible() { # above what the GPU can count: no figure, no total, a line that says so
	FAKE_PM_ELAPSED=1000 FAKE_PM_BUS_BITS=8 sample --seconds 0.1 --interval 2us --burst 2ms && has "sm.active_cycles is not shown: 100 %" "$TMP/out" &&
		has "dram.read_bytes is not shown: 100 %" "$TMP/out" && lacks "SM active" "$TMP/out" && lacks sm__cycles_active "$TMP/out" &&
		lacks "DRAM read" "$TMP/out" && has "issue slots used" "$TMP/out"
}
early_end() { # half of the picture at least, however much was asked for
	sample_until "gave 5000" -f json && python3 - "$TMP/out" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		line = d["figures"][0]["over_time"]
		known = [v for v in line if v is not None]
		assert len(known) >= 30 and len(set(known)) == 1, line
		assert d["slice_ns"] * len(known) > 0.9 * (d["end_ns"] - d["start_ns"]), d
	END
}
long_burst() { # more than a block of a capture holds
	rm -f "$TMP/long.sonde" && sample_until "started 3" --interval 10us --burst 400ms -o "$TMP/long.sonde" &&
		"$DUMP" "$TMP/long.sonde" >"$TMP/dump" 2>&1 && lacks damaged "$TMP/dump" &&
		[ "$(number series samples)" = "$(awk '$1 == "start" {n = 0} $1 == "gave" {sum += $3 - (n == 0 && $3 > 0); n += $3} END {print sum}' "$TMP/told")" ]
}

ok sample__summary_and_plot as_text
ok sample__json_adds_up as_json
ok sample__memory_is_in_per_cent_too dram
if command -v script >/dev/null; then ok sample__a_terminal_is_followed live; else skip sample__a_terminal_is_followed "no script(1)"; fi
ok sample__csv_has_every_sample as_csv
ok sample__out_is_a_capture as_capture
ok sample__no_permission_is_told_with_what_changes_it refused FAKE_PM_ERROR=enable:35 NVreg_RestrictProfilingToAdminUsers=0
ok sample__mig_is_told refused FAKE_PM_ERROR=enable:43 "the GPU is divided into instances (MIG)"
ok sample__a_taken_device_is_told refused FAKE_PM_ERROR=enable:7 "another program samples this GPU"
ok sample__no_device_is_told refused FAKE_CUINIT=100 "cuInit says CUDA_ERROR_NO_DEVICE"
ok sample__no_cupti_is_told refused SONDE_CUPTI=/nowhere "CUPTI was not found"
ok sample__an_old_cupti_is_told refused "SONDE_CUPTI=$PWD/$BUILD/fake/libcupti_fake.so" "this CUPTI is too old"
ok sample__a_failing_decoder_is_told refused FAKE_PM_ERROR=decode:999 "asked to decode samples"
ok sample__an_unknown_counter_is_told unknown_counter
ok sample__an_unknown_role_is_told unknown_role
ok sample__a_wrong_time_is_told wrong_time
ok sample__seconds_that_are_no_number_are_told impossible_time "--seconds 5x" "--seconds 5x: not a number above 0"
ok sample__a_gpu_that_is_not_there_is_told impossible_time "--device 7" "CUDA has no device 7 here; \`nvidia-smi -L\` lists"
ok sample__an_interval_that_cannot_be_is_told impossible_time "--interval 900ns" "ask for 1us to 1s"
ok sample__an_endless_interval_is_told impossible_time "--interval 10s" "ask for 1us to 1s"
ok sample__a_burst_without_samples_is_told impossible_time "--burst 50us" "ask for 100 us or more"
ok sample__impossible_counters_are_not_shown impossible
ok sample__an_early_end_has_a_picture early_end
ok sample__a_burst_may_be_longer_than_a_block long_burst

doctor() { # ENV TEXT REMEDY
	env "$1" "$SONDE" doctor --width 1000 >"$TMP/out" 2>&1
	grep -A1 "^[a-z]*  *\(counters\|clock\) " "$TMP/out" >"$TMP/counters"
	has "$2" "$TMP/counters" && has "$3" "$TMP/counters"
}
ok doctor__sampling_is_possible doctor X= "13 counters of GF999 can be sampled" "ok "
ok doctor__sampling_needs_permission doctor FAKE_PM_ERROR=available:35 "ERR_NVGPUCTRPERM" "remedy: as root"
ok doctor__sampling_needs_a_newer_cupti doctor "SONDE_CUPTI=$PWD/$BUILD/fake/libcupti_fake.so" "too old" "remedy: install cuda-cupti"

gpm() { # ENV TOPIC TEXT: with NVML, and what there is of GPM
	env "$1" LD_LIBRARY_PATH="$PWD/$BUILD/fake/nvml" "$SONDE" doctor --width 1000 >"$TMP/out" 2>&1
	grep "^[a-z]*  *$2 " "$TMP/out" >"$TMP/line"
	has "$3" "$TMP/line"
}
gpm_without() {
	"$SONDE" doctor --width 1000 >"$TMP/out" 2>&1
	grep "^[a-z]*  *$1 " "$TMP/out" >"$TMP/line"
	has "$2" "$TMP/line"
}
refused_gpm() { FAKE_PM_ERROR=enable:35 gpm FAKE_GPM=2=50 counters "fall back to GPM" && grep -q "^note" "$TMP/line"; }
ok doctor__gpm_is_there gpm FAKE_GPM=2=50 gpm "every 100 ms and needs no permission"
ok doctor__what_is_refused_falls_back_to_gpm refused_gpm
ok doctor__no_nvml_is_told gpm_without gpm "libnvidia-ml.so.1) was not found"
ok doctor__an_old_gpu_is_told gpm X= gpm "older than Hopper"
ok doctor__gpm_of_a_split_gpu_is_told gpm FAKE_GPM_MIG=1 gpm "the GPU is divided into instances (MIG)"

# --- calibration: kernels of sonde's own, whose work begins 700 ns after their stamps and ends 300 ns before them
export XDG_CACHE_HOME=$TMP/cache
calibrate() { # ENV…
	rm -f "$TMP/kernels"
	env FAKE_PM_KERNELS="$TMP/kernels" FAKE_PM_FIRST_NS=700 FAKE_PM_LAST_NS=-300 "$@" timeout 600 "$SONDE" sample --calibrate >"$TMP/out" 2>"$TMP/err"
}
calibrated() {
	calibrate && grep -qE "work (19[0-9]|20[0-9]|210) ± " "$TMP/out" && has "kept in $XDG_CACHE_HOME/sonde/clock-GPU-a0a0a0a0" "$TMP/out"
}
in_capture() { as_capture && [ "$(number calibrated offset_ns)" -ge 190 ] && [ "$(number calibrated offset_ns)" -le 210 ]; }
not_calibrated() { # ENV MESSAGE: nothing is kept
	rm -rf "$XDG_CACHE_HOME"
	! calibrate "$1" && has "$2" "$TMP/err" && [ ! -e "$XDG_CACHE_HOME/sonde" ]
}
no_place() { ! calibrate XDG_CACHE_HOME=/proc/nowhere && has "/proc/nowhere" "$TMP/err"; }
ok doctor__an_uncalibrated_clock_is_told doctor X= "not calibrated" "sonde sample --calibrate"
ok calibrate__finds_and_keeps_the_offset calibrated
ok calibrate__captures_have_the_offset in_capture
ok doctor__a_calibrated_clock_is_told doctor X= "ns later than their timestamps say" "ok "
ok calibrate__needs_an_idle_gpu not_calibrated FAKE_PM_NOISE=30 "run it again when the GPU is idle"
ok calibrate__needs_permission not_calibrated FAKE_PM_ERROR=enable:35 ERR_NVGPUCTRPERM
ok calibrate__kernels_that_cannot_run_are_told not_calibrated FAKE_PM_KERNELS=/nowhere/kernels "the test kernels cannot run (launch the kernel"
ok calibrate__no_place_to_keep_it_is_told no_place

gaps() { FAKE_PM_GAP=50 sample --seconds 0.2 --interval 1ms && has "10.0 ms are missing in 1 gap"  "$TMP/out"; }
wrong() { FAKE_PM_WRONG=50 sample --seconds 0.2 --interval 1ms && has "1 sample had times that cannot be right" "$TMP/out"; }
jump() { # the clock of samples is set back a little: nothing is lost by it
	FAKE_PM_JUMP=50 sample --seconds 0.2 --interval 1ms && lacks missing "$TMP/out" && has ": $(kept) samples" "$TMP/out"
}
overflow() { FAKE_PM_OVERFLOW=3 sample_until restarted && has "buffer was full 1 time" "$TMP/out" && has "start again 1 time," "$TMP/out"; }
slower() { # 400 µs a sample do not keep up with 200 or 300 µs: the trial finds it out, before anything is lost
	FAKE_PM_COST_US=400 sample_until "started 2" && awk '$1 == "start" && ++n == 2 && $3 < 500000 { exit 1 }' "$TMP/told" &&
		grep -qE "every ([5-9][0-9]{2}|[0-9]{4,}) us" "$TMP/out"
}
lingering() { # decodes that wait for samples are no reason to give up short intervals, and nothing is lost by them
	FAKE_PM_LINGER_MS=100 sample_until "started 3" && lacks "start again" "$TMP/out" &&
		awk '$1 == "start" { if (++n == 2) chosen = $3; if (n > 2 && $3 > 4 * chosen) exit 1 }' "$TMP/told"
}
fixed() { # an interval that was asked for stays: sampling stops while it is decoded, and what is missing is told
	FAKE_PM_COST_US=100 sample_until "gave 3000" --interval 50us && has "every 50 us" "$TMP/out" && has "are missing in" "$TMP/out" &&
		lacks "start again" "$TMP/out"
}
bursts_are_whole() { # longer than an image usually is; nothing of a burst is lost, though decoding takes five times as long
	FAKE_PM_COST_US=50 sample_until "started 4" --interval 10us --burst 60ms -f csv &&
		awk -F, 'NR > 2 && $1 != end { if (nr < 5000) exit 1; bursts++; nr = 0 } { end = $2; nr++ } END { exit bursts < 2 }' "$TMP/out"
}
asked_bursts() { sample_until "started 6" --interval 50us --burst 10ms && above "$(firsts)" 4 && has "; $(firsts) starts" "$TMP/out"; }
turns() { FAKE_PM_PASS=7 sample_until "started 4" && has "2 sets took turns" "$TMP/out" && grep -q "dram__bytes_write.sum" "$TMP/out" && lacks "start again" "$TMP/out"; }
full() { sample --seconds 0.2 --counters full && has tpc__something_else "$TMP/out" && lacks turns "$TMP/out"; }

ok sampling__gaps_are_counted gaps
ok sampling__samples_with_impossible_times_are_told wrong
ok sampling__a_clock_that_is_set_back_loses_nothing jump
ok sampling__a_full_buffer_is_counted_and_answered overflow
ok sampling__the_interval_grows_until_it_keeps_up slower
ok sampling__decodes_that_wait_are_not_slow_ones lingering
ok sampling__a_fixed_interval_stays_and_losses_are_told fixed
ok sampling__bursts_can_be_asked_for asked_bursts
ok sampling__bursts_are_whole bursts_are_whole
ok sampling__more_counters_than_a_pass_take_turns turns
ok sampling__full_is_all_of_one_pass full

basic() { UNTIL="gave 1000" run counters=basic && dump && dumped_all && [ "$(number series counters)" = 13 ] && has "13 counters of GPU 0" "$TMP/err"; }
off() { run counters=off && dump && lacks series "$TMP/dump" && lacks counters "$TMP/err"; }
named() { UNTIL="gave 10" run 'counters=[dram.read_bytes,l2.sectors]' counters.interval=1ms && dump && [ "$(number series counters)" = 2 ] && [ "$(number series interval_us)" = 1000 ]; }
# GPM's percentages are planted: every row has them, and so has the load in the report.
by_gpm() { # KEYS…
	LD_LIBRARY_PATH=$PWD/$BUILD/fake/nvml FAKE_GPM="2=50 3=25 5=40 10=12.5" UNTIL=${UNTIL:-news 6} run counters=basic "$@" && dump
}
news() { [ "$(grep -c ^news "$TMP/told")" -ge "$1" ]; }
both_counted() { news 6 && gave 1000; }
export -f news both_counted
planted() { # REASON
	has "4 counters of GPU 0 (NVIDIA Fake) by NVML's GPM every 100000 µs" "$TMP/err" && lacks "no hardware counters" "$TMP/err" &&
		has "counter gpm.sm_ns GPM_SM_UTIL" "$TMP/dump" && has "counters come from NVML's GPM, one value every 100 ms" "$TMP/dump" && has "$1" "$TMP/dump" &&
		grep -q "SM active % gpm 50.0, DRAM % gpm 12.5, Tensor % gpm 40.0" "$dir/native/regions/report.json"
}
gpm_instead() { FAKE_PM_ERROR=$1 by_gpm && planted "$2"; }
gpm_asked() { by_gpm counters.source=gpm && planted "counters.source=gpm asks for them"; }
gpm_beside() { # in the same file, in a series of its own; PM sampling loses nothing by it
	UNTIL=both_counted by_gpm counters.source=both && [ "$(grep -c ^series "$TMP/dump")" = 2 ] && has "13 counters of GPU 0" "$TMP/err" && has "counter gpm.sm_ns" "$TMP/dump" &&
		grep -q "SM active % gpm 50.0" "$dir/native/regions/report.json" && grep -q "SM active % [0-9]" "$dir/native/regions/report.json"
}
gpm_beside_lines() { by_gpm pipeline.native.pc=on && planted "a GPU has no PM samples while PC samples are taken"; }
no_gpm() { # asked for, and not there
	UNTIL=true run counters=basic counters.source=gpm && has "NVML's GPM cannot count here: the driver's NVML" "$TMP/err"
}
only_pm() { LD_LIBRARY_PATH=$PWD/$BUILD/fake/nvml FAKE_GPM=2=50 FAKE_PM_ERROR=enable:35 run counters=basic counters.source=pm && has "no hardware counters: the counters are for administrators" "$TMP/err"; }

without() { # ENV MESSAGE: times only, one line, a note in the report, the program as ever
	export "${1?}"
	run counters=basic
	local rc=$?
	unset "${1%%=*}"
	export SONDE_CUPTI=$FAKE
	[ $rc -eq 0 ] && has "$2" "$TMP/err" && [ "$(grep -c "no hardware counters" "$TMP/err")" = 1 ] &&
		grep -q "no hardware counters, times only" "$dir/native/regions/report.json"
}
by_name() { # of NVIDIA's, which have roles all the same
	UNTIL="gave 10" run 'counters=[lts__t_sectors,TPC.TriageCompute.sm__cycles_active.sum,tpc__something_else]' counters.interval=1ms; dump && has "counter l2.sectors lts__t_sectors.sum" "$TMP/dump" &&
		has "counter sm.active_cycles TPC.TriageCompute.sm__cycles_active.sum" "$TMP/dump" && has "TPC.TriageCompute.tpc__something_else.sum" "$TMP/dump"
}
idle() { # a stretch of idleness is one sample, of a tenth of a second at most
	FAKE_PM_IDLE=1 UNTIL="gave 3000" run counters=basic && dump && above "$(number series span_ms)" 100 &&
		above "$(awk -v ms="$(number series span_ms)" -v n="$(firsts)" 'BEGIN {print ms / 50 + n}')" "$(number series samples)"
}
two_devices() { FAKE_PM_DEVICES=2 UNTIL="gave 1000" run counters=basic && dump && [ "$(grep -c ^series "$TMP/dump")" = 2 ] && has "series gpu=1" "$TMP/dump"; }
in_turns() { # a busy machine widens the interval, and begins a series more: the sets are two
	FAKE_PM_PASS=7 UNTIL="started 4" run counters=basic && dump && dumped_all && has "2 sets took turns" "$TMP/dump" &&
		[ "$(sed -n 's/^series .*\(counters=[0-9]*\) .*/\1/p' "$TMP/dump" | sort -u | wc -l)" = 2 ]
}
written() { [ "$(cat "$dir"/native/samples-*.sonde | wc -c)" -gt 20000 ]; }
kept_some() { [ "$(kept)" -ge "$1" ]; } # behind the trial
export -f kept kept_some
run_gap() { # what is missing is told at the end, and in the report
	FAKE_PM_GAP=50 UNTIL="kept_some 100" run counters=basic counters.interval=1ms && has "every 1000 µs" "$TMP/err" && has ", 10.0 ms missing in 1 gap" "$TMP/err" && lacks "1 gaps" "$TMP/err" &&
		lacks "buffer was full" "$TMP/err" && dump && has "samples are missing in 1 place, 10.0 ms in all: what ran then" "$TMP/dump"
}
killed() { # the sampler, midway
	cat >"$TMP/killer" <<-END
		#!/bin/bash
		"$PROG" 10 >/dev/null
		until written 2>/dev/null; do sleep 0.02; done
		pkill -KILL -P \$PPID -x sonde-sampler; echo output; exit 3
	END
	chmod +x "$TMP/killer"
	dir=$TMP/killed
	export dir
	export -f written
	timeout 600 "$SONDE" run "hydra.run.dir=$dir" counters=basic -- "$TMP/killer" >"$TMP/out" 2>"$TMP/err"
	[ $? -eq 3 ] && has "no hardware counters: the sampler was killed" "$TMP/err" && dump &&
		above "$(number series samples)" 100 && has "stopped before the program ended" "$TMP/dump"
}
orphaned() { # sonde itself is killed: the sampler ends by itself and leaves a good file
	local pid sampler
	dir=$TMP/orphaned
	rm -f "$TMP/told"
	UNTIL="test -e $TMP/end" "$SONDE" run "hydra.run.dir=$dir" counters=basic -- "$TMP/prog" >/dev/null 2>&1 &
	pid=$!
	wait_for written && sampler=$(pgrep -P "$pid" -x sonde-sampler) || return
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	touch "$TMP/end"
	wait_for is_gone "$sampler" && dump && dumped_all && lacks "stopped before" "$TMP/dump"
}
# NVML names the programs on the device: those of $TMP/pids.
with_nvml() { LD_LIBRARY_PATH=$PWD/$BUILD/fake/nvml FAKE_NVML_PIDS=$TMP/pids UNTIL=$1 run counters=basic && dump; }
looked() { grep -q "^looked $1" "$TMP/told"; }
looked_at_us() { # the program itself is on the device, too
	[ -e "$TMP/own" ] || { echo $$ >"$TMP/own" && cat "$TMP/own" >>"$TMP/pids"; }
	looked 2
}
export -f looked looked_at_us
company() { # a stranger is the script itself: it has not the mark of the run
	echo $$ >"$TMP/pids" && with_nvml "looked 1" && has "1 other program used the GPU" "$TMP/dump"
}
no_company() { # one that has ended has no environment any more, though the driver still names it for a moment: a zombie here
	local parent rc
	rm -f "$TMP/pids" "$TMP/own"
	# Its parent is a shell, which would wait for it, until it has become `sleep`, which does not.
	sh -c "{ until grep -q sleep /proc/\$\$/comm; do sleep 0.02; done; } & echo \$! >'$TMP/pids'; exec sleep 1000" &
	parent=$!
	wait_for test -s "$TMP/pids" && wait_for grep -q Z "/proc/$(cat "$TMP/pids")/stat" && with_nvml looked_at_us && lacks "other program" "$TMP/dump"
	rc=$?
	kill "$parent"
	return $rc
}
two_ranks() { # NAME ARGS…: both programs run at once; the rank that does not sample ends first, or it would sample after the other
	local r other pids=() busy=$TMP/busy.$1
	dir=$TMP/$1
	rm -f "$TMP"/told* "$TMP"/here? "$TMP"/end?
	for r in 0 1; do
		UNTIL="at_end $r" FAKE_PM_TOLD=$TMP/told.$r FAKE_PM_BUSY=$busy SLURM_JOB_ID=$1$$ SLURM_PROCID=$r SLURM_NTASKS=2 SLURM_STEP_ID=0 \
			timeout 600 "$SONDE" run "hydra.run.dir=$dir" "${@:2}" counters=basic -- "$TMP/prog" >"$TMP/out$r" 2>"$TMP/err$r" &
		pids+=($!)
	done
	wait_for ls "$TMP/here0" "$TMP/here1" && wait_for grep gave "$TMP"/told.? || return
	grep -qs gave "$TMP/told.0" && other=1 || other=0
	touch "$TMP/end$other"
	wait "${pids[$other]}"
	touch "$TMP/end$((1 - other))"
	wait
	cat "$TMP/err0" "$TMP/err1" >"$TMP/err"
	cat "$TMP"/told.? >"$TMP/told"
	[ "$(cat "$TMP/out0" "$TMP/out1" | grep -cx output)" = 2 ]
}
at_end() { # RANK: it is here; whether it may end
	: >"$TMP/here$1"
	[ -e "$TMP/end$1" ]
}
export -f at_end
ranks() { # two on one device: one samples, neither is refused, both programs run
	two_ranks ranks && dump && dumped_all && has "sampled by another rank" "$TMP/err" && lacks "no hardware counters" "$TMP/err"
}
ranks_with_local() { # the same with directories of their own on the node: still one sampler, and nobody is a stranger
	mkdir -p "$TMP/place" && two_ranks rl "capture.local=$TMP/place" && lacks "no hardware counters" "$TMP/err" && [ -z "$(ls -A "$TMP/place")" ] &&
		tar xf "$dir/native/$(uname -n).sonde.tar" -C "$dir/native" && [ "$(ls "$dir"/native/rank*/samples-*.sonde | wc -l)" = 1 ]
}

ok run__counters_basic_writes_samples basic
ok run__counters_off_writes_none off
ok run__counters_by_name named
ok run__counters_by_nvidias_name_have_their_role by_name
ok run__without_permission_has_times_only without FAKE_PM_ERROR=enable:35 "ERR_NVGPUCTRPERM"
ok run__without_permission_gpm_counts gpm_instead enable:35 "the reason: the counters are for administrators only"
ok run__a_taken_device_is_counted_by_gpm gpm_instead enable:7 "the reason: another program samples this GPU already"
ok run__gpm_counts_where_it_is_asked_for gpm_asked
ok run__gpm_counts_beside_pm_sampling gpm_beside
ok run__gpm_counts_beside_pc_samples gpm_beside_lines
ok run__gpm_that_is_not_there_is_told no_gpm
ok run__only_pm_sampling_if_that_is_asked_for only_pm
ok run__without_cupti_has_times_only without SONDE_CUPTI=/nowhere "CUPTI was not found"
ok run__with_an_old_cupti_has_times_only without "SONDE_CUPTI=$PWD/$BUILD/fake/libcupti_fake.so" "this CUPTI is too old"
ok run__a_taken_device_has_times_only without FAKE_PM_ERROR=enable:7 "another program samples this GPU"
ok run__a_decoder_that_fails_midway_is_told without FAKE_PM_ERROR=decode:999 "decode samples"
ok run__idleness_is_one_sample idle
ok run__each_device_has_a_sampler two_devices
ok run__sets_that_took_turns_are_told in_turns
ok run__gaps_are_told run_gap
ok run__a_killed_sampler_costs_counters_only killed
ok run__a_sampler_without_sonde_ends_by_itself orphaned
ok run__other_programs_on_the_device_are_told company
ok run__a_program_that_ends_is_no_other_one no_company
ok run__ranks_share_a_sampler ranks
ok run__ranks_with_local_captures_share_a_sampler ranks_with_local
