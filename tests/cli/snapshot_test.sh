#!/usr/bin/env bash
# Memory snapshots of PyTorch: reports are compared with what Python itself reads from the pickle; bad pickles must be refused.
. "$(dirname "$0")/../lib.sh"
truth=$(dirname "$0")/snapshot_truth.py

agrees() { # SEED PROTOCOL: a snapshot that was played through
	python3 "$truth" make "$1" "$2" "$TMP/$1.pickle" "$TMP/$1.truth" &&
		"$SONDE" report "$TMP/$1.pickle" -f json -o "$TMP/$1.json" 2>/dev/null &&
		python3 "$truth" check "$TMP/$1.pickle" "$TMP/$1.json" "$TMP/$1.truth" >"$TMP/out" && "$SONDE" validate "$TMP/$1.json" >/dev/null
}
all_agree() {
	for seed in 1 2 3 4 5 6 7 8; do agrees $seed $((2 + seed % 4)) || return 1; done
}
ok snapshot__every_region_has_what_python_finds all_agree

has_columns() {
	"$SONDE" report tests/data/snapshot/small.pickle >"$TMP/text" && grep -qE '^region +at peak +held$' "$TMP/text" &&
		grep -q '^total in regions' "$TMP/text" && grep -q 'reserved in .* segments' "$TMP/text" && ! grep -q launches "$TMP/text"
}
ok snapshot__the_table_has_bytes_and_no_launches has_columns
is_weighed() {
	"$SONDE" report tests/data/snapshot/small.pickle -f folded >"$TMP/peak" &&
		"$SONDE" report tests/data/snapshot/small.pickle -f folded --by allocator__peak_bytes.sum | cmp - "$TMP/peak"
}
ok snapshot__flame_graphs_show_the_peak is_weighed
is_the_same_packed() {
	gzip -c tests/data/snapshot/small.pickle >"$TMP/small.pickle.gz" && "$SONDE" report tests/data/snapshot/small.pickle --partial -o "$TMP/small.sondecells" &&
		for f in "$TMP/small.pickle.gz" "$TMP/small.sondecells"; do
			"$SONDE" report "$f" -f csv >"$TMP/packed" && "$SONDE" report tests/data/snapshot/small.pickle -f csv | cmp - "$TMP/packed" || return 1
		done
}
ok snapshot__compressed_and_partial_are_the_same is_the_same_packed

refuses_all() {
	python3 "$truth" hostile "$TMP/hostile"
	for f in "$TMP"/hostile/*; do
		! "$SONDE" report "$f" >"$TMP/out" 2>"$TMP/err" && grep -q "byte [0-9]*: $(basename "$f") is a pickle instruction" "$TMP/err" || return 1
	done
	[ "$(find "$TMP/hostile" -type f | wc -l)" -gt 20 ]
}
ok snapshot__code_is_refused_by_the_name_of_its_opcode refuses_all
