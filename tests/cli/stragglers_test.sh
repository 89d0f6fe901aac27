#!/usr/bin/env bash
# Captures of a job with a planted straggler: every format names it first, with what makes it slow.
# Runs long.
. "$(dirname "$0")/../lib.sh"
MAKE=$BUILD/tools/ranks_make
[ -x "$MAKE" ] || skip_all "build/tools/ranks_make is not built"
report() { "$SONDE" report --deterministic "$@"; }
job() { # NAME KEY=VALUE…
	"$MAKE" "$TMP/$1" "${@:2}" && report -f json "$TMP/$1" >"$TMP/$1.json" && "$SONDE" validate "$TMP/$1.json"
}
first() { # JOB SENTENCE CAUSE REGION: in text, JSON, Markdown and HTML
	report --width 400 "$TMP/$1" >"$TMP/out" && sed -n 2p "$TMP/out" | grep -q "^slow: $2" &&
		jq -e --arg cause "$3" --arg region "$4" '.ranks.stragglers[0] | .cause == $cause and (.region // "") == $region' "$TMP/$1.json" &&
		report -f md "$TMP/$1" >"$TMP/out" && sed -n 3p "$TMP/out" | grep -q "^\*\*Slow\*\*: $2" &&
		report -f html "$TMP/$1" >"$TMP/out" && grep -q "\"slow\": \?\[\"$2" "$TMP/out"
}
job rank slow_rank=3
job gpu slow_gpu=5 layers=3
job node late_host=1 offset_ms=-2500 ppm=30
job even offset_ms=7
job two ranks=2 per_host=1 slow_rank=1 percent=12
ok "a rank 10 % slower in one region is named first" first rank 'rank 3 · node0 · GPU 3 is \(9\.[5-9]\|10\.[0-5]\)% slower than the median of the other ranks in step/fwd ' rank step/fwd
ok "a GPU with lower clocks is named first" first gpu 'rank 5 · node1 · GPU 1 is \(9\.[5-9]\|10\.[0-5]\)% slower than the median of the other ranks in step .*it is the GPU' gpu step
ok "a late node is named first" first node 'host node1 (all 4 ranks, .* is last at 20 of 20 collectives, .*it is the node' node ""
ok "one of two hosts with a rank each is named" first two 'rank 1 · node1 · GPU 0 is 1[12]\.[0-9]% slower than .* in step/fwd ' rank step/fwd

nobody() {
	report "$TMP/even" >"$TMP/out" && ! grep -q '^slow:' "$TMP/out" && jq -e '.ranks.stragglers == [] and .ranks.count == 8 and .ranks.hosts == 2' "$TMP/even.json"
}
ok "even ranks have no straggler" nobody
none_slow() { "$SONDE" report tests/data/ranks_alike.tar.gz >"$TMP/alike" && absent '^slow:' "$TMP/alike"; }
ok "GPUs that are 2 % apart, and two overlapped collectives a step, make none either" none_slow

if command -v python3 >/dev/null; then
	ok "stragglers are told from ranks that differ, and their causes apart" python3 tests/cli/straggler_table.py "$MAKE" "$SONDE" "$TMP"
else
	skip "stragglers are told from ranks that differ" "python3 is not installed"
fi

aligned() { # the clock of the second host is 2.5 s behind, less 30 ppm since 10,000 s ago
	jq -e '.ranks.clocks[1] | .aligned and .collectives == 20 and (.ahead_ms + 2200 | fabs) < 1 and .error_us < 5' "$TMP/node.json" &&
		grep -q '2 clocks were aligned by the ends of collectives, to ±' <(report --width 400 "$TMP/node")
}
ok "clocks of hosts are aligned, with the error" aligned

waits() { # the others wait for rank 3 at each of the 20 all-reduces, and nobody else does
	jq -e '.ranks | (.per_rank[3] | .last == 20 and .wait_ms < 0.001 and .collectives == 20) and
		([.per_rank[] | select(.scope | startswith("rank 3") | not) | .wait_ms > 0.3 and .last == 0] | all) and
		.collectives.compared == 20 and .collectives.odd == 0 and .collectives.regions[0].region == "step" and
		(.collectives.longest_waits | length == 10 and all(.last | startswith("rank 3")))' "$TMP/rank.json" &&
		jq -e '[.aggregate.regions[0].comm_wait_ms, ([.ranks.per_rank[].wait_ms] | add)] | .[0] - .[1] | fabs < 1e-9' "$TMP/rank.json" &&
		jq -e '.aggregate.regions[] | select(.id == "step/fwd") | .ranks | .slowest == "rank 3 · node0 · GPU 3" and .cause == "rank" and .count == 8' "$TMP/rank.json"
}
ok "who is last and how long the others wait" waits
tables() { # CSV and SQLite name it too, in regions of the aggregate only
	report -f csv "$TMP/rank" | python3 -c '
import csv, sys
named = [(r["scope"], r["slowest_rank"]) for r in csv.DictReader(sys.stdin) if r["id"] == "step/fwd"]
sys.exit([n for s, n in named if s == "aggregate"] != ["rank 3 · node0 · GPU 3"] or any(n for s, n in named if s != "aggregate"))' &&
		report -f sqlite -o "$TMP/rank.db" "$TMP/rank" &&
		[ "$(sqlite3 "$TMP/rank.db" "SELECT count(*), max(slowest_rank) FROM regions WHERE region_id = 'step/fwd' AND slowest_rank IS NOT NULL")" = "1|rank 3 · node0 · GPU 3" ]
}
ok "the slowest rank is in the CSV and the database" tables
ok "golden ranks.txt" golden ranks.txt report --ranks --width 100 "$TMP/rank"

partials() { # in any order, the same bytes; gains need the launches
	local r
	report -f json report.whatif=off "$TMP/node" >"$TMP/node.json" || return
	for r in "$TMP"/node/*.sonde; do report "$r" --partial -o "$r.sondecells" || return; done
	report -f json report.whatif=off "$TMP"/node/rank0000[53710462].sonde.sondecells | cmp - "$TMP/node.json" &&
		report "$TMP"/node/rank0000[0-3].sonde.sondecells --partial -o "$TMP/a.sondecells" &&
		report "$TMP"/node/rank0000[4-7].sonde.sondecells --partial -o "$TMP/b.sondecells" &&
		report -f json report.whatif=off "$TMP/b.sondecells" "$TMP/a.sondecells" | cmp - "$TMP/node.json"
}
ok "partial reports give the same bytes in any order" partials

folded() { # of 60 ranks 8 are kept as scopes, and the others are compared too; in any order
	"$MAKE" "$TMP/many" ranks=60 per_host=6 late_host=7 late_us=400 offset_ms=3 &&
		report -f json report.scopes.keep=8 "$TMP/many" >"$TMP/many.json" && "$SONDE" validate "$TMP/many.json" &&
		jq -e '.ranks | .count == 60 and (.per_rank | length) == 60 and .collectives.compared == 20 and .collectives.groups[0].ranks == 60 and
			(.clocks | length == 10 and all(.aligned)) and (.stragglers[0] | .cause == "node" and .ranks == 6 and .last == 20 and
			(.sentence | startswith("host node7 (all 6 ranks")))' "$TMP/many.json" &&
		report -f json report.scopes.keep=8 "$TMP"/many/*[13579].sonde "$TMP"/many/*[02468].sonde | cmp - "$TMP/many.json"
}
ok "ranks that are added up are compared too" folded
slow_among_many() {
	"$MAKE" "$TMP/slow" ranks=60 per_host=6 slow_rank=41 && report --width 300 report.scopes.keep=8 "$TMP/slow" >"$TMP/out" &&
		sed -n 2p "$TMP/out" | grep -q '^slow: rank 41 · node6 · GPU 5 is .*% slower than the median of the other ranks in step/fwd '
}
ok "a slow rank of many is named" slow_among_many

# torch.profiler: groups and sequence numbers say which collectives belong together, whatever was captured first.
trace() { # RANK FIRST: four ranks in two groups by parity; from collective FIRST on. Rank 3 comes 300 µs late, its clock is 5 s ahead
	jq -n --argjson rank "$1" --argjson first "$2" '{distributedInfo: {rank: $rank, world_size: 4}, traceEvents: [range($first; 12) as $i |
		(1000000 + $i * 2000 + (if $rank == 3 then 5000000 else 0 end)) as $at | (if $rank == 3 then 300 else 0 end) as $late |
		{ph: "X", cat: "user_annotation", name: "step", pid: 9, tid: 9, ts: $at, dur: 1900},
		{ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 9, tid: 9, ts: ($at + 1), dur: 2, args: {correlation: (2 * $i + 1)}},
		{ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 9, tid: 9, ts: ($at + 4), dur: 2, args: {correlation: (2 * $i + 2)}},
		{ph: "X", cat: "kernel", name: "gemm", pid: 0, tid: 7, ts: ($at + 100), dur: 500, args: {device: 0, stream: 7, correlation: (2 * $i + 1)}},
		{ph: "X", cat: "kernel", name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", pid: 0, tid: 20, ts: ($at + 700 + $late), dur: (500 - $late + $i * 7 + $rank % 2 * 40),
			args: {device: 0, stream: 20, correlation: (2 * $i + 2), "Collective name": "allreduce", "Process Group Name": ($rank % 2 | tostring), Seq: $i, "In msg nelems": 1024, dtype: "Float"}}]}' >"$TMP/torch/rank$1.json"
}
torch() {
	mkdir -p "$TMP/torch" && trace 0 0 && trace 1 0 && trace 2 3 && trace 3 2 && report -f json "$TMP/torch" >"$TMP/torch.json" && "$SONDE" validate "$TMP/torch.json" &&
		jq -e '.ranks | (.collectives.groups | length == 2 and .[0].group == "group 0" and .[0].compared == 9 and .[1].compared == 10 and .[0].bytes == 9 * 4096) and
			.per_rank[3].last == 10 and (.per_rank[1].wait_ms - 3 | fabs) < 0.001 and .per_rank[0].wait_ms == 0 and
			([.clocks[].with] == [0, 1, 0, 1]) and (.clocks[3].ahead_ms - 5000 | fabs) < 0.001' "$TMP/torch.json"
}
ok "torch.profiler's groups and sequence numbers match collectives" torch

last_there() { # the finding names the rank that was last in its region, and costs what was waited there
	report -f json tests/data/kineto/dlrm_two_ranks.tar.gz >"$TMP/dlrm.json" && jq -e '.findings[] | select(.cause == "late_rank") |
		(.says | endswith("in collectives for the last rank. That was rank 0 · GPU 0")) and
		(.cost.run_ms - (.evidence[] | select(.figure == "comm_wait_ms").value) | fabs) < 1e-6' "$TMP/dlrm.json"
}
ok "a finding on waits names the rank that was last in its region" last_there

slow_and_late() { # a slow rank that nobody waits for: its sentence says for whom they do
	"$MAKE" "$TMP/both" slow_rank=3 late_rank=5 late_us=2000 && report --width 400 "$TMP/both" >"$TMP/out" &&
		grep -q '^also: rank 3 .*its data or shapes. The others wait for rank 5 · node1 · GPU 1, which is last at 20 of 20 collectives.$' "$TMP/out"
}
ok "a slow rank is not the one that others wait for" slow_and_late

noticed() { # every figure that follows from others
	local change
	for change in '.ranks.count += 1' '.ranks.stragglers[0].slower_pct += 1' '.ranks.per_rank[3].last += 1' '.ranks.per_rank[0].clock = 9' \
		'.ranks.collectives.compared += 1' '.ranks.per_rank[0].exposed_comm_ms += 99' '.aggregate.regions[1].ranks.max_ms += 1' \
		'.aggregate.regions[1].ranks.median_ms = 0' '.ranks.stragglers[0].cause = "luck"'; do
		jq "$change" "$TMP/rank.json" >"$TMP/changed.json"
		! "$SONDE" validate "$TMP/changed.json" >/dev/null 2>&1 || { echo "not noticed: $change" && return 1; }
	done
}
ok "validate notices a changed figure" noticed
