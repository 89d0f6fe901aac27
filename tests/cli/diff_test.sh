#!/usr/bin/env bash
# `sonde diff`: outputs, exit statuses, and what it refuses.
# Runs long.
. "$(dirname "$0")/../lib.sh"
D=tests/data/diff
EAGER=$D/eager.sonde.gz GRAPH=$D/graph.sonde.gz TRAIN=$D/train.sonde.gz

one_line() { tr -s '\n ' ' ' <"$1"; } # sentences are wrapped
says() { { one_line "$TMP/out" && one_line "$TMP/err"; } | grep -qF -- "$1"; }

# Makes a trace in torch.profiler's format: 100 steps of two regions; `mlp` takes the given multiple of its usual time.
trace() { # FACTOR SEED [GPU [RANK SIZE]]
	python3 - "$@" <<'PY'
import json, random, sys
factor, seed, gpu, ranks = float(sys.argv[1]), int(sys.argv[2]), (sys.argv[3:] or ["NVIDIA H200"])[0], sys.argv[4:]
random.seed(seed)
events, now, corr = [], 1000.0, 1
def span(name, cat, ts, dur, tid, **args):
    events.append(dict(ph="X", cat=cat, name=name, pid=7, tid=tid, ts=ts, dur=dur, args=args))
for step in range(100):
    begin = now
    for name, us in (("attn", 40), ("mlp", 60)):
        t, dur = now, us * random.gauss(1, 0.02) * (factor if name == "mlp" else 1)
        span("cudaLaunchKernel", "cuda_runtime", t + 1, 2, 7, correlation=corr)
        events.append(dict(ph="X", cat="kernel", name=name + "_kernel", pid=0, tid=7, ts=t + 5, dur=dur,
                           args=dict(device=0, context=1, stream=7, correlation=corr)))
        corr += 1
        now += dur + 10
        span(name, "user_annotation", t, now - t - 1, 7)
    span("step", "user_annotation", begin, now - begin, 7)
    now += 5
job = dict(distributedInfo=dict(rank=int(ranks[0]), world_size=int(ranks[1]))) if ranks else {}
json.dump(dict(deviceProperties=[dict(id=0, name=gpu)], traceEvents=events, **job), sys.stdout)
PY
}
trace 1 1 >"$TMP/a.json"
trace 1 2 >"$TMP/a2.json"
trace 1.3 3 >"$TMP/b.json"
trace 1 4 "NVIDIA A100" >"$TMP/other.json"

unnamed() { "$SONDE" diff "$@" | sed 1,2d; } # the comparison without the names of its sides
ok diff__text golden diff.txt "$SONDE" diff "$EAGER" "$GRAPH" --width 110
short_text() { # both sides by name, at most 20 rows, and who has none is counted
	status 0 "$SONDE" diff "$EAGER" "$GRAPH" --width 110 && grep -qx "base: $EAGER" "$TMP/out" && grep -qx "new:  $GRAPH" "$TMP/out" &&
		[ "$(sed -n '/^region/,/^no room/p' "$TMP/out" | sed '1d;$d' | wc -l)" = 20 ] && grep -q '^15 regions have too few or too noisy entries to be compared (--all)' "$TMP/out" &&
		sed -n '/^region/,/^\(no room\|\.\.\. and\)/p' "$TMP/out" | absent insufficient && grep -q '^decode/step ' "$TMP/out" && status 0 "$SONDE" diff "$EAGER" "$GRAPH" --width 110 --all && grep -q 'insufficient, needs 8 entries' "$TMP/out" &&
		! grep -q 'entries to be compared (--all)' "$TMP/out"
}
ok diff__text_is_short_and_names_its_sides short_text
narrow() { # every line but a name that is too long for it; files too, and terminals without UTF-8
	status 0 "$SONDE" diff "$TRAIN" $D/fused.sonde.gz --width 60 && absent -P '.{61}' "$TMP/out" && COLUMNS=72 status 0 "$SONDE" diff "$TRAIN" $D/fused.sonde.gz && absent -P '.{73}' "$TMP/out" && grep -q '.\{66\}' "$TMP/out" &&
		LC_ALL=C status 0 "$SONDE" diff "$TRAIN" $D/fused.sonde.gz && says '3.49 ms -> 513.47 us per entry'
}
ok diff__sentences_are_wrapped_to_the_terminal narrow
undecided() { # where nothing can be told all have a row, and why; the sentence and the table need the same
	local one=tests/data/ncu/seed_kernel.ncu-rep
	status 0 "$SONDE" diff --base $one $one --new $one $one && says '1. A is undecided, +0.0 %: 137.83 µs → 137.83 µs per entry on the GPU: at least 8 runs per side are needed; there are 2 and 2' &&
		grep -q '^A .* insufficient, needs 8 runs$' "$TMP/out" && says 'too few or too noisy entries to say whether any region changed: compare more runs per side, or longer ones' && absent 'base-cmd' "$TMP/out" &&
		status 0 "$SONDE" diff "$EAGER" "$GRAPH" && absent '^too few or too noisy entries to say' "$TMP/out"
}
ok diff__why_nothing_can_be_told undecided
ok diff__markdown golden diff.md "$SONDE" diff "$EAGER" "$GRAPH" -f md --max-regions 12
for f in json html junit; do
	ok "diff__${f}_is_the_same_every_time" cmp <(unnamed "$EAGER" "$GRAPH" -f $f) <(unnamed "$EAGER" "$GRAPH" -f $f)
done
is_valid() { "$SONDE" diff "$@" -f json -o "$TMP/d.json" && "$SONDE" validate "$TMP/d.json"; }
ok diff__json_is_valid is_valid "$EAGER" "$GRAPH"
ok diff__json_of_a_slower_region_is_valid is_valid "$TMP/a.json" "$TMP/b.json"
wrong_json() {
	sed 's/"likely_slower": 2/"likely_slower": 1/' "$TMP/d.json" >"$TMP/wrong.json" && status 1 "$SONDE" validate "$TMP/wrong.json" && says '$.totals.likely_slower'
}
ok diff__validate_counts_the_verdicts wrong_json
is_xml() { "$SONDE" diff "$TMP/a.json" "$TMP/b.json" -f "$1" | python3 -c 'import sys, xml.dom.minidom as x; x.parseString(sys.stdin.read())'; }
ok diff__junit_is_xml is_xml junit
page_data() { # BASE NEW: the data of the page, after what it shows without scripts was found well-formed
	"$SONDE" diff "$1" "$2" -f html -o "$TMP/page.html" && python3 - "$TMP/page.html" <<'EOF'
import json, re, sys, xml.dom.minidom
page = open(sys.argv[1], encoding="utf-8").read()
xml.dom.minidom.parseString("<div>" + re.search("<noscript>(.*)</noscript>", page, re.S).group(1) + "</div>")
data = json.loads(re.search('id="data">(.*?)</script>', page, re.S).group(1))
for r in data["regions"]:
    print(r["class"], r["id"] + r["mark"], "%.1f" % (100 * (r["ratio"] or 1) - 100), len(r["kernels"]), len(data["regions"]))
EOF
}
boxes() { # a row of data per region, with its verdict and the kernels that carry the change
	page_data "$TMP/a.json" "$TMP/b.json" >"$TMP/out" && [ "$(grep -c '^slower ' "$TMP/out")" = 2 ] && grep -q '^slower step/mlp 2[0-9.]* [1-9]' "$TMP/out" &&
		page_data "$EAGER" "$GRAPH" >"$TMP/out" && grep -q '^added decode/step/layer0 (graph) ' "$TMP/out"
}
ok diff__html_has_regions_with_verdicts_and_kernels boxes
signed() { "$SONDE" diff "$TMP/a.json" "$TMP/b.json" -f html | grep 'class="v slower"' | grep -q '</td><td>+[0-9.]*</td><td>+[0-9.]* %</td>'; }
ok diff__html_has_the_signs_of_text_and_markdown signed

slower() { status 0 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" && says 'step/mlp is ' && says 'longer kernels: mlp_kernel +' && says '2 likely slower, 0 likely faster' && says 'One capture per side cannot show how much runs differ'; }
ok diff__a_slower_region_is_named slower
same() { status 0 "$SONDE" diff "$TMP/a.json" "$TMP/a2.json" --fail-above 1% && says 'No difference was found'; }
ok diff__the_same_program_twice_names_nothing same
ok diff__a_capture_is_the_same_as_itself status 0 "$SONDE" diff "$TRAIN" "$TRAIN"

# --- the gate
ok diff__slower_than_allowed_is_3 status 3 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --single --fail-above 5%
gate_in_page() { status 3 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --fail-above 5% -f html --single && says 'Gate failed: step is likely 1'; }
ok diff__the_page_says_how_the_gate_ended gate_in_page
one_capture() { # is likely slower, and no more: several runs decide, or --single
	status 4 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --fail-above 5% && says 'step/mlp is likely ' && says '1 region is likely slower than allowed' && says --single &&
		status 0 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --fail-above 5% --allow-insufficient && status 3 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --fail-above 5% --single
}
ok diff__one_capture_a_side_is_likely_slower_and_4 one_capture
undecided_gate() { # it names the region and its reason, in every format; so does one that fails
	local five="$D/n5_a.json.gz $D/n5_b.json.gz --fail-above" f
	for f in text md html junit json; do
		status 4 "$SONDE" diff $five 5% -f $f && says 'loop is undecided, +0.1 %: at least 8 entries per side are needed; there are 5 and 5' || return
	done
	status 4 "$SONDE" diff $five '*=5%' && says 'more regions are undecided' && [ "$(one_line "$TMP/out" | grep -o ' gate: ' | wc -l)" = 6 ] &&
		status 0 "$SONDE" diff $five 5% --allow-insufficient && says 'gate: undecided, and let pass: ' &&
		status 3 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --fail-above 'step/m*=5%' --single && one_line "$TMP/out" | grep -qE 'gate: failed: step/mlp is likely [0-9.]* % slower; the limit is 5 %'
}
ok diff__a_gate_names_what_decided_it undecided_gate
singular() { # a trace with one region
	local f
	for f in a a2; do
		python3 -c 'import json, sys; t = json.load(sys.stdin); t["traceEvents"] = [e for e in t["traceEvents"] if e["cat"] != "user_annotation" or e["name"] == "step"]; json.dump(t, sys.stdout)' <"$TMP/$f.json" >"$TMP/one_$f.json" || return
	done
	status 0 "$SONDE" diff "$TMP/one_a.json" "$TMP/one_a2.json" && says 'No difference was found: 1 region is the same within 2 %, 0 have too few' &&
		status 0 "$SONDE" diff "$TMP/one_a.json" "$TMP/one_a2.json" -f md && says '| step |'
}
ok diff__one_region_is_one singular
step_has_a_row() { # also if it did not change and there are few rows
	status 0 "$SONDE" diff "$TMP/a.json" "$TMP/a2.json" -f md && says '| step |' && ! says '| step/attn' && says '2 regions are the same within 2 % and not listed' &&
		status 0 "$SONDE" diff "$EAGER" "$GRAPH" -f md --max-regions 1 && says '| decode/step |' && status 0 "$SONDE" diff "$TMP/a.json" "$TMP/a2.json" --max-regions 1 && grep -q '^step ' "$TMP/out"
}
ok diff__the_step_has_a_row step_has_a_row
five_entries() { # the same program: five against five are no evidence, however far apart
	local p
	for p in n5 ar1_5; do
		status 4 "$SONDE" diff "$D/${p}_a.json.gz" "$D/${p}_b.json.gz" --fail-above 5% --single && says 'No difference was found: 0 regions are the same within 2 %, 41 have too few' &&
			says 'at least 8 entries per side are needed; there are 5 and 5' || return
	done
}
ok diff__five_entries_are_no_evidence five_entries
ok diff__slower_within_bounds_is_0 status 0 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --fail-above 50%
ok diff__faster_is_0 status 0 "$SONDE" diff "$TMP/b.json" "$TMP/a.json" --fail-above 5%
ok diff__a_gate_of_other_regions_is_0 status 0 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --fail-above '*/attn=5%'
ok diff__a_gate_by_path_is_3 status 3 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --single --fail-above 90% --fail-above 'step/m*=3%'
ok diff__insufficient_is_4 status 4 "$SONDE" diff "$D/n5_a.json.gz" "$D/n5_b.json.gz" --fail-above 5%
ok diff__insufficient_may_be_allowed status 0 "$SONDE" diff "$D/n5_a.json.gz" "$D/n5_b.json.gz" --fail-above 5% --allow-insufficient
ok diff__what_is_insufficient_besides_the_step_decides_nothing status 0 "$SONDE" diff "$TRAIN" "$TRAIN" --fail-above 5%
junit_fails() { status 3 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --fail-above 5% -f junit --single && says 'tests="1" failures="1"' && says '<failure message="'; }
ok diff__junit_has_the_failures_of_the_gate junit_fails

# --- wall time: what overlaps takes less, and a host that launches slowly takes more
overlap() { # two kernels at once take longer each, and the step less; the same kernels one after the other
	status 0 "$SONDE" diff "$D/serial.json.gz" "$D/conc.json.gz" --fail-above 5% --single && says 'step is likely 26.1 % faster: 2.08 ms → 1.54 ms per entry' && says 'GPU time +50.0 %' && says 'more overlap' &&
		status 3 "$SONDE" diff "$D/serial.json.gz" "$D/conc.json.gz" --fail-above gpu:5% --single &&
		status 3 "$SONDE" diff "$D/conc_same.json.gz" "$D/serial.json.gz" --fail-above 5% --single && says 'step is likely 101.1 % slower: 1.03 ms → 2.08 ms per entry' && says 'GPU time as before; less overlap' &&
		status 0 "$SONDE" diff "$D/conc_same.json.gz" "$D/serial.json.gz" --fail-above gpu:step=5% --single
}
ok diff__overlap_is_faster_and_its_loss_slower overlap
graph_lost() { # the host is ahead of the GPU by many steps in the one, and behind in the other: a step still takes what it takes
	status 3 "$SONDE" diff "$GRAPH" "$EAGER" --fail-above 5% --single && says '1. decode/step is likely 317.0 % slower: 317.25 µs → 1.32 ms per entry' && says 'GPU time as before; the GPU waits longer' &&
		status 0 "$SONDE" diff "$GRAPH" "$EAGER" --fail-above gpu:decode/step=5% && status 3 "$SONDE" diff "$GRAPH" "$EAGER" --fail-above host:decode/step=5% --single
}
ok diff__a_step_without_its_graph_is_slower graph_lost

# Makes a trace of a loop: EPOCHS of 40 steps. A step has one kernel of KERNEL µs; before it the host needs BETWEEN µs outside of any range.
# Way `ahead` does not wait for the GPU, and `two` has a second thread that does the same a bit later; `late` varies BETWEEN a lot.
loop() { # EPOCHS BETWEEN KERNEL SEED [WAY]
	python3 - "$@" <<'PY'
import json, random, sys
epochs, between, kernel, seed, way = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), (sys.argv[5:] or [""])[0]
rng, events, gpu, call = random.Random(seed), [], 0.0, 1
def span(name, cat, ts, dur, tid, **args):
    events.append(dict(ph="X", cat=cat, name=name, pid=7, tid=tid, ts=ts, dur=dur, args=args))
for tid in (7, 8) if way == "two" else (7,):
    now = 1000.0 + 300 * (tid - 7)
    for epoch in range(epochs):
        start = now
        now += 1
        for step in range(40):
            now += between * (rng.choice([0.05, 0.2, 1, 3]) if way == "late" else rng.gauss(1, 0.02))
            begin, us = now, kernel * rng.gauss(1, 0.01)
            span("cudaLaunchKernel", "cuda_runtime", now + 1, 4, tid, correlation=call)
            gpu = max(gpu, now + 6)
            events.append(dict(ph="X", cat="kernel", name="gemm", pid=0, tid=7, ts=gpu, dur=us, args=dict(device=0, context=1, stream=7, correlation=call)))
            gpu, call, now = gpu + us, call + 1, now + 8
            now = now if way == "ahead" else max(now, gpu + 2)
            span("step", "user_annotation", begin, now - begin, tid)
        if epochs > 1:
            span("epoch", "user_annotation", start, now + 1 - start, tid)
            now += 5
json.dump(dict(deviceProperties=[dict(id=0, name="NVIDIA H200")], traceEvents=events), sys.stdout)
PY
}
epochs() { # too few epochs to be compared: the steps in them are; report.step chooses another region
	local n
	for n in 2 3; do
		loop $n 10 500 1 >"$TMP/epochs.json" && loop $n 10 600 2 >"$TMP/slow.json" && status 3 "$SONDE" diff "$TMP/epochs.json" "$TMP/slow.json" --fail-above 5% --single &&
			says '1. epoch/step is likely ' || return
	done
	status 4 "$SONDE" diff "$TMP/epochs.json" "$TMP/slow.json" --fail-above 5% --single report.step=epoch && says '1. epoch is undecided, ' && says 'at least 8 entries per side are needed; there are 3 and 3' &&
		loop 9 10 500 1 >"$TMP/many.json" && status 0 "$SONDE" diff "$TMP/many.json" "$TMP/many.json" && says '1. epoch is the same' && status 0 "$SONDE" diff "$TMP/many.json" "$TMP/many.json" report.step=epoch/step && says '1. epoch/step is the same' &&
		"$SONDE" report "$TMP/many.json" -f json -o "$TMP/many.report.json" && status 2 "$SONDE" diff "$TMP/many.report.json" "$TMP/many.report.json" report.step=nonesuch && says "neither side has a region 'nonesuch'"
}
ok diff__the_step_has_enough_entries_or_is_the_chosen_one epochs
# The time between steps grows: the step is as before, and an iteration of it is not.
runs_of_loops() {
	local s
	for s in 1 2 3; do loop 1 500 3000 $s >"$TMP/fed$s.json" && loop 1 3000 3000 1$s >"$TMP/starved$s.json" || return; done
}
of_runs() { "$SONDE" diff --base "$TMP"/fed?.json --new "$TMP"/starved?.json "$@"; }
of_captures() { "$SONDE" diff "$TMP/fed1.json" "$TMP/starved1.json" "$@"; }
starved() {
	runs_of_loops && status 3 of_runs --fail-above 5% && ! says 'No difference was found' &&
		says '1. An iteration of step takes 72.4 % longer: 3.50 ms → 6.03 ms' &&
		says '; the time between its entries grew from 496.51 µs to 3.02 ms' && says '2. step is the same within 2 %'
}
starved_in_other_formats() {
	status 0 of_runs -f md && says '1. An iteration of step takes ' &&
		status 0 of_runs -f html && says '"An iteration of step takes ' && says '<li>An iteration of step takes '
}
starved_gates() { # only a limit of iterations, or one without a name, is exceeded
	status 0 of_runs --fail-above wall:5% && status 0 of_runs --fail-above 90% && status 3 of_runs --fail-above iteration:step=50%
}
fed_again() {
	status 0 "$SONDE" diff --base "$TMP"/starved?.json --new "$TMP"/fed?.json --fail-above 5% && says 'An iteration of step takes 42.0 % less: '
}
starved_capture() { # one capture per side
	status 4 of_captures --fail-above 5% && says 'An iteration of step likely takes 7' &&
		status 3 of_captures --fail-above 5% --single -f junit && says 'ms per iteration, +7' &&
		status 3 of_captures --fail-above 5% --single -f json -o "$TMP/d.json" && "$SONDE" validate "$TMP/d.json" && python3 - "$TMP/d.json" <<-'PY'
	import json, sys
	r = json.load(open(sys.argv[1]))["regions"][0]
	assert (r["verdict"], r["gate"], r["limit_time"], r["step"]) == ("same", "fail", "iteration", True), r
	i, w = r["times"]["iteration"], r["times"]["wall"]
	assert i["verdict"] == "likely_slower" and 3.4 < i["base_ms"] < 3.6 and 5.9 < i["new_ms"] < 6.1 and w["verdict"] == "same", r["times"]
	PY
}
ok diff__time_between_steps_is_part_of_an_iteration starved
ok diff__iterations_are_in_every_format starved_in_other_formats
ok diff__limits_of_other_times_leave_iterations_out starved_gates
ok diff__shorter_iterations_pass fed_again
ok diff__iterations_of_one_capture_are_likely_longer starved_capture
paced() { # a host that runs ahead of the GPU may take longer between steps: nobody waits for it. Two threads have no iterations. What scatters and seems slower is undecided
	loop 1 100 500 1 ahead >"$TMP/ahead.json" && loop 1 300 500 2 ahead >"$TMP/behind.json" && status 0 "$SONDE" diff "$TMP/ahead.json" "$TMP/behind.json" --fail-above 5% --single && says 'No difference was found' &&
		loop 1 500 100 1 two >"$TMP/two.json" && loop 1 2000 100 2 two >"$TMP/two2.json" && status 0 "$SONDE" diff "$TMP/two.json" "$TMP/two2.json" -f json && grep -q '"iteration": null' "$TMP/out" &&
		loop 1 500 1000 1 late >"$TMP/late.json" && loop 1 700 1000 2 late >"$TMP/later.json" && status 4 "$SONDE" diff "$TMP/late.json" "$TMP/later.json" --fail-above 5% --single && says 'An iteration of step is undecided, +' &&
		status 0 "$SONDE" diff "$TMP/later.json" "$TMP/late.json" --fail-above 5% --single
}
ok diff__iterations_are_paced_by_who_is_waited_for paced
two_wall_times() { # that of a report includes waiting for earlier entries, that of a comparison does not: both say so
	status 0 "$SONDE" report --entries "$TMP/ahead.json" && grep -qx 'wall: from the beginning of an entry, waiting for the work of earlier entries included' "$TMP/out" &&
		status 0 "$SONDE" report --entries "$TMP/fed1.json" && absent '^wall: from' "$TMP/out" && status 0 "$SONDE" diff "$TMP/ahead.json" "$TMP/ahead.json" && says 'from the end of earlier work until it and all that it launched had ended (wall time)'
}
ok diff__wall_times_say_when_they_begin two_wall_times
kernels_of_overlap() { # kernels that take as long as before do not explain lost overlap
	status 0 "$SONDE" diff "$D/conc_same.json.gz" "$D/serial.json.gz" && says 'less overlap' && ! says 'less overlap:'
}
ok diff__overlap_names_no_kernels kernels_of_overlap
minor() { # what is entered once a run never decides, also by name
	status 4 "$SONDE" diff "$GRAPH" "$EAGER" --fail-above decode=5% --single && says 'is entered only once per run, or takes less than 1 % of the time, so it cannot decide the gate'
}
ok diff__what_is_entered_once_never_decides minor
wall_is_said() { # JSON has every time that was compared, and validate compares the verdict with them
	status 0 "$SONDE" diff "$D/serial.json.gz" "$D/conc.json.gz" -f json -o "$TMP/d.json" && "$SONDE" validate "$TMP/d.json" && python3 - "$TMP/d.json" <<-'PY' && sed 's/"wall": {"verdict": "likely_faster"/"wall": {"verdict": "same"/' "$TMP/d.json" >"$TMP/wrong.json" &&
	import json, sys
	r = json.load(open(sys.argv[1]))["regions"][0]
	assert (r["time"], r["step"], r["cause"]) == ("wall", True, "overlap"), r
	assert r["times"]["wall"]["verdict"] == r["verdict"] == "likely_faster" and r["times"]["gpu"]["verdict"] == "likely_slower" and r["times"]["host"] is None, r["times"]
	PY
		! cmp -s "$TMP/d.json" "$TMP/wrong.json" && status 1 "$SONDE" validate "$TMP/wrong.json" && says '.times'
}
ok diff__every_time_is_in_the_json_and_checked wall_is_said

# --- a gate that compared nothing has not passed
echo '{"traceEvents": []}' >"$TMP/empty.json"
only() { # NAMES… <TRACE: without the annotations of other names
	python3 -c 'import json, sys
d = json.load(sys.stdin)
d["traceEvents"] = [e for e in d["traceEvents"] if e["cat"] != "user_annotation" or e["name"] in sys.argv[1:]]
json.dump(d, sys.stdout)' "$@"
}
only attn <"$TMP/a.json" >"$TMP/attn.json"
only mlp <"$TMP/a2.json" >"$TMP/mlp.json"
only step attn <"$TMP/a2.json" >"$TMP/less.json"
python3 -c 'import json, sys
d = json.load(sys.stdin)
d["traceEvents"] = [e for e in d["traceEvents"] if e["cat"] == "user_annotation"]
json.dump(d, sys.stdout)' <"$TMP/a2.json" >"$TMP/idle.json"
"$SONDE" report "$TMP/a.json" --nvtx-include nonesuch -f json -o "$TMP/none.report.json" 2>/dev/null
"$SONDE" report "$TMP/a2.json" --kernel-include nonesuch -f json -o "$TMP/nokernel.report.json" 2>/dev/null
uncompared() { # REASON SIDES AND OPTIONS…: status 4, whatever is allowed; every format has the reason
	local reason=$1 f
	shift
	for f in text md html json junit; do
		status 4 "$SONDE" diff "$@" --fail-above 5% -f $f && says "$reason" && status 4 "$SONDE" diff "$@" --fail-above 5% --allow-insufficient -f $f &&
			one_line "$TMP/out" | grep -qF -- "$reason" && grep -qF -- "$reason" "$TMP/err" && ! grep -qi 'gate:\? passed' "$TMP/out" || return
	done
	grep -q 'failures="0" errors="[1-9]' "$TMP/out" && status 0 "$SONDE" diff "$@"
}
ok diff__a_gate_on_an_empty_side_does_not_pass uncompared 'it has no region and no launch' "$TMP/a.json" "$TMP/empty.json"
ok diff__a_gate_on_an_empty_base_does_not_pass uncompared 'it has no region and no launch' "$TMP/empty.json" "$TMP/a.json"
ok diff__a_gate_on_a_side_without_launches_does_not_pass uncompared 'it launches nothing on a GPU, but other runs do' "$TMP/a.json" "$TMP/idle.json"
ok diff__a_gate_without_a_common_region_does_not_pass uncompared 'no region is on both sides' "$TMP/attn.json" "$TMP/mlp.json"
ok diff__a_gate_on_ranges_that_match_nothing_does_not_pass uncompared 'select none of its launches' "$TMP/a.json" "$TMP/a2.json" 'report.nvtx.include=[nonesuch]'
ok diff__a_gate_on_kernels_that_match_nothing_does_not_pass uncompared 'select none of its launches' "$TMP/a.json" "$TMP/a2.json" 'report.kernels.include=[nonesuch]'
ok diff__a_gate_on_reports_of_nothing_does_not_pass uncompared 'select none of its launches' "$TMP/none.report.json" "$TMP/none.report.json"
ok diff__a_gate_on_reports_of_no_kernel_does_not_pass uncompared 'select none of its launches' "$TMP/nokernel.report.json" "$TMP/nokernel.report.json"
ok diff__a_gate_does_not_pass_by_leaving_out_an_empty_run uncompared 'empty.json) cannot be compared' --base "$TMP/a.json" "$TMP/a2.json" --new "$TMP/a.json" "$TMP/empty.json"
misnamed() { # a limit of no region is a mistake in the command, also beside one of the step
	status 2 "$SONDE" diff "$TMP/a.json" "$TMP/a2.json" --fail-above 'nonesuch=5%' --allow-insufficient && says "--fail-above 'nonesuch=5%': no region of either side matches" &&
		status 2 "$SONDE" diff "$TMP/a.json" "$TMP/a2.json" --fail-above 5% --fail-above 'gpu:nonesuch=5%' && says "such as 'step'"
}
ok diff__a_limit_that_matches_no_region_is_wrong_usage misnamed
vanished() { # of three gated regions one is gone
	status 4 "$SONDE" diff "$TMP/a.json" "$TMP/less.json" --fail-above '*=50%' -f junit && says 'tests="3" failures="0" errors="1" skipped="0"' &&
		grep -A1 'name="step/mlp">' "$TMP/out" | grep -q '<error message=.*removed' &&
		status 0 "$SONDE" diff "$TMP/a.json" "$TMP/less.json" --fail-above '*=50%' --allow-insufficient -f junit && says 'errors="0" skipped="1"' &&
		status 4 "$SONDE" diff "$TMP/a.json" "$TMP/less.json" --fail-above 'step/mlp=50%' --allow-insufficient && says 'no matching region is on both sides' &&
		status 0 "$SONDE" diff "$TMP/less.json" "$TMP/a.json" --fail-above '*=50%' -f junit && grep -A1 'name="step/mlp">' "$TMP/out" | grep -q '<skipped message=.*added' &&
		status 0 "$SONDE" diff "$TMP/a.json" "$TMP/less.json" --fail-above 50%
}
ok diff__a_gated_region_that_is_gone_has_not_passed vanished
no_gate() { # nothing says how slow is too slow: no failure, and status 0
	status 0 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" -f junit && says 'failures="0" errors="0" skipped="2"'
}
ok diff__junit_without_a_gate_fails_nothing no_gate
false_gate() { # PATH FROM TO: a comparison whose gate does not agree with itself
	status 4 "$SONDE" diff "$TMP/a.json" "$TMP/less.json" --fail-above '*=50%' -f json -o "$TMP/d.json" && "$SONDE" validate "$TMP/d.json" && sed "s/$2/$3/" "$TMP/d.json" >"$TMP/wrong.json" &&
		! cmp -s "$TMP/d.json" "$TMP/wrong.json" && status 1 "$SONDE" validate "$TMP/wrong.json" && says "$1"
}
ok diff__validate_knows_how_a_gate_ends false_gate '$.gate.exit_status' '"exit_status": 4' '"exit_status": 0'
ok diff__validate_compares_the_gate_with_its_regions false_gate '$.gate.verdict' '"verdict": "insufficient",\( *\)$' '"verdict": "pass",\1'

# --- a gate needs whole inputs
head -c $(($(stat -c %s "$TMP/a2.json") / 2)) "$TMP/a2.json" >"$TMP/half.json"
gzip -dc "$TRAIN" >"$TMP/train.sonde"
head -c $(($(stat -c %s "$TMP/train.sonde") * 9 / 10)) "$TMP/train.sonde" >"$TMP/cut.sonde"
gzip -c "$TMP/a2.json" | head -c 5000 >"$TMP/half.json.gz"
"$SONDE" report "$TMP/half.json" -f json -o "$TMP/half.report.json"
"$SONDE" report "$TMP/half.json" --partial -o "$TMP/half.sondecells"
mkdir -p "$TMP/ranks" "$TMP/bad" "$TMP/void" "$TMP/one"
for r in 0 1; do
	trace 1 1$r "NVIDIA H200" $r 2 >"$TMP/ranks/$r.json"
	trace 1 2$r "NVIDIA H200" $r 2 | tee "$TMP/bad/$r.json" >"$TMP/void/$r.json"
done
cp "$TMP/bad/0.json" "$TMP/one"
echo '{"traceEvents": [' >"$TMP/bad/1.json"
: >"$TMP/void/1.json"
not_whole() { # SIDE WHAT BASE NEW: status 1 with the reason in every format, and on standard error; --partial-inputs asks the gate, without a gate it is 0
	local f
	for f in text md html json junit; do
		status 1 "$SONDE" diff "$3" "$4" --fail-above 90% --allow-insufficient -f $f && one_line "$TMP/out" | grep -F "$1 is incomplete: " | grep -q "$2" &&
			grep "$1 is incomplete: " "$TMP/err" | grep -q "$2" && grep -qF -- --partial-inputs "$TMP/err" && ! grep -qi 'gate:\? passed' "$TMP/out" || return
	done
	grep -q 'errors="[1-9]' "$TMP/out" && status 0 "$SONDE" diff "$3" "$4" --fail-above 90% --allow-insufficient --partial-inputs -f json && grep -q "$2" "$TMP/out" &&
		"$SONDE" validate "$TMP/out" && python3 -c 'import json, re, sys
d = json.load(open(sys.argv[1]))
assert d["gate"]["partial_inputs"] and any(re.search(sys.argv[3], n["text"]) and n["side"] == sys.argv[2] for n in d["losses"]), d["losses"]
assert all(n["side"] + ": " + n["text"] in d["notes"] for n in d["losses"])' "$TMP/out" "$([ "$1" = "the base" ] && echo base || echo new)" "$2" &&
		status 0 "$SONDE" diff "$3" "$4" && one_line "$TMP/out" | grep -q "not whole: .*$2"
}
ok diff__a_gate_on_a_trace_cut_in_half_is_1 not_whole 'the new side' 'half.json: truncated after' "$TMP/a.json" "$TMP/half.json"
ok diff__a_gate_on_a_base_cut_in_half_is_1 not_whole 'the base' 'half.json: truncated after' "$TMP/half.json" "$TMP/a.json"
ok diff__a_gate_on_a_compressed_trace_cut_in_half_is_1 not_whole 'the new side' 'half.json.gz: truncated after' "$TMP/a.json" "$TMP/half.json.gz"
ok diff__a_gate_on_a_capture_without_an_end_is_1 not_whole 'the new side' 'the capture has no end' "$TMP/train.sonde" "$TMP/cut.sonde"
ok diff__a_gate_on_the_report_of_half_a_trace_is_1 not_whole 'the new side' 'half.json: truncated after' "$TMP/a.json" "$TMP/half.report.json"
ok diff__a_gate_on_a_partial_report_of_half_a_trace_is_1 not_whole 'the new side' 'half.json: truncated after' "$TMP/a.json" "$TMP/half.sondecells"
ok diff__a_gate_on_a_folder_with_an_unreadable_rank_is_1 not_whole 'the new side' 'bad/1.json: .*it is left out' "$TMP/ranks" "$TMP/bad"
ok diff__a_gate_on_a_folder_with_an_empty_rank_is_1 not_whole 'the new side' 'void/1.json: the file is empty' "$TMP/ranks" "$TMP/void"
ok diff__a_gate_on_a_job_without_one_of_its_ranks_is_1 not_whole 'the new side' '1 rank that other runs have is missing: 1' "$TMP/ranks" "$TMP/one"
chosen_ranks() { # both sides of the same ranks: that is how they were captured
	status 0 "$SONDE" diff "$TMP/one" "$TMP/one" --fail-above 90% --allow-insufficient && says "note: both: 1 of the job's 2 ranks is here: 0"
}
ok diff__a_gate_on_chosen_ranks_is_asked chosen_ranks
remarks() { # what is no damage is said, with its side, and bothers no gate
	local f
	only >"$TMP/bare.json" <"$TMP/a2.json"
	for f in text md html json junit; do
		status 0 "$SONDE" diff "$TMP/bare.json" "$TMP/a.json" -f $f && grep -q 'base: .*bare.json: the trace has no annotations' "$TMP/out" || return
	done
	status 0 "$SONDE" diff "$TMP/a.json" "$TMP/a2.json" --fail-above 90%
}
ok diff__notes_of_both_sides_are_shown_with_their_side remarks

# --- what may be compared
refused() { status 1 "$SONDE" diff "$TMP/a.json" "$TMP/other.json" && says 'device: NVIDIA H200 in the base, NVIDIA A100 in the new side' && says '--force'; }
ok diff__another_gpu_is_refused refused
ok diff__another_gpu_may_be_forced status 0 "$SONDE" diff "$TMP/a.json" "$TMP/other.json" --force
ncu_refused() { status 1 "$SONDE" diff examples/h200_transformer.ncu-rep "$TMP/a.json" && says 'Nsight Compute in the base'; }
ok diff__ncu_against_a_timeline_is_refused ncu_refused

clocks() { # what the device can do, and what it did
	"$SONDE" report examples/h200_train -f json -o "$TMP/fast.json" &&
		sed 's/"device__attribute_clock_rate": 1980000/"device__attribute_clock_rate": 1700000/' "$TMP/fast.json" >"$TMP/slow.json" &&
		status 0 "$SONDE" diff "$TMP/fast.json" "$TMP/slow.json" && says 'highest SM clock: 1980 MHz in the base, 1700 MHz in the new side' && ! says 'differs: SM clock' &&
		python3 - "$TMP/fast.json" >"$TMP/hot.json" <<-'PY' && status 0 "$SONDE" diff examples/h200_train "$TMP/hot.json" && says 'differs: SM clock: ' && status 0 "$SONDE" diff examples/h200_train "$TMP/fast.json" && ! says clock
		import json, sys
		d = json.load(open(sys.argv[1]))
		for r in d["aggregate"]["regions"]:
		    name = "sm__cycles_elapsed.avg.per_second"
		    if r["metrics"].get(name):
		        r["metrics"][name] *= 0.8
		        for k in r["metric_ranges"].get(name, {}):
		            r["metric_ranges"][name][k] *= 0.8
		json.dump(d, sys.stdout)
		PY
}
ok diff__other_clocks_are_said clocks

# --- sides
several() { status 3 "$SONDE" diff --base "$TMP/a.json" "$TMP/a2.json" --new "$TMP/b.json" "$TMP/b2.json" "$TMP/b3.json" --fail-above 5%; }
trace 1.3 5 >"$TMP/b2.json"
trace 1.3 6 >"$TMP/b3.json"
ok diff__several_runs_a_side several
more_runs() {
	status 0 "$SONDE" diff --base "$TRAIN" "$TRAIN" --new "$TRAIN" "$TRAIN" "$TRAIN" -f json && grep -q '"needed_runs": [1-9]' "$TMP/out" &&
		! grep -q '"needed_entries": [1-9]' "$TMP/out" && "$SONDE" validate "$TMP/out"
}
ok diff__of_several_runs_more_runs_are_needed more_runs
cells() {
	"$SONDE" report "$TMP/a.json" --partial -o "$TMP/a.sondecells" &&
		cmp <(unnamed "$TMP/a.sondecells" "$TMP/b.json") <(unnamed "$TMP/a.json" "$TMP/b.json")
}
ok diff__a_partial_report_is_a_side cells
report() { # what is compared of a report.json is what its capture gives
	local f
	for f in a b; do "$SONDE" report "$TMP/$f.json" -f json -o "$TMP/$f.report.json" || return; done
	cmp <(unnamed "$TMP/a.report.json" "$TMP/b.report.json") <(unnamed "$TMP/a.json" "$TMP/b.json") &&
		"$SONDE" report "$EAGER" -f json -o "$TMP/eager.json" &&
		cmp <(unnamed "$TMP/eager.json" "$GRAPH") <(unnamed "$EAGER" "$GRAPH")
}
ok diff__a_report_is_a_side report
broken_report() {
	sed 's/"kernel_count": 200/"kernel_count": 201/' "$TMP/a.report.json" >"$TMP/broken.json"
	status 1 "$SONDE" diff "$TMP/broken.json" "$TMP/b.json"
}
ok diff__a_report_that_is_not_valid_is_refused broken_report
other_schema() { # SCHEMA WORDS: what is no report of this version is named, with what to do
	sed "2s|sonde.report/1|$1|" "$TMP/a.report.json" >"$TMP/schema.json" && status 1 "$SONDE" diff "$TMP/schema.json" "$TMP/b.json" && says "$1" && says 'sonde.report/1' && says "$2" &&
		! says 'sonde diff compares such' && gzip -c "$TMP/schema.json" >"$TMP/schema.json.gz" && status 1 "$SONDE" diff "$TMP/b.json" "$TMP/schema.json.gz" && says "$2"
}
ok diff__an_older_report_is_named_with_its_schema other_schema sonde.report/0 'make the report again'
ok diff__a_newer_report_is_named_with_its_schema other_schema sonde.report/12 'a newer sonde wrote it'
ok diff__a_report_of_a_region_is_named_with_its_schema other_schema sonde.region/1 'one region'
ok diff__a_comparison_is_named_with_its_schema other_schema sonde.diff/1 'a comparison'
ok diff__a_list_of_regions_is_named_with_its_schema other_schema sonde.regions/1 'not a report'
directory() {
	mkdir -p "$TMP/dir" && cp "$TMP/b.json" "$TMP/dir/trace.json" &&
		cmp <(unnamed "$TMP/a.json" "$TMP/dir") <(unnamed "$TMP/a.json" "$TMP/b.json")
}
ok diff__a_directory_is_a_side directory
selected() { status 0 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" "report.nvtx.include=[attn]" && ! says mlp; }
ok diff__settings_select_regions selected

# --- real programs on an H200: a layer that is wider, and an optimizer that became one kernel (and more steps)
wide() { # the layer's weights are more, so its backward takes the GPU longer too; the host's time is noisier than that
	status 3 "$SONDE" diff tests/data/diff/fused.sonde.gz tests/data/diff/wide.sonde.gz --fail-above gpu:5% --single -f json -o "$TMP/d.json" && "$SONDE" validate "$TMP/d.json" && python3 - "$TMP/d.json" <<-'PY'
	import json, sys
	named = {(r["times"]["gpu"]["verdict"], r["id"]) for r in json.load(open(sys.argv[1]))["regions"] if r["times"]["gpu"]["verdict"].startswith("likely_")}
	assert named == {("likely_slower", "step" + r) for r in ("", "/backward", "/forward", "/forward/layer1", "/forward/layer1/mlp")}, named
	PY
}
ok diff__a_wider_layer_is_named_with_its_ancestors wide
fused() {
	status 0 "$SONDE" diff "$TRAIN" tests/data/diff/fused.sonde.gz && says '1. step is undecided, -58.2 %: 8.06 ms → 3.37 ms per entry (95 %: -80.3 to -23.8 %): with 11 regions compared, this could be chance (q = 0.06); about 11 entries per side would decide it; there are 10 and 60' &&
		grep -q '^step  *10 > 60 .* insufficient, needs 11 entries$' "$TMP/out" && says '2. step is entered 60 times a run instead of 10' &&
		says 'step/optimizer is likely 85.3 % faster: 3.49 ms → 513.47 µs per entry' && says 'GPU time -49.8 %' && says '144 → 4 launches per entry, fused? (7 kernels are gone, 2 are new)'
}
ok diff__a_fused_optimizer_is_told fused

# --- ranks: two of them, rank 1 slower in the new side; then one more
mkdir -p "$TMP/two" "$TMP/slow" "$TMP/three"
for r in 0 1; do trace 1 1$r "NVIDIA H200" $r 2 >"$TMP/two/$r.json"; done
for r in 0 1; do trace 1.$((3 * r)) 2$r "NVIDIA H200" $r 2 >"$TMP/slow/$r.json"; done
for r in 0 1 2; do trace 1 3$r "NVIDIA H200" $r 3 >"$TMP/three/$r.json"; done
per_scope() {
	status 0 "$SONDE" diff "$TMP/two" "$TMP/slow" --per-scope && says '1. rank 1: step is likely ' && says '2. rank 1: step/mlp is ' && says 'around it rank 1: step +' && ! grep -q 'rank 0: .* is .* slower' "$TMP/out" &&
		status 3 "$SONDE" diff "$TMP/two" "$TMP/slow" --per-scope --single --fail-above 'step/mlp=20%' -f json -o "$TMP/d.json" && "$SONDE" validate "$TMP/d.json" &&
		python3 - "$TMP/d.json" <<-'PY'
		import json, sys
		named = {(r["scope"], r["id"]) for r in json.load(open(sys.argv[1]))["regions"] if r["verdict"] == "likely_slower"}
		assert named == {("rank 1", "step"), ("rank 1", "step/mlp")}, named
		PY
}
ok diff__scopes_are_compared_by_rank_where_asked per_scope
per_scope_report() {
	"$SONDE" report "$TMP/two" -f json -o "$TMP/two.json" && cmp <(unnamed "$TMP/two.json" "$TMP/slow" --per-scope) <(unnamed "$TMP/two" "$TMP/slow" --per-scope)
}
ok diff__scopes_of_a_report_are_compared_by_rank per_scope_report
other_ranks() {
	status 0 "$SONDE" diff "$TMP/two" "$TMP/three" && says 'A run of the new side has 3 ranks or processes, a run of the base 2' && says 'No difference was found' || return
	! says 'entered' && status 0 "$SONDE" diff "$TMP/two" "$TMP/three" --per-scope && says 'rank 2 is only in the new side'
}
ok diff__other_rank_counts_are_said other_ranks

# --- metrics: sampled ones with their errors, as a finished report has them
"$SONDE" report examples/h200_train --nvtx-exclude warmup -f json -o "$TMP/sampled.json"
dram() { # REGION VALUE: the same report with another figure
	python3 - "$TMP/sampled.json" "$@" <<'PY'
import json, sys
d, region, v = json.load(open(sys.argv[1])), sys.argv[2], float(sys.argv[3])
r, name = next(r for r in d["aggregate"]["regions"] if r["id"] == region), "dram__bytes.sum.pct_of_peak_sustained_elapsed"
g = r["metric_ranges"][name]
r["metrics"][name], g["low"], g["high"] = v, v - g["error"], v + g["error"]
json.dump(d, sys.stdout)
PY
}
metrics() {
	dram step/optimizer 80 >"$TMP/more.json" && dram step/optimizer 52 >"$TMP/little.json" &&
		status 0 "$SONDE" diff "$TMP/sampled.json" "$TMP/more.json" && says 'step/optimizer' && grep -q 'step/optimizer .*DRAM % .*higher' "$TMP/out" &&
		[ "$(grep -c higher "$TMP/out")" = 1 ] && is_valid "$TMP/sampled.json" "$TMP/more.json" &&
		status 0 "$SONDE" diff "$TMP/sampled.json" "$TMP/little.json" && ! grep -q higher "$TMP/out" &&
		for f in md html; do status 0 "$SONDE" diff "$TMP/more.json" "$TMP/sampled.json" -f $f && grep -q 'DRAM %.*lower' "$TMP/out" || return; done
}
ok diff__sampled_metrics_are_compared_with_their_errors metrics

# --- usage
ok diff__one_side_is_wrong_usage status 2 "$SONDE" diff "$TMP/a.json"
ok diff__three_sides_are_wrong_usage status 2 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" "$TMP/a2.json"
ok diff__base_without_new_is_wrong_usage status 2 "$SONDE" diff --base "$TMP/a.json"
ok diff__a_bad_limit_is_wrong_usage status 2 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --fail-above soon
ok diff__a_bad_effect_is_wrong_usage status 2 "$SONDE" diff "$TMP/a.json" "$TMP/b.json" --min-effect -1
ok diff__a_missing_file_is_1 status 1 "$SONDE" diff "$TMP/a.json" "$TMP/nowhere.json"

selftest() { status 0 "$SONDE" diff --self-test "$TMP/a.json" --rounds 50 && says '3 regions have enough entries' && says 'of 50 random splits'; }
ok diff__self_test_counts_alarms selftest
# --- sonde run --against
if [ -e "$BUILD/libsonde_inject.so" ]; then
	against() {
		status 0 "$SONDE" run -q -o "$TMP/runs" --base-cmd "$BUILD/workloads/resnet_cpu 2" --repeat 2 -- "$BUILD/workloads/resnet_cpu" 2 &&
			[ "$(ls "$TMP/runs" | grep -v '^diff\.' | xargs)" = "base-1 base-2 new-1 new-2" ] && says 'residual' && ! says 'host ms' &&
			status 0 "$SONDE" run -q -o "$TMP/more" --against "$TMP/runs/base-1" -- "$BUILD/workloads/resnet_cpu" 3 && says 'entered 3 times a run instead of 2'
	}
	ok diff__run_against_runs_and_compares against
	ok diff__run_against_returns_the_programs_status status 7 "$SONDE" run -q -o "$TMP/seven" --against "$TMP/runs/base-1" -- sh -c 'exit 7'
else
	skip diff__run_against_runs_and_compares "the NVTX headers were not found when building"
fi
FAKE=$PWD/$BUILD/fake
if [ -e "$FAKE/fake_loop" ]; then
	against_gpu() { # a GPU that is none: kernels take 1,234 ns; layers with more of them, in turns with the base
		local run="counters=off pipeline.native.cupti=$FAKE/libcupti_fake.so" loop="$FAKE/fake_loop $FAKE/libcupti_fake.so 40"
		local once="${loop%40}1"
		status 0 "$SONDE" run -q $run -o "$TMP/gpu" --base-cmd "$loop 2" --repeat 3 -- $loop 4 && [ "$(ls "$TMP/gpu" | grep -v '^diff\.' | xargs)" = "base-1 base-2 base-3 new-1 new-2 new-3" ] &&
			one_line "$TMP/out" | grep -qE 'GPU time( of train/step(/layer)? is 100.0 % longer| \+100.0 %): ' && says ' → 4 launches per entry' &&
			status 0 "$SONDE" run -q $run -o "$TMP/again" --against "$TMP/gpu/base-1" --against "$TMP/gpu/base-2" --repeat 2 --fail-above 'gpu:*/layer=5%' -- $loop 2 && says 'gate: passed' &&
			status 3 "$SONDE" diff --base "$TMP"/gpu/base-? --new "$TMP"/gpu/new-? --fail-above 'gpu:*/layer=5%' &&
			status 3 "$SONDE" run -q $run -o "$TMP/gate" --against "$TMP/gpu/base-1" --against "$TMP/gpu/base-2" --repeat 2 --fail-above 'gpu:*/layer=5%' -- $loop 4 &&
			status 4 "$SONDE" run -q $run -o "$TMP/few" --base-cmd "$once 2" --fail-above 'train=5%' -- $once 4 &&
			status 0 "$SONDE" run -q $run -o "$TMP/fewer" --base-cmd "$once 2" --fail-above 'train=5%' --allow-insufficient -- $once 4 &&
			status 4 "$SONDE" run -q $run -o "$TMP/nothing" --base-cmd "$loop 2" --fail-above 5% --allow-insufficient -- ${loop%40}0 2 && says 'cannot be compared'
	}
	ok diff__run_against_compares_gpu_times against_gpu
else
	skip diff__run_against_compares_gpu_times "the CUPTI headers were not found when building"
fi
ok diff__repeat_without_a_base_is_wrong_usage status 2 "$SONDE" run --repeat 3 -- true
ok diff__a_gate_without_a_base_is_wrong_usage status 2 "$SONDE" run --fail-above 5% -- true
bad_gate() { # found before the program runs
	status 2 "$SONDE" run -o "$TMP/never" --against "$TMP/a.json" --fail-above much -- touch "$TMP/ran" && says '[GLOB=]PCT, as 5%' && [ ! -e "$TMP/ran" ]
}
ok diff__a_bad_gate_is_refused_before_anything_runs bad_gate
no_base() { ! "$SONDE" run -o "$TMP/never" --against "$TMP/nowhere" --repeat 3 -- touch "$TMP/ran" >"$TMP/out" 2>"$TMP/err" && grep -q 'nowhere: there is no such file: nothing was run' "$TMP/err" && [ ! -e "$TMP/ran" ]; }
limit_meant() { status 2 "$SONDE" diff examples/h200_train examples/h200_train --fail-above 'optimizer=5%' && says "no region of either side matches; did you mean 'step/optimizer'?"; }
ok diff__the_end_of_a_path_leads_to_the_region_that_is_meant limit_meant

ok diff__a_missing_base_is_found_before_anything_runs no_base
