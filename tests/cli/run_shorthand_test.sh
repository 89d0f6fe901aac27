#!/usr/bin/env bash
# `sonde run`: options that set keys, and the message at the end of a run.
. "$(dirname "$0")/../lib.sh"
PROG=$PWD/$BUILD/workloads/pairs
[ -x "$PROG" ] || skip_all "the NVTX headers were not found when building"

run() {
	"$SONDE" run "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
}
says() { grep -qF -e "$1" "$TMP/err" || { cat "$TMP/out" "$TMP/err" && false; }; }
plans() { grep -qF -e "$1" "$TMP/out" || { cat "$TMP/out" "$TMP/err" && false; }; }

out() { run -o "$TMP/a b" -- "$PROG" 3 && [ $rc -eq 0 ] && [ -s "$TMP/a b/native/regions/report.json" ]; }
page() { # the page lies at the top, and the last line says so
	[ "$(tail -1 "$TMP/err")" = "sonde: to look at it: sonde view '$TMP/a b'" ] && grep -q '<html' "$TMP/a b/report.html" &&
		cmp "$TMP/a b/report.html" "$TMP/a b/native/regions/report.html" && "$SONDE" validate "$TMP/a b/report.json" &&
		[ "$("$SONDE" report "$TMP/a b" | tail -1)" = "$("$SONDE" report "$TMP/a b/native" | tail -1)" ] && "$SONDE" diff "$TMP/a b" "$TMP/a b/report.json" >/dev/null
}
no_page() { run -o "$TMP/no_page" 'report.formats=[json]' -- "$PROG" 3 && [ $rc -eq 0 ] && ! grep -q 'to look at it' "$TMP/err"; }
later() { run -o "$TMP/one" -o "$TMP/two" hydra.run.dir="$TMP/key" -- "$PROG" 3 && [ -d "$TMP/key" ] && [ ! -d "$TMP/two" ]; }
ncu() { run -n --ncu --nvtx-include 'it'\''s*' --metrics sm__a.sum,sm__b.avg -- "$PROG" && plans "it'\\''s" && plans "--metrics sm__a.sum,sm__b.avg"; }
slashes() { run -n --ncu --nvtx-include 'regex:a\d\\' -- "$PROG" && plans 'a\d\\'; }
nsys() { run -n --nsys -- "$PROG" && plans "nsys profile"; }
selected() { run -o "$TMP/sel" --nvtx-include 'no such' -- "$PROG" 3 && says "everything is in" && grep -q 'no such' "$TMP/sel/config.yaml"; }
unused() { run -n 'pipeline.ncu.ncu_cli.nvtx.include=[head]' -- "$PROG" && [ $rc -eq 0 ] && says "pipeline.ncu.ncu_cli.nvtx.include has no effect" && says "add --ncu"; }
used() { run -n --ncu 'pipeline.ncu.ncu_cli.nvtx.include=[head]' -- "$PROG" && ! grep -q "no effect" "$TMP/err"; }
no_program() {
	run --
	[ $rc -eq 2 ] && says "no program behind"
}
dry() {
	run -n -- "$TMP/nowhere/prog"
	[ $rc -eq 125 ] && says "no such program" || return
	echo 'print(1)' >"$TMP/train.py"
	run -- "$TMP/train.py"
	[ $rc -eq 125 ] && says "name python3 in front of it" || return
	echo true >"$TMP/script"
	run -- "$TMP/script"
	[ $rc -eq 125 ] && says "chmod +x $TMP/script"
}
nothing_ran() {
	printf '#!/nowhere/shell\n' >"$TMP/broken" && chmod +x "$TMP/broken"
	run -o "$TMP/never" -- "$TMP/broken"
	[ $rc -eq 125 ] && ! grep -q 'everything is in' "$TMP/err"
}
removed() { # by the program: that is why there is no capture, and nothing is there
	run -o "$TMP/gone" -- sh -c "$PROG 3; rm -rf '$TMP/gone'"
	[ $rc -eq 1 ] && says "sonde: $TMP/gone was removed while the program ran, and the captures with it; choose a directory that the program leaves alone (-o DIR)" &&
		[ "$(wc -l <"$TMP/err")" = 1 ] && [ ! -e "$TMP/gone" ]
}
removed_sweep() { run -m -o "$TMP/gone2" report.sort=time,name -- sh -c "$PROG 3; rm -rf '$TMP/gone2'" && says "$TMP/gone2 was removed" && ! grep -q 'everything is in' "$TMP/err"; }
sweep() { run -m -o "$TMP/sweep" report.sort=time,name -- "$PROG" 3 && [ -d "$TMP/sweep/1/native" ]; }

ok run__o_is_the_run_directory out
ok run__the_page_is_at_the_top_and_named_last page
ok run__without_a_page_none_is_named no_page
ok run__a_key_counts_more_than_its_shorthand later
ok run__ncu_selects_regions_and_metrics ncu
ok run__backslashes_come_through slashes
ok run__nsys_is_short_for_its_key nsys
ok run__nvtx_include_without_ncu_is_the_reports selected
ok run__a_selection_for_ncu_without_ncu_is_told unused
ok run__a_selection_for_ncu_with_ncu_is_not used
ok run__two_dashes_need_a_program no_program
ok run__a_dry_run_looks_for_the_program dry
ok run__nothing_ran_and_nothing_is_anywhere nothing_ran
ok run__a_directory_that_the_program_removed_is_not_named removed
ok run__nor_is_that_of_a_sweep removed_sweep
ok run__o_of_a_sweep_is_its_directory sweep
