#!/usr/bin/env bash
# Real exports of Nsight Systems (tests/data/nsys/README.md): regions, coverage, ranks.
# Runs long.
. "$(dirname "$0")/../lib.sh"
data=tests/data/nsys

# Prints counts of a report of FILE with OVERRIDES…: regions, launches, launches in regions, then launches outside by cause.
counts() {
	"$SONDE" report "$data/$1" "${@:2}" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" >/dev/null &&
		python3 - "$TMP/r.json" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
c, by = r["coverage"], r["coverage"]["unattributed_by"]
print(len(r["aggregate"]["regions"]), c["launches_total"], c["launches_attributed"],
      by["no_range_open"], by["two_threads"], by["no_host_call"])
P
}
is() { [ "$(counts "${@:2}")" = "$1" ]; }

# 845 launches: for 421 the export does not have the call; all others are in a region.
ok nsys_serial_labels_make_few_regions is '160 845 424 0 0 421' h100.sqlite
ok nsys_raw_labels_make_many is '1532 845 424 0 0 421' h100.sqlite report.labels=raw
ok nsys_other_export is '116 346 315 0 0 31' mfu.sqlite
ok nsys_other_export_raw is '1120 346 315 0 0 31' mfu.sqlite report.labels=raw
ok nsys_export_without_ranges is '0 3 0 3 0 0' mock.sqlite

# Both processes have the same regions: regions in which both launched have an imbalance.
line_up() {
	counts "$1" >/dev/null && python3 - "$TMP/r.json" <<'P'
import json, sys
regions = json.load(open(sys.argv[1]))["aggregate"]["regions"]
both = [g for g in regions if g["scopes"]["count"] == 2]
timed = [g for g in both if g["kernel_count"]]
sys.exit(not (len(both) >= 0.9 * len(regions) and timed and all(g["scopes"]["imbalance"] for g in timed)))
P
}
ok nsys_processes_line_up line_up h100.sqlite
ok nsys_other_processes_line_up line_up mfu.sqlite

text=$("$SONDE" report $data/h100.sqlite --width 200)
python3 tests/kineto/idle_reading.py "$SONDE" tests/data/nsys/*.sqlite || : >"$TMP/.not_ok"
ok nsys_says_why_launches_are_outside grep -q '421 outside any range (no host call in the trace)' <<<"$text"
ok nsys_shows_the_aggregate_first grep -q '^2 scopes, the first is process:111/device:0; --per-scope shows each' <<<"$text"
ok nsys_shows_single_scopes_on_request [ "$("$SONDE" report $data/h100.sqlite --per-scope | grep -c '^process:11[12]/device:[01]$')" = 2 ]
text=$("$SONDE" report $data/h100.sqlite report.labels=raw)
ok nsys_notes_what_would_be_left grep -q 'report.labels=known would leave 160' <<<"$(tr -s ' \n' ' ' <<<"$text")"

# Launches, times, entries and medians of random exports are those that plain SQL and loops find.
like_reference() { # SEED…
	local seed
	for seed; do
		rm -f "$TMP/random.sqlite"
		python3 tests/nsys/reference.py make "$TMP/random.sqlite" "$seed" &&
			"$SONDE" report "$TMP/random.sqlite" -f json report.labels=raw report.nesting=stack >"$TMP/random.json" &&
			"$SONDE" validate "$TMP/random.json" && python3 tests/nsys/reference.py check "$TMP/random.sqlite" "$TMP/random.json" || {
			echo "seed $seed"
			return 1
		}
	done
}
ok nsys_numbers_are_those_of_the_reference like_reference {1..12}

# Columns that were asked for stay; busy and host time make room.
head=$("$SONDE" report $data/h100.sqlite --metrics memory__bytes.sum --width 100 | grep -m1 '^region')
ok nsys_metrics_stay_where_columns_must_go [ "$(tr -s ' ' <<<"$head")" = 'region launches incl ms idle µs host ms copy ms share bytes.sum bound' ]

# A rank by the environment nsys ran in, if it traced one process.
rank() {
	cp $data/mock.sqlite "$TMP/rank.sqlite" && chmod u+w "$TMP/rank.sqlite" &&
		python3 - "$TMP/rank.sqlite" <<'P'
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
d.execute("DELETE FROM TARGET_INFO_SYSTEM_ENV")
d.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'node3')")
d.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('DeviceEnvironment', 'A=1;SLURM_PROCID=2;SLURM_NTASKS=8;B=2')")
d.commit()
P
	"$SONDE" report "$TMP/rank.sqlite" -f json >"$TMP/rank.json" && "$SONDE" validate "$TMP/rank.json" >/dev/null &&
		grep -qF '"scope": "rank 2 · node3 · GPU 0"' "$TMP/rank.json" &&
		"$SONDE" report "$TMP/rank.sqlite" --scope 'rank 2*' >/dev/null
}
ok nsys_ranks_have_names rank

# Each of several processes is named by the rank MPI gave it.
ranks() {
	cp $data/h100.sqlite "$TMP/mpi.sqlite" && chmod u+w "$TMP/mpi.sqlite" &&
		python3 - "$TMP/mpi.sqlite" <<'P' &&
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
d.execute("CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER)")
for pid, rank in ((111, 1), (112, 0), (999, 7)):
    d.execute("INSERT INTO MPI_RANKS VALUES (?, ?)", (1 << 48 | pid << 24 | pid, rank))
d.commit()
P
	"$SONDE" report "$TMP/mpi.sqlite" -f json >"$TMP/mpi.json" && "$SONDE" validate "$TMP/mpi.json" >/dev/null &&
		python3 - "$TMP/mpi.json" <<'P'
import json, sys
scopes = {s["process_id"]: s["scope"] for s in json.load(open(sys.argv[1]))["scopes"]}
sys.exit(not (scopes[111].startswith("rank 1") and scopes[112].startswith("rank 0")))
P
}
ok nsys_ranks_of_mpi_have_names ranks

# GPU metrics, as `nsys --gpu-metrics-devices` samples them: split among the kernels, each export by its own.
metrics() { # FILE SCALE: an export of two regions that take turns, A with tensor cores and B with memory
	rm -f "$1"
	python3 - "$1" "$2" <<'P'
import sqlite3, sys
d, scale, ms = sqlite3.connect(sys.argv[1]), float(sys.argv[2]), 1_000_000
d.executescript("""
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
 correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, smCount INTEGER, clockRate INTEGER, memoryBandwidth INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'copy');
INSERT INTO TARGET_INFO_GPU VALUES (3, 'NVIDIA H100', NULL, 132, 1980000000, 3350000000000);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 9);
""")
names = ["GPC Clock Frequency [MHz]", "SMs Active [Throughput %]", "SM Issue [Throughput %]", "Tensor Active [Throughput %]",
         "DRAM Read Bandwidth [Throughput %]", "DRAM Write Bandwidth [Throughput %]", "PCIe RX Throughput [Throughput %]"]
for i, name in enumerate(names):
    d.execute("INSERT INTO TARGET_INFO_GPU_METRICS VALUES (?, 0, 'x', ?, ?)", (1 << 40 | 3, i, name))
busy = []
for k in range(100):
    kind, begin, long = k % 2, ms * (10 + 2 * k) + 37_000 * (k % 7), 60_000 if k % 10 in (0, 5) else ms  # some are short
    d.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?)", (begin - 90_000, begin - 10_000, "AB"[kind], 9 << 24 | 9))
    d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 1)", (begin - 50_000, begin - 40_000, 9 << 24 | 9, k + 1))
    d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?)", (begin, begin + long, k + 1, 9 << 24, kind + 1, kind + 1))
    busy.append((begin, begin + long, kind))
does = [(80, 40, 60, 10, 5, 1), (30, 10, 0, 60, 20, 2)]
for t in range(ms * 9, ms * 212, 100_000):
    row = [0.0] * 6
    for a, b, kind in busy:
        share = max(0, min(b, t) - max(a, t - 100_000)) / 100_000
        row = [v + share * x * scale for v, x in zip(row, does[kind])]
    for i, v in enumerate([1980] + row):
        d.execute("INSERT INTO GPU_METRICS VALUES (?, ?, ?, ?)", (t, 1 << 40 | 3, i, round(v)))
d.commit()
P
}
figures() { # SCALE…: what a report of one export for each says of A and B
	local scale files=()
	for scale; do metrics "$TMP/gpu$scale.sqlite" "$scale" && files+=("$TMP/gpu$scale.sqlite"); done
	"$SONDE" report "${files[@]}" -f json >"$TMP/gpu.json" && "$SONDE" validate "$TMP/gpu.json" >/dev/null &&
		python3 - "$TMP/gpu.json" "$@" <<'P'
import json, sys
report, wrong = json.load(open(sys.argv[1])), 0
want = {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed": (80, 30),
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": (60, 0),
        "dram__bytes.sum.pct_of_peak_sustained_elapsed": (15, 80)}
for scope, scale in zip(report["scopes"], map(float, sys.argv[2:])):
    regions = {g["name"]: g["metrics"] for g in scope.get("regions", report["aggregate"]["regions"])}
    for metric, values in want.items():
        for name, value in zip("AB", values):
            got = regions[name].get(metric)
            if got is None or abs(got - value * scale) > 2:
                wrong += 1
                print(scope["scope"], name, metric, got, "not", value * scale)
sys.exit(wrong > 0)
P
}
ok nsys_gpu_metrics_are_split_among_regions figures 1
ok nsys_gpu_metrics_are_of_their_own_export figures 0.5 1
ok nsys_gpu_metrics_without_a_role_are_curves output_has 'PCIe RX Throughput' "$SONDE" report "$TMP/gpu1.sqlite" -f perfetto
raw_labels() { # entries keep the label they were captured with, in partial reports too
	local raw='aten::mul, seq = 45328, op_id = 990726' f
	"$SONDE" report tests/data/nsys/mfu.sqlite --partial -o "$TMP/mfu.sondecells" || return
	for f in tests/data/nsys/mfu.sqlite "$TMP/mfu.sondecells"; do
		"$SONDE" report "$f" -f json | jq -e --arg raw "$raw" 'any(.aggregate.regions[]; .id == "aten::mul" and .entries.labels[0] == $raw)' &&
			rm -f "$TMP/mfu.db" && "$SONDE" report "$f" -f sqlite -o "$TMP/mfu.db" &&
			python3 -c 'import sqlite3, sys; sys.exit(not sqlite3.connect(sys.argv[1]).execute("SELECT 1 FROM entries WHERE label = ?", (sys.argv[2],)).fetchone())' "$TMP/mfu.db" "$raw" || return
	done
}
ok nsys_entries_keep_their_labels raw_labels
