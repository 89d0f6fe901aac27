#!/usr/bin/env bash
# `sonde whatif`: replays a run with changes.
. "$(dirname "$0")/../lib.sh"
RESNET=tests/data/whatif/resnet.sonde # of an H200, with the times launches returned
OLD=tests/data/sampled_capture/decode.sonde # of before: without them, and without events
TRACE=tests/data/kineto/h200_train.json.gz

value() { # KEYS…: of the JSON on standard input, joined by dots in Python's way
	python3 -c 'import json, sys; print(eval("json.load(sys.stdin)" + sys.argv[1]))' "$1"
}

refuses() { # WORDS COMMAND…: exits with 2 and says so
	local words=$1
	shift
	"$@" >"$TMP/out" 2>"$TMP/err"
	[ $? = 2 ] && grep -q "$words" "$TMP/err" || {
		cat "$TMP/err"
		return 1
	}
}

halves() { # a network whose step is for 85 % one kernel gains half of that
	"$SONDE" whatif $RESNET 'kernel:conv2d=0.5x' -f json >"$TMP/half.json" &&
		python3 - "$TMP/half.json" <<-'P'
			import json, sys
			d = json.load(open(sys.argv[1]))
			step, change = d["step"], d["changes"][0]
			assert step["id"] == "residual" and abs(step["replay_error_pct"]) < 1, step
			assert 0.38 < change["gain_ms"] / step["base_ms"] < 0.46, change
			assert change["low_ms"] <= change["gain_ms"] <= change["high_ms"], change
		P
}

combines() { # two changes together: their sum where they are in different places, and each by itself
	"$SONDE" whatif $RESNET remove:block.conv1 remove:block.conv2 -f json >"$TMP/both.json" &&
		python3 - "$TMP/both.json" <<-'P'
			import json, sys
			both, one, two = (c["gain_ms"] for c in json.load(open(sys.argv[1]))["changes"])
			assert abs(both - one - two) < 0.05 * both, (both, one, two)
		P
}

ends_agree() { # `forward` is any region of that name; a glob of several is all of them
	[ "$("$SONDE" whatif $OLD graph:layer0/attn -f json | value '["changes"][0]["gain_ms"]')" = "$("$SONDE" whatif $OLD graph:decode/step/layer0/attn -f json | value '["changes"][0]["gain_ms"]')" ] &&
		"$SONDE" whatif $OLD 'graph:decode/step/layer?' 'graph:layer0' -f json >"$TMP/glob.json" &&
		python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["changes"]; assert c[1]["gain_ms"] > 1.5 * c[2]["gain_ms"], c' "$TMP/glob.json"
}

run_directory() { # RUN is what `sonde run` leaves
	mkdir -p "$TMP/run/native" && : >"$TMP/run/config.yaml" && : >"$TMP/run/inputs.yaml" && cp $RESNET "$TMP/run/native/878.0.sonde" &&
		diff <("$SONDE" whatif "$TMP/run" -f json) <("$SONDE" whatif $RESNET -f json)
}

refused() { # where the replay is wrong nothing is predicted: half of the launches and their waits are not there
	"$SONDE" whatif tests/data/nsys/h100.sqlite -f json >"$TMP/no.json" 2>"$TMP/err" || { grep -q 'nothing to replay' "$TMP/err"; return; }
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert abs(d["step"]["replay_error_pct"]) <= 5 or (d["step"]["refused"] and not d["changes"]), d["step"]' "$TMP/no.json"
}

reports_gain() { # findings say what `sonde whatif` says of their change, in the same share of the same step, unless they are told not to
	local one=examples/h200_train
	"$SONDE" report $one -f json >"$TMP/report.json" && "$SONDE" validate "$TMP/report.json" &&
		"$SONDE" report $one -f json report.whatif=off >"$TMP/off.json" && "$SONDE" whatif $one graph:step -f json >"$TMP/graph.json" &&
		python3 - "$TMP/report.json" "$TMP/off.json" "$TMP/graph.json" <<-'P' || return
			import json, sys
			on, off, graph = (json.load(open(f)) for f in sys.argv[1:])
			gain = {f["change"]: f["gain"] for f in on["findings"]}["graph:step"]
			said = graph["changes"][0]
			assert (gain["step_ms"], gain["low_ms"], gain["high_ms"]) == (said["gain_ms"], said["low_ms"], said["high_ms"]), gain
			assert gain["of_ms"] == graph["step"]["base_ms"], gain
			assert all(f["gain"]["step_ms"] is None and f["gain"]["of_ms"] is None for f in off["findings"]), off["findings"]
		P
	for one in $one $TRACE; do
		"$SONDE" report $one --width 400 --findings all | sed -n 's/.*Gain: .*, \([0-9]*\)% (.*(\(graph:[a-z]*\)).*/\2 \1/p' >"$TMP/said" && [ -s "$TMP/said" ] || return
		"$SONDE" whatif $one "$(cut -d' ' -f1 "$TMP/said")" | grep -q "($(cut -d' ' -f2 "$TMP/said") %;" || return
	done
}

roofline() { # DRAM is at 51 ± 4 % of its peak: at its roofline the kernel takes about that part of its time, and ± widens the interval
	local change
	for change in roofline 0.51x 0.57x 0.45x; do
		"$SONDE" whatif examples/h200_train "kernel:*multi_tensor*=$change" -f json >"$TMP/$change.json" || return
	done
	"$SONDE" report examples/h200_train -f json >"$TMP/train.json" && python3 - "$TMP" <<-'P'
		import json, sys
		roof, same, more, less = (json.load(open(f"{sys.argv[1]}/{n}.json"))["changes"][0] for n in ("roofline", "0.51x", "0.57x", "0.45x"))
		assert 0 < more["gain_ms"] <= roof["gain_ms"] <= less["gain_ms"], (more, roof, less)
		assert roof["high_ms"] > same["high_ms"] and "limiter" in roof["why"], (roof, same)
		evidence = next(f for f in json.load(open(sys.argv[1] + "/train.json"))["findings"] if "multi_tensor" in f.get("kernel", ""))["evidence"]
		dram = next(e for e in evidence if e["figure"].startswith("dram__"))
		assert 45 < dram["value"] < 57 and dram["error"] > 1, dram
	P
}

level_ranks() { # a late rank: the gain is what the ranks waited in collectives of 300 us, on average, and reports say the same
	mkdir -p "$TMP/planted" && python3 tests/cli/planted.py "$TMP/planted" && "$SONDE" whatif "$TMP/planted/late_rank" level-ranks -f json >"$TMP/level.json" &&
		"$SONDE" report "$TMP/planted/late_rank" -f json >"$TMP/late.json" && "$SONDE" validate "$TMP/late.json" &&
		"$SONDE" report "$TMP"/planted/late_rank/*.json -f json >"$TMP/each.json" && python3 - "$TMP" <<-'P'
			import glob, json, sys
			load = lambda name: json.load(open(f"{sys.argv[1]}/{name}"))
			waits = [e["dur"] / 1e3 - 0.3 for n in range(4) for e in load(f"planted/late_rank/rank{n}.json")["traceEvents"] if e["name"].startswith("nccl")]
			truth, whatif = sum(waits) / len(waits), load("level.json")
			said = whatif["changes"][0]
			assert truth > 2 and abs(said["gain_ms"] / truth - 1) < 0.05 and said["low_ms"] < truth < said["high_ms"], (truth, said)
			assert any("means over 4 processes" in n for n in whatif["notes"]), whatif["notes"]
			for name in "late.json", "each.json": # a folder of a job, and its ranks one by one
			    gains = {f["change"].split(":")[0]: f["gain"] for f in load(name)["findings"]}
			    assert gains["level-ranks"]["step_ms"] == said["gain_ms"], gains
			    # To start collectives earlier does not bring the late rank.
			    assert gains["overlap-comm"]["step_ms"] < 0.31, gains
		P
}

strangers() { # captures that are no ranks of one job have no gains together
	"$SONDE" report "$TMP/planted/item.json" "$TMP/planted/tail.json" -f json >"$TMP/two.json" &&
		python3 -c 'import json, sys; f = json.load(open(sys.argv[1]))["findings"]; assert f and all(x["gain"]["step_ms"] is None for x in f), f' "$TMP/two.json"
}

bounds() { # what nobody can quite make is at most so much; a change that gains nothing says so
	"$SONDE" report "$TMP/planted/loader_inside.json" --width 400 | grep -q 'Gain: saves at most [45]' && "$SONDE" report "$TMP/planted/loader_inside.json" -f json |
		python3 -c 'import json, sys; f = json.load(sys.stdin)["findings"][0]; assert f["change"] == "ahead:train_step/next_batch" and "upper bound" in f["gain"]["from"], f' &&
		"$SONDE" whatif "$TMP/planted/small_copies.json" async-copy:pack | grep -q 'pack: gains nothing (95 %'
}

offers() { # PLANTED CHANGE: among what `sonde whatif` offers
	"$SONDE" whatif "$TMP/planted/$1.json" -f json | python3 -c 'import json, sys; o = [c["change"] for c in json.load(sys.stdin)["changes"]]; assert sys.argv[1] in o, o' "$2"
}

fused_graph() { # the nodes of one graph launch become one kernel: the gain lies between nothing and all of it
	"$SONDE" whatif tests/data/diff/graph.sonde.gz fuse:decode/step -f json >"$TMP/fused.json" && python3 - "$TMP/fused.json" <<-'P'
		import json, sys
		d = json.load(open(sys.argv[1]))
		base, gain = d["step"]["base_ms"], d["changes"][0]
		assert 0.3 * base < gain["gain_ms"] < 0.9 * base and 0 < gain["low_ms"] < gain["high_ms"] < base, (base, gain)
	P
}

ok whatif__text golden whatif.txt "$SONDE" whatif $RESNET
ok whatif__json golden whatif.json "$SONDE" whatif $RESNET 'kernel:conv2d=0.5x' -f json
ok whatif__of_an_old_capture golden whatif_old.txt "$SONDE" whatif $OLD graph:decode/step
ok whatif__of_a_trace golden whatif_trace.txt "$SONDE" whatif $TRACE graph:backward
ok whatif__half_a_kernel_is_half_of_what_it_took halves
ok whatif__changes_combine combines
ok whatif__reports_have_the_gains_of_their_findings reports_gain
ok whatif__regions_have_short_names ends_agree
ok whatif__a_run_directory_is_its_native_capture run_directory
ok whatif__a_bad_replay_predicts_nothing refused
ok whatif__a_change_that_is_none_is_an_error refuses 'there is no such change' "$SONDE" whatif $RESNET grahp:residual
ok whatif__a_region_that_is_not_there_is_an_error refuses 'the run has no region of this name' "$SONDE" whatif $RESNET graph:forward
ok whatif__a_kernel_that_is_not_there_is_an_error refuses 'no kernel has that name' "$SONDE" whatif $RESNET 'kernel:gemm=0.5x'
ok whatif__a_kernel_at_its_roofline_takes_what_its_counters_leave roofline
ok whatif__roofline_says_what_it_needs refuses 'without SM and memory counters of the kernel' "$SONDE" whatif $RESNET 'kernel:conv2d=roofline'
ok whatif__levelled_ranks_gain_what_they_waited level_ranks
ok whatif__captures_that_are_no_ranks_have_no_gains_together strangers
ok whatif__upper_bounds_and_changes_that_gain_nothing_say_so bounds
ok whatif__a_graph_can_be_fused fused_graph
ok whatif__offers_to_fuse_a_graph offers graph_of_tiny fuse:train_step
ok whatif__offers_to_gather_copies offers small_copies gather:train_step/pack
ok whatif__offers_a_pool offers allocations noalloc:train_step/forward
ok whatif__offers_to_work_ahead_between_the_steps offers loader_between ahead:train_step
in_empty() { mkdir -p "$TMP/empty" && (cd "$TMP/empty" && "$@"); }
newest() { # also where only changes are named
	mkdir -p "$TMP/newest/tmp/profile-output/20260131-120000/native" && cp $RESNET "$TMP/newest/tmp/profile-output/20260131-120000/native/" && touch "$TMP/newest/tmp/profile-output/20260131-120000/"{config,inputs}.yaml || return
	(cd "$TMP/newest" && "$SONDE" whatif >"$TMP/out" 2>"$TMP/err" && grep -q '^sonde: the newest run: tmp/profile-output/20260131-120000' "$TMP/err" &&
		"$SONDE" whatif 'kernel:conv2d=0.5x' >"$TMP/out" 2>"$TMP/err") && grep -q '^kernel:conv2d=0.5x: saves ' "$TMP/out"
}
ok whatif__takes_the_newest_run newest
ok whatif__a_mistyped_change_has_a_near_one refuses "did you mean 'graph:residual'?" "$SONDE" whatif $RESNET grph:residual
ok whatif__a_mistyped_region_has_a_near_one refuses "did you mean 'residual'?" "$SONDE" whatif $RESNET graph:resdual
wrapped() { "$SONDE" whatif $OLD --width 60 >"$TMP/out" 2>&1 && absent -P '.{61}' "$TMP/out"; }
ok whatif__text_fits_the_width wrapped
ok whatif__level_ranks_needs_ranks refuses 'needs captures of several ranks' "$SONDE" whatif $RESNET level-ranks
# The only copies are pageable and 62.9 MB long: at 55 GB/s, the rate of pinned memory, they take 1.14 of 3.01 ms.
pinned() {
	"$SONDE" whatif tests/data/first/copybusy.json.gz async-copy:step/h2d -f json >"$TMP/pinned.json" 2>"$TMP/err" &&
		jq -e '.changes[0].gain_ms | . > 1.85 and . < 1.9' "$TMP/pinned.json"
}
ok "the rate of pinned memory is not that of pageable copies" pinned
beside() { # work between the steps is part of them: there, a change that does nothing gains nothing
	"$SONDE" whatif examples/h200_train graph:warmup 2>"$TMP/err" | grep -qx 'graph:warmup: not known; gains are of the step, and this is not in it' &&
		"$SONDE" whatif tests/data/first/loaderrange.json.gz noalloc:load 2>"$TMP/err" | grep -q '^noalloc:load: gains nothing'
}
ok "a change beside the step has no gain of the step" beside
same_step() { "$SONDE" whatif tests/data/first/loaderrange.json.gz ahead:load 2>"$TMP/err" | grep -q '^step = step: 30 entries'; }
ok "the step has work of the GPU, as in reports" same_step

of_partial() {
	"$SONDE" report examples/h200_train --partial -o "$TMP/p.sondecells" && ! "$SONDE" whatif "$TMP/p.sondecells" 2>"$TMP/err" &&
		grep -q 'is a partial report, which has no single launches; name the capture' "$TMP/err" &&
		"$SONDE" report "$TMP/p.sondecells" -f json | jq -e '.findings[0].gain.from | test("is a partial report")'
}
ok "a partial report has nothing to replay" of_partial

by_function() { # the name of a template's function stands for what the template makes, in each change
	"$SONDE" whatif examples/h200_train kernel:multi_tensor_apply_kernel=roofline -f json >"$TMP/name.json" 2>"$TMP/err" &&
		"$SONDE" whatif examples/h200_train 'kernel:multi_tensor_apply_kernel*=roofline' -f json >"$TMP/glob.json" 2>"$TMP/err" &&
		[ "$(jq -c '.changes[0].gain_ms' "$TMP/name.json")" = "$(jq -c '.changes[0].gain_ms' "$TMP/glob.json")" ] && jq -e '.changes[0].gain_ms > 0' "$TMP/name.json"
}
ok "a kernel has the same name for its roofline" by_function
step_meant() { ! "$SONDE" whatif examples/h200_train --step forward 2>"$TMP/err" && grep -q "did you mean 'step/forward'?" "$TMP/err"; }
ok "the end of an id leads to the step that is meant" step_meant

ok whatif__without_a_run_is_an_error refuses 'no run in tmp/profile-output to take instead: name a capture or a run directory' in_empty "$SONDE" whatif
