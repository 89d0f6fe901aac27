#!/usr/bin/env bash
# Sampled counters, from a run directory to a report. The run was PyTorch decoding on an H200.
. "$(dirname "$0")/../lib.sh"
D=tests/data/sampled_capture
report() { "$SONDE" report --deterministic "$@"; }

ok "golden sampled.txt" golden sampled.txt report --width 120 $D
narrow() { # other columns give way first; without a terminal there are 100
	report examples/h200_train >"$TMP/100" && report --width 80 examples/h200_train >"$TMP/80" || return
	grep -qE '^region .* SM act % +Tensor % +DRAM %' "$TMP/100" && grep -qE '^region .* SM act % +Tensor % +DRAM %' "$TMP/80" &&
		grep -qE '^region .* bound$' "$TMP/80" && grep -qE '^no room for: .*launches' "$TMP/80" && grep -qE '^warmup .* ~74±14 ' "$TMP/80" && ! grep -E '.{81}' "$TMP/80"
}
ok "SM %, tensor %, DRAM % and what limits a region stay on a narrow terminal" narrow
valid() { report -f json $D >"$TMP/s.json" && "$SONDE" validate "$TMP/s.json"; }
ok "its JSON is valid and its parts add up" valid
beside() { report -f json $D tests/data/ncu/seed_kernel.ncu-rep >"$TMP/two.json" && "$SONDE" validate "$TMP/two.json"; }
ok "so is that of a report beside exact sums of the same metric" beside

named() { # one after the other, and those of another run between them
	mkdir -p "$TMP/other" && cp $D/*.sonde "$TMP/other/" && report -f csv $D "$TMP/other" >"$TMP/want" &&
		report -f csv $D/*.sonde "$TMP"/other/*.sonde | cmp - "$TMP/want" && report -f csv $D >"$TMP/want" &&
		report -f csv $D/*.sonde | cmp - "$TMP/want"
}
ok "files that are named are as good as their directory" named
ok "Markdown says what ~ and ± are" grep -q '~ sampled while the program ran, ± its 95 % interval' <(report -f md $D)
ok "a sampled metric can be named" grep -q 'SM clock' <(report --metrics sm__cycles_elapsed.avg.per_second $D)
errors() { # of one region and counter, in every format that has numbers
	report -f csv $D >"$TMP/s.csv" && report -f md $D >"$TMP/s.md" && report -f sqlite -o "$TMP/s.db" $D && report -f hatchet $D >"$TMP/s.hatchet" || return
	python3 - "$TMP" <<-'END'
		import csv, json, sqlite3, sys
		top, name = sys.argv[1], "dram__bytes_read.sum"
		region = next(r for r in json.load(open(top + "/s.json"))["aggregate"]["regions"] if r["id"] == "warmup")
		want = region["metric_ranges"][name]["error"]
		row = next(r for r in csv.DictReader(open(top + "/s.csv")) if r["id"] == "warmup")
		assert float(row[name + ".error"]) == want > 0, row
		db = sqlite3.connect(top + "/s.db")
		got = db.execute("SELECT error, high - value FROM metrics m JOIN metric_names n ON n.id = m.metric JOIN regions r ON r.id = m.region"
		    " WHERE n.name = ? AND r.region_id = 'warmup' AND m.part = 'inclusive' LIMIT 1", (name,)).fetchone()
		assert abs(got[0] - want) < 1e-9 * want and abs(got[1] - want) < 1e-6 * want, got
		node = next(n for n in json.load(open(top + "/s.hatchet")) if n["frame"]["name"] == "warmup")
		assert node["metrics"][name + ".error (inc)"] == want, node["metrics"]
		assert "±" in next(l for l in open(top + "/s.md") if l.startswith("| warmup "))
	END
}
if command -v python3 >/dev/null; then
	ok "CSV, SQLite, Hatchet and Markdown have the errors of JSON" errors
else
	skip "CSV, SQLite, Hatchet and Markdown have the errors of JSON" "no python3"
fi
over_time() {
	report -f perfetto $D >"$TMP/trace.json" && jq -e '[.traceEvents[] | select(.ph == "C")] |
		(map(.name) | unique) == ["GPU 0 · DRAM GB/s", "GPU 0 · SM active %", "GPU 0 · Tensor %"] and
		all(.[]; .ts >= 0 and .args.value >= 0) and all(.[] | select(.name | endswith("%")); .args.value <= 100) and
		any(.[]; .name == "GPU 0 · SM active %" and .args.value > 20)' "$TMP/trace.json"
}
of_kineto() { # the counters of a torch.profiler trace take the same way
	cat >"$TMP/counters.json" <<-'END'
		{"traceEvents":[
		{"ph":"X","cat":"user_annotation","name":"step","pid":9,"tid":1,"ts":0,"dur":100},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":1,"dur":3,"args":{"correlation":1}},
		{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":50,"args":{"correlation":1,"device":0,"stream":7}},
		{"ph":"C","cat":"hardware_counters","name":"sm","pid":0,"ts":20,"args":{"active":1.5}},
		{"ph":"C","cat":"hardware_counters","name":"sm","pid":0,"ts":30,"args":{"active":3}}]}
	END
	report -f perfetto "$TMP/counters.json" >"$TMP/trace.json" &&
		jq -e '[.traceEvents[] | select(.ph == "C") | [.name, .args.value]] | index([["GPU 0 · active", 3]]) != null' "$TMP/trace.json" &&
		report -f html "$TMP/counters.json" | grep -q '"curves": \[{"name": "active"'
}
samples_alone() { # as `sonde sample -o` writes them: no launch, but how busy the device was
	report examples/h200_train/samples-*.sonde >"$TMP/out" && tr -s '\n ' ' ' <"$TMP/out" | grep -q 'no launch on it was captured; on average: SM active % 0.2, DRAM GB/s 3.7, Tensor % 0.1[.]' &&
		! grep -q 'kernels of the run' <(report -f md examples/h200_train/samples-*.sonde) &&
		report -f html examples/h200_train/samples-*.sonde | grep -q '"curves": \[{"name": "SM active %", "device": 0, "of": \[\], "s": \[0,' &&
		report -f perfetto examples/h200_train/samples-*.sonde >"$TMP/trace.json" &&
		jq -e '.traceEvents | length > 100 and all(.[]; .ph == "C" and .ts >= 0) and .[0].ts == 0' "$TMP/trace.json"
}
if command -v jq >/dev/null; then
	ok "samples without a program are shown, too" samples_alone
	ok "the trace has the counters over time" over_time
	ok "so have traces with counters of their own" of_kineto
else
	skip "the trace has the counters over time" "no jq"
fi
named() { report --width 1000 report.whatif=off "$@" | sed "s,$D,IN,g; s,$TMP/p.sondecells,IN,g"; } # findings name the input; a replay needs the launches
partial() {
	report $D --partial -o "$TMP/p.sondecells" && [ "$(wc -c <"$TMP/p.sondecells")" -lt 60000 ] || return
	for f in text json csv md folded speedscope svg; do
		named -f $f $D >"$TMP/want" && named -f $f "$TMP/p.sondecells" | cmp - "$TMP/want" || return
	done
}
ok "a partial report has the counters too, byte for byte" partial

without() { # the program alone: times only, and no word of samples
	mkdir -p "$TMP/alone" && cp $D/decode.sonde "$TMP/alone" && report "$TMP/alone" >"$TMP/out" &&
		! grep -e '±' -e sampled "$TMP/out"
}
ok "without the samples there are times only" without
cut_off() { # the sampler was killed in the middle of a block
	mkdir -p "$TMP/cut" && cp $D/decode.sonde "$TMP/cut" &&
		head -c 37000 $D/samples-gpu0.sonde >"$TMP/cut/samples-gpu0.sonde" && report "$TMP/cut" | tr -s ' \n' ' ' >"$TMP/out" &&
		grep -q 'samples split among 1189 launches' "$TMP/out" && grep -q 'the sampler was stopped before the program ended' "$TMP/out"
}
ok "a sampler that was killed leaves what it wrote" cut_off
empty() {
	mkdir -p "$TMP/empty" && cp $D/decode.sonde "$TMP/empty" &&
		head -c 100 $D/samples-gpu0.sonde >"$TMP/empty/samples-gpu0.sonde" && report "$TMP/empty" >"$TMP/out" &&
		grep -q '1163 of 1189 launches' "$TMP/out" && ! grep -q '±' "$TMP/out"
}
ok "one that wrote nothing costs the counters only" empty
