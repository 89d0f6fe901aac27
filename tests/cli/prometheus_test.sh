#!/usr/bin/env bash
# Series for Prometheus' textfile collector: they have the numbers of report.json, are few, and are written while a program runs.
. "$(dirname "$0")/../lib.sh"
. tests/native.sh

alike() { # CAPTURE [MOST]
	"$SONDE" report "$1" -f prometheus -o "$TMP/x.prom" ${2:+report.series=$2} && "$SONDE" report "$1" -f json >"$TMP/x.json" &&
		python3 tests/cli/prometheus_read.py "$TMP/x.prom" "$TMP/x.json" ${2:+"$2"}
}
ok prometheus__has_the_numbers_of_the_report alike examples/h200_train
ok prometheus__has_a_series_for_each_rank alike tests/data/ncu/mpi2_kernel.ncu-rep
ok prometheus__many_regions_are_one_other alike examples/h200_train 5
named_other() { # it has no second series of that name: its own part is in the rest
	"$SONDE" report examples/h200_train -f prometheus -o "$TMP/x.prom" report.series=1 "report.labels=['^step\$ => other']" &&
		"$SONDE" report examples/h200_train -f json "report.labels=['^step\$ => other']" | jq -e '[.scopes[].regions[].id] | index("other")' >/dev/null &&
		[ -z "$(sed '/^#/d; s/ [^ ]*$//' "$TMP/x.prom" | sort | uniq -d)" ] &&
		[ "$(sed -n 's/^sonde_region_entries_total{.* //p' "$TMP/x.prom" | paste -sd+ | bc)" = \
			"$("$SONDE" report examples/h200_train -f json | jq '[.scopes[].regions[].instances] | add')" ]
}
ok prometheus__a_region_named_other_is_in_the_rest named_other
same_rank() { # two programs of one rank that use the same device
	local dir=$TMP/same
	rm -rf "$dir"
	(cd "$TMP" && RANK=0 WORLD_SIZE=2 exec "$SONDE" run -q hydra.run.dir="$dir" -- sh -c '"$0" 2 & "$0" 3; wait' "$WORK/resnet_cpu") >"$TMP/o" 2>&1 && alike "$(dirname "$(ls "$TMP"/same*/native/*.sonde | head -1)")" &&
		grep -q 'entries_total{region="step",rank="0",process="[0-9]*"} 2' "$TMP/x.prom" && grep -q 'entries_total{region="step",rank="0",process="[0-9]*"} 3' "$TMP/x.prom"
}
hostile_label() { # a quote, a backslash and a line end in a label stay inside it
	"$SONDE" report tests/data/ncu/names_kernel.ncu-rep -f prometheus >"$TMP/x.prom" && "$SONDE" report tests/data/ncu/names_kernel.ncu-rep -f json >"$TMP/x.json" &&
		python3 - "$TMP/x.prom" <<-'P'
			import re, sys
			for line in open(sys.argv[1], encoding="utf-8", newline="\n"):
			    assert line[0] == "#" or re.fullmatch(r'[a-z_]+\{([a-z]+="([^"\\\n]|\\["\\n])*",?)*\} \S+\n', line), line
		P
}
ok prometheus__labels_are_inert hostile_label
if command -v promtool >/dev/null; then
	checks() { "$SONDE" report "$1" -f prometheus | promtool check metrics; }
	for c in examples/h200_train tests/data/ncu/mpi2_kernel.ncu-rep tests/data/ncu/names_kernel.ncu-rep; do ok "prometheus__promtool_takes_it: $(basename "$c")" checks "$c"; done
else
	skip prometheus__promtool_takes_it "promtool is not installed"
fi

# While a program runs: the file exists before the program ends, is always complete, and has the final numbers afterwards.
live() {
	(cd "$TMP" && SONDE_MODEL_CHANNELS=64 SONDE_MODEL_IMAGE_SIZE=160 exec "$SONDE" run -q --every 1s --prometheus "$TMP/live.prom" hydra.run.dir="$TMP/run" -- "$WORK/resnet_cpu" 60) >"$TMP/o" 2>"$TMP/e" &
	local pid=$! before
	wait_for test -s "$TMP/live.prom" || return
	before=$(sed -n 's/^sonde_region_entries_total{region="step"} //p' "$TMP/live.prom")
	kill -0 "$pid" 2>/dev/null && [ -n "$before" ] || { echo "the program had ended before"; return 1; }
	wait "$pid" && [ "$(sed -n 's/^sonde_region_entries_total{region="step"} //p' "$TMP/live.prom")" = 60 ] && ! grep -q '^region' "$TMP/e"
}
# node_exporter runs as another user: the file has the mode of the one before, or 0644, whatever the mode of the run directory.
modes() {
	local mode
	for mode in none 600 640 644; do
		rm -f "$TMP/mode.prom"
		[ $mode = none ] || (: >"$TMP/mode.prom" && chmod $mode "$TMP/mode.prom") || return
		rm -rf "$TMP/moded"
		"$SONDE" run -q --prometheus "$TMP/mode.prom" -o "$TMP/moded" -- "$WORK/resnet_cpu" 1 >/dev/null || return
		[ "$(stat -c %a "$TMP/mode.prom")" = "$(echo $mode | sed s/none/644/)" ] && [ -s "$TMP/mode.prom" ] &&
			[ "$(stat -c %a "$TMP/moded")" = 700 ] && [ -z "$(find "$TMP/moded" -type f -perm /077)" ] || return
	done
}
if [ -e "$BUILD/libsonde_inject.so" ]; then
	ok prometheus__other_users_can_read_the_file modes
	ok prometheus__two_processes_of_a_rank_are_told_apart same_rank
	ok prometheus__is_written_while_the_program_runs live
else
	skip prometheus__other_users_can_read_the_file "the injected library is not built: no NVTX headers"
	skip prometheus__two_processes_of_a_rank_are_told_apart "the injected library is not built: no NVTX headers"
	skip prometheus__is_written_while_the_program_runs "the injected library is not built: no NVTX headers"
fi
