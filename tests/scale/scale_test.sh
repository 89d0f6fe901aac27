#!/usr/bin/env bash
# Many inputs: reports have the same bytes on any number of cores and from partial reports in any order, also when scopes are added up
# (report.scopes.keep); and there may be more inputs than a process may have open files.
# Runs long.
. "$(dirname "$0")/../lib.sh"
many=$BUILD/bench/capture_many
[ -x "$many" ] || skip_all "there is no $many: make tools"
gunzip -c tests/data/diff/train.sonde.gz >"$TMP/one.sonde"
"$many" "$TMP/one.sonde" "$TMP/ranks" 40 600 >"$TMP/out" || not_ok scale__captures_are_made
report() { "$SONDE" report --deterministic -f json report.scopes.keep=8 "$@"; }

report "$TMP/ranks" >"$TMP/want"
ok scale__report_of_many_is_valid "$SONDE" validate "$TMP/want"
ok scale__the_others_are_added_up grep -q '"folded": 32' "$TMP/want"
folded_rows() { # one row for each scope that was added up
	[ "$("$SONDE" report "$TMP/ranks" report.scopes.keep=8 -f md | sed -n '/^32 scopes, added up: `report.scopes.keep=0`/,/^#/p' | grep -c '^| rank ')" = 32 ] &&
		jq -e '[.scopes[] | select(.folded) | .folded_scopes | length] == [32]' "$TMP/want"
}
ok scale__each_of_them_has_a_row folded_rows
ok scale__it_says_so grep -q '32 of 40 scopes are shown only as a sum: a report shows 8' "$TMP/want"

any_cores() {
	local n
	for n in 1 2 3 4 8 16; do report "$TMP/ranks" --cores $n | cmp - "$TMP/want" || return; done
}
ok scale__any_number_of_cores_gives_the_same_bytes any_cores
any_order() {
	local seed
	for seed in 1 2 3; do
		report $(ls "$TMP"/ranks/* | sort -R --random-source=<(yes $seed)) | cmp - "$TMP/want" || return
	done
}
ok scale__any_order_gives_the_same_bytes any_order
# Partial reports of groups of any size, written with any number of cores, and read in any order.
any_grouping() {
	local seed files
	for seed in 4 5; do
		rm -rf "$TMP/cells" && mkdir "$TMP/cells"
		mapfile -t files < <(ls "$TMP"/ranks/* | sort -R --random-source=<(yes $seed))
		"$SONDE" report "${files[@]:0:$seed}" --partial -o "$TMP/cells/a.sondecells" &&
			"$SONDE" report "${files[@]:$seed:17}" --partial -o "$TMP/cells/b.sondecells" --cores 3 &&
			report "$TMP"/cells/b.sondecells "${files[@]:$((seed + 17))}" "$TMP"/cells/a.sondecells | cmp - "$TMP/want" || return
	done
}
ok scale__partial_reports_in_any_grouping_give_the_same_bytes any_grouping

# Each input alone decides what looks serial: labels are the same in whatever company it is.
trace() { # PID N: a torch.profiler trace of N requests
	awk -v pid="$1" -v n="$2" 'BEGIN {
		range = "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"%s\",\"pid\":%d,\"tid\":1,\"ts\":%d,\"dur\":%d},\n"
		call = "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":%d,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":%d}},\n"
		kernel = "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":3,\"args\":{\"correlation\":%d,\"device\":0,\"stream\":7}}%s\n"
		print "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"H200\"}],\"traceEvents\":["
		printf range, "serve", pid, 0, 10 * n + 20
		for (i = 1; i <= n; i++) {
			printf range, "request " i, pid, 10 * i, 8
			printf call, pid, 10 * i + 1, i
			printf kernel, 10 * i + 3, i, i < n ? "," : "]}"
		}
	}'
}
auto_labels() {
	local dir=$TMP/auto
	mkdir "$dir" && trace 1 70 >"$dir/a.json" && trace 2 40 >"$dir/b.json" && trace 3 40 >"$dir/c.json" &&
		report "$dir"/[abc].json report.labels=auto >"$TMP/want_auto" &&
		grep -q '"id": "serve/request \*"' "$TMP/want_auto" && grep -q '"id": "serve/request 40"' "$TMP/want_auto" &&
		! grep -q '"id": "serve/request 41"' "$TMP/want_auto" &&
		"$SONDE" report "$dir"/[bc].json report.labels=auto --partial -o "$dir/bc.sondecells" &&
		report "$dir/bc.sondecells" "$dir/a.json" report.labels=auto | cmp - "$TMP/want_auto"
}
ok scale__auto_labels_do_not_depend_on_grouping auto_labels

# Every figure of the aggregate is what it is with all scopes apart, but for the sums' last bits.
without_shares() { sed '/^aggregate/,/^total/!d' "$1" | sed -E 's/of [0-9.]+ ms in ranges \([0-9]+%\)/in ranges/'; } # the run's length is known by single entries
same_aggregate() {
	"$SONDE" report --deterministic "$TMP/ranks" report.scopes.keep=8 --width 200 >"$TMP/few" &&
		"$SONDE" report --deterministic "$TMP/ranks" report.scopes.keep=0 --width 200 >"$TMP/all" &&
		diff <(without_shares "$TMP/few") <(without_shares "$TMP/all")
}
ok scale__the_aggregate_is_that_of_all_scopes same_aggregate
asked_for() { report "$TMP/ranks" report.scopes.keep=2 --scope 'rank 17 *' >"$TMP/out" && grep -q '"scope": "rank 17 · node0002' "$TMP/out"; }
ok scale__a_scope_that_is_asked_for_is_there asked_for
twice() {
	report "$TMP/ranks" "$TMP/ranks/rank00011.sonde" "$TMP/cells/b.sondecells" | jq -S 'del(.notes)' | cmp - <(jq -S 'del(.notes)' "$TMP/want")
}
ok scale__an_input_that_is_there_twice_counts_once twice

# 10,000 inputs, and 256 files at most.
few_files() {
	local i
	mkdir "$TMP/10000" && "$many" "$TMP/one.sonde" "$TMP/small" 1 20 && cd "$TMP/10000" || return
	for ((i = 0; i < 10000; i++)); do echo "$i"; done | xargs -P2 -n2000 sh -c 'for i; do ln ../small/rank00000.sonde $i.sonde; done' sh
	cd - >/dev/null && (ulimit -n 256 && exec "$SONDE" report "$TMP/10000" >"$TMP/out") && grep -q 'and 9997 more files' "$TMP/out"
}
ok scale__10000_inputs_need_few_open_files few_files

slowest() { # KEY=VALUE: the three ranks whose kernels took longest
	"$SONDE" report "$TMP/ranks" report.view=ranks --width 200 "$@" | sed -n '/^rank  /,/^$/p' | awk '$1 == "rank" && $8 > 0 {print $8, $2}' | sort -k1,1rg -k2,2n | head -3
}
slowest_is_named() { slowest report.scopes.keep=8 >"$TMP/out" && [ "$(wc -l <"$TMP/out")" = 3 ] && slowest report.scopes.keep=0 | cmp - "$TMP/out"; }
ok scale__the_slowest_ranks_are_kept_and_named slowest_is_named
