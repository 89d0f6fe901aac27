#!/usr/bin/env bash
# Folders of runs, and of captures that do not belong together: nothing is added up unless the user asks for it.
. "$(dirname "$0")/../lib.sh"
D=$PWD/tests/data
report() { "$SONDE" report --deterministic "$@"; }
says() { grep -qF -- "$1" "$TMP/out" "$TMP/err"; }

# --- run directories, as `sonde run` leaves them
run_of() { # DIR CAPTURE
	mkdir -p "$1/native" && : >"$1/config.yaml" && : >"$1/inputs.yaml" && gzip -dc "$2" >"$1/native/1.0.sonde"
}
run_of "$TMP/runs/20260131-120000" "$D/diff/eager.sonde.gz"
run_of "$TMP/runs/20260131-120000-2" "$D/diff/graph.sonde.gz"
run_of "$TMP/runs/20260130-235959" "$D/diff/train.sonde.gz"
touch -d 2030-01-01 "$TMP/runs/20260130-235959/inputs.yaml" # the name counts, where it is a time
newest() { # the report is that of the newest run, with a note that says so
	report "$TMP/runs" -f json >"$TMP/a.json" && report "$TMP/runs/20260131-120000-2" -f json >"$TMP/b.json" && python3 - "$TMP" <<-'PY'
	import json, sys
	a, b = (json.load(open(f"{sys.argv[1]}/{f}.json")) for f in "ab")
	note, = [n for n in a["notes"] if n not in b["notes"]]
	assert "/runs holds 3 runs: the newest, " in note and "/runs/20260131-120000-2, is read" in note and "--together" in note, note
	a["notes"].remove(note)
	assert a == b
	PY
}
ok "of a folder of runs the newest is read" newest
named() { # other names: by when the run was set up
	run_of "$TMP/named/old" "$D/diff/eager.sonde.gz" && run_of "$TMP/named/later" "$D/diff/graph.sonde.gz" && touch -d 2026-01-01 "$TMP/named/old/inputs.yaml" &&
		touch -d 2026-01-02 "$TMP/named/later/inputs.yaml" && status 0 report "$TMP/named" --width 400 && says "named/later, is read" && touch -d 2026-01-03 "$TMP/named/old/inputs.yaml" &&
		status 0 report "$TMP/named" --width 400 && says "named/old, is read"
}
ok "runs that are not named by the time go by their files" named
failed_run() { # a newer run that left nothing is told
	mkdir -p "$TMP/runs/20260201-000000" && : >"$TMP/runs/20260201-000000/config.yaml" && : >"$TMP/runs/20260201-000000/inputs.yaml" &&
		status 0 report "$TMP/runs" --width 400 && says "the newest that has captures, $TMP/runs/20260131-120000-2, is read"
}
ok "a newer run without captures is told" failed_run
together() { # COMMAND…: all three, as if they had been named
	report "$TMP/runs" --together -f csv >"$TMP/a" && report "$TMP"/runs/*/native/1.0.sonde -f csv | cmp - "$TMP/a"
}
ok "--together adds them up" together
inside() { # a run, or a part of one, is one run however many programs it had
	run_of "$TMP/one" "$D/diff/eager.sonde.gz" && gzip -dc "$D/diff/train.sonde.gz" >"$TMP/one/native/2.0.sonde" && status 0 report "$TMP/one" && ! says 'jobs' &&
		status 0 report "$TMP/one/native" && (cd "$TMP/one/native" && status 0 "$SONDE" report .)
}
ok "a run directory is one job, whatever is in it" inside
beside() { cp "$TMP/one/native/2.0.sonde" "$TMP/runs/loose.sonde" && status 2 report "$TMP/runs" && says 'captures beside them' && says "sonde report $TMP/runs/20260131-120000-2"; }
ok "captures beside runs are not guessed at" beside
rm -f "$TMP/runs/loose.sonde"
commands() { # every command that reads a folder
	status 0 "$SONDE" top "$TMP/runs" && says 'is read; name another' && cp "$TMP/out" "$TMP/top" && status 0 "$SONDE" top "$TMP/runs/20260131-120000-2" && cmp "$TMP/out" "$TMP/top" &&
		status 0 "$SONDE" top "$TMP/runs" --together && ! cmp -s "$TMP/out" "$TMP/top" && status 0 "$SONDE" regions "$TMP/runs" && ! says 'optimizer' &&
		status 0 "$SONDE" regions "$TMP/runs" --together && says 'optimizer' && status 0 "$SONDE" diff "$TMP/runs/20260131-120000" "$TMP/runs" --width 200 && says '3 runs: the newest' &&
		status 0 "$SONDE" diff "$TMP/runs" "$TMP/runs" --together --all && says optimizer
}
ok "other commands take the newest run too, and --together all" commands

# --- captures without run directories
mkdir -p "$TMP/mixed"
gzip -dc "$D/diff/eager.sonde.gz" >"$TMP/mixed/eager.sonde"
gzip -dc "$D/diff/train.sonde.gz" >"$TMP/mixed/train.sonde"
unrelated() {
	status 2 report "$TMP/mixed" && says 'holds captures of 2 jobs' && says "sonde report $TMP/mixed/eager.sonde   # python3.12, NVIDIA H200, 2026-11-15 19:02:47 UTC" &&
		says --together && status 2 "$SONDE" top "$TMP/mixed" && status 2 "$SONDE" regions "$TMP/mixed" && status 2 "$SONDE" diff "$TMP/mixed" "$TMP/mixed" && says 'holds captures of 2 jobs' &&
		status 0 "$SONDE" regions "$TMP/mixed" --together && report "$TMP/mixed" --together -f csv >"$TMP/a" && report "$TMP"/mixed/*.sonde -f csv | cmp - "$TMP/a"
}
ok "unrelated captures are listed, and one is asked for" unrelated
anyhow() { status 2 report "$D/ncu" && says 'holds captures of' && status 2 report "$D/kineto" && cmp <(report "$D/ncu" 2>&1) <(report "$D/ncu" --cores 1 2>&1); }
ok "captures of every kind are told apart, the same way every time" anyhow
if [ -x "$BUILD/tools/ranks_make" ]; then
	"$BUILD/tools/ranks_make" "$TMP/job" ranks=6
	job() { # ranks on several hosts, also as partial reports, and one per node; gains need the launches
		status 0 report "$TMP/job" && mkdir -p "$TMP/cells" && for r in 0 1 2 3 4 5; do report "$TMP/job/rank0000$r.sonde" --partial -o "$TMP/cells/$r.sondecells" || return; done &&
			cmp <(named "$TMP/cells") <(named "$TMP/job") && status 0 "$SONDE" regions "$TMP/job"
	}
	named() { report "$1" report.whatif=off --width 1000 | sed "s,$1,IN,g"; } # findings name the input
	ok "ranks of one job are added up unasked" job
	twice() { # the same job again, later: its ranks are there twice
		cp -r "$TMP/cells" "$TMP/cells2" && "$BUILD/tools/ranks_make" "$TMP/later" ranks=6 start_s=9000 && report "$TMP"/later/*.sonde --partial -o "$TMP/cells2/later.sondecells" &&
			status 2 report "$TMP/cells2" && says 'of 2 jobs' && says '6 ranks' && status 0 report "$TMP/cells2" --together
	}
	ok "two runs of one job are told apart, also by their partial reports" twice
else
	skip "ranks of one job are added up unasked" "build/tools/ranks_make is not built"
fi

# --- a folder of runs is read as its newest run is, the run's configuration and all
as_the_run() {
	PATH=$PWD/tests/standin:$PATH SONDE_INJECT_LIB=/nonexistent "$SONDE" run -q hydra.run.dir="$TMP/ours/20260131-120000" report.deterministic=true pipeline.ncu.enable=true \
		"pipeline.ncu.ncu_cli.kernel_exclude=['reduce*']" -- /bin/true >/dev/null 2>&1 && report "$TMP/ours" -f csv >"$TMP/a" &&
		report "$TMP/ours/20260131-120000" -f csv | cmp - "$TMP/a" && report "$TMP/ours" -f json | jq -e '[.. | .kernel_name? // empty] | all(startswith("reduce") | not)'
}
ok "a folder of runs is read with its newest run's configuration" as_the_run
