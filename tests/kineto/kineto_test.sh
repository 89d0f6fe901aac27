#!/usr/bin/env bash
# torch.profiler traces: reports of real traces equal an independent reading (reading.py), and compressed,
# archived and truncated files give what they contain.
# Runs long.
. "$(dirname "$0")/../lib.sh"
DATA=tests/data/kineto
vllm=$DATA/inference__vllm_decode_full__graph_execution.json.gz

reading() { # KEY=VALUE… -- TRACE…
	python3 tests/kineto/reading.py "$SONDE" "$@" report.labels=raw report.origins=off || : >"$TMP/.not_ok"
}
modules() { # TRACE [CAPTURE]
	python3 tests/kineto/modules.py "$SONDE" "$@" || : >"$TMP/.not_ok"
}
same() { # NAME A B [KEY=VALUE…]: two inputs, one report
	local name=$1 f n=0
	for f in "$2" "$3"; do
		n=$((n + 1))
		"$SONDE" report "$f" "${@:4}" --format csv >"$TMP/same$n" 2>"$TMP/err" || cat "$TMP/err"
	done
	if [ -s "$TMP/same1" ] && cmp -s "$TMP/same1" "$TMP/same2"; then pass "$name"; else not_ok "$name"; fi
}
says() { # NAME WORDS COMMAND…: its output, or what it says, has the words
	local name=$1 words=$2
	shift 2
	"$@" >"$TMP/out" 2>&1
	tr '\n' ' ' <"$TMP/out" | tr -s ' ' | grep -qF -- "$words" && pass "$name" || {
		head -20 "$TMP/out"
		not_ok "$name"
	}
}

if command -v python3 >/dev/null; then
	reading report.kineto.regions=annotations report.threads=adopt "$DATA"/*.gz "$DATA"/*.json
	reading report.kineto.regions=annotations report.threads=own "$DATA"/*.gz "$DATA"/*.json
	reading report.kineto.regions=ops "$DATA"/h200_train.json.gz "$DATA"/dlrm_two_ranks.tar.gz
	modules "$DATA"/h100__gaunernst_bert-small-uncased__1016001.json.gz
	modules "$DATA"/h100__Qwen1.5-0.5B-Chat_cut.json.gz
	modules "$DATA"/sglang_decode/decode.json.gz "$DATA"/sglang_decode/capture_traces/bs_32_rank0.json.gz
	modules "$vllm" "$DATA"/vllm_decode_full/capture_traces/graph_capture_rank_0.json.gz
	"$SONDE" report "$DATA"/dlrm_two_ranks.tar.gz -f json >"$TMP/ranks.json"
	ok kineto__processes_have_rank_and_size python3 -c "
import json, sys
r = json.load(open('$TMP/ranks.json'))
sys.exit(sorted((p['rank'], p['world_size']) for p in r['capture']['processes']) != [(0, 8), (1, 8)]
         or sorted(s['scope'][:6] for s in r['scopes']) != ['rank 0', 'rank 1'])"
	python3 tests/kineto/idle_reading.py "$SONDE" "$DATA"/*.gz "$DATA"/*.json || : >"$TMP/.not_ok"
	python3 tests/kineto/proton.py "$SONDE" tests/data/proton/*.json || : >"$TMP/.not_ok"
else
	skip kineto_reading "python3 is not installed"
fi

# --- backward without sequence numbers: the flows say the same -----------------------------------
if command -v python3 >/dev/null; then
	mkdir -p "$TMP/flows"
	python3 - "$DATA/h200_train.json.gz" "$TMP/flows/h200_train.json.gz" <<'P'
import gzip, json, sys
trace = json.load(gzip.open(sys.argv[1]))
for event in trace["traceEvents"]:
    for key in ("Sequence number", "Fwd thread id"):
        event.get("args", {}).pop(key, None)
json.dump(trace, gzip.open(sys.argv[2], "wt", 1))
P
	same kineto__flows_link_backward_as_sequence_numbers_do "$DATA/h200_train.json.gz" "$TMP/flows/h200_train.json.gz"
	ok kineto__flows_make_backward_regions grep -q ',attn,.*,backward,' "$TMP/same2"
fi

# --- files as people have them -----------------------------------------------------------------
train=$DATA/h200_train.json.gz
zcat "$train" >"$TMP/train.json"
same kineto__plain_and_compressed_traces_are_the_same "$train" "$TMP/train.json"
{ head -c 60000 "$TMP/train.json" | gzip; tail -c +60001 "$TMP/train.json" | gzip; } >"$TMP/two.json.gz"
same kineto__a_gzip_file_of_several_members_is_one "$train" "$TMP/two.json.gz"
mkdir -p "$TMP/dir/sub"
cp "$train" "$TMP/dir/sub/"
echo '{"not": "a trace"}' >"$TMP/dir/other.json"
same kineto__the_traces_of_a_directory_are_read "$train" "$TMP/dir"
tar -C "$TMP" -cf "$TMP/dir.tar" dir
same kineto__the_traces_of_an_archive_are_read "$train" "$TMP/dir.tar"
gzip -k "$TMP/dir.tar"
same kineto__compressed_traces_in_a_compressed_archive_are_read "$train" "$TMP/dir.tar.gz"
for f in tests/data/ncu/seed_kernel.ncu-rep tests/data/ncu/seed_kernel.raw.csv; do
	gzip -c "$f" >"$TMP/$(basename "$f").gz"
	same "gzip__$(basename "$f")_is_read_compressed" "$f" "$TMP/$(basename "$f").gz"
done

# --- graphs: traces of their captures, as people have them ---------------------------------------
cp -r "$DATA/sglang_decode" "$TMP/serving"
says graphs__a_folder_is_one_trace_with_its_captures "544 of 544 launches of graphs are where they were captured" \
	"$SONDE" report "$TMP/serving"
same graphs__captures_are_found_beside_the_trace "$TMP/serving" "$TMP/serving/decode.json.gz"
zcat "$DATA/sglang_decode/decode.json.gz" >"$TMP/alone.json"
same graphs__captures_may_be_named "$TMP/serving" "$TMP/alone.json" \
	"report.kineto.captures=$TMP/serving/capture_traces"
says graphs__without_captures_the_report_says_what_is_missing "graph launch counts as a whole where it was launched; to divide its work" \
	"$SONDE" report "$TMP/alone.json"
"$SONDE" report "$TMP/alone.json" >"$TMP/out" 2>&1
ok graphs__captures_that_nobody_named_are_not_missed absent "does not exist" "$TMP/out"
says graphs__captures_that_are_not_there_are_missed "(report.kineto.captures) does not exist" \
	"$SONDE" report "$TMP/alone.json" report.kineto.captures="$TMP/none"
says graphs__a_pair_that_does_not_fit_is_refused_with_the_counts "has 544 kernels and copies, but the capture in" \
	"$SONDE" report "$TMP/alone.json" "report.kineto.captures=$DATA/vllm_decode_full/capture_traces"
cp "$DATA"/vllm_decode_full/capture_traces/*.gz "$TMP/serving/capture_traces/bs_64_rank0.json.gz"
head -c 5000 "$DATA/sglang_decode/capture_traces/bs_32_rank0.json.gz" >"$TMP/serving/capture_traces/bs_1_rank0.json.gz"
cp "$TMP/serving/capture_traces/bs_1_rank0.json.gz" "$TMP/serving/capture_traces/bs_1_rank1.json.gz"
says graphs__of_several_captures_the_one_that_fits_is_taken "544 of 544 launches of graphs are where they were captured" \
	"$SONDE" report "$TMP/serving"
head -c 4000 "$TMP/serving/capture_traces/bs_1_rank0.json.gz" >"$TMP/serving/capture_traces/zz_rank0.json.gz"
"$SONDE" report "$TMP/serving" >"$TMP/out" 2>&1
ok graphs__captures_behind_the_one_that_fits_are_not_read absent zz_rank0 "$TMP/out"
rm "$TMP/serving/capture_traces/zz_rank0.json.gz"
says graphs__the_captures_alone_are_traces_too "capture_32_DECODE" "$SONDE" report "$DATA/sglang_decode/capture_traces"
"$SONDE" report "$TMP/serving" --partial -o "$TMP/serving.sondecells"
says graphs__a_partial_report_has_them "544 of 544 launches of graphs are where they were captured" \
	"$SONDE" report "$TMP/serving.sondecells"
"$SONDE" report "$TMP/serving" -f json >"$TMP/serving.json"
ok graphs__the_report_is_valid "$SONDE" validate "$TMP/serving.json"
says graphs__layers_captured_one_by_one_are_layers "─ Layer_2 (graph) 4" \
	"$SONDE" report --findings none tests/fuzz/corpus/kineto/layers.json
# One model, called by its modules and replayed as a graph of CUDA: each layer has the same kernels in the same order.
a_graph_of_cuda() {
	for f in h200_modules h200_module_graph; do "$SONDE" report "$DATA/$f.json.gz" -f json >"$TMP/$f.json" || return; done
	python3 tests/kineto/layers.py "$TMP/h200_modules.json" "$TMP/h200_module_graph.json"
}
ok graphs__a_graph_of_cuda_has_the_kernels_of_each_layer a_graph_of_cuda
says graphs__all_of_it_is_at_its_layers "102 of 102 launches of graphs are where they were captured" "$SONDE" report "$DATA/h200_module_graph.json.gz"
says modules__of_the_only_step_the_layers_have_rows "BertLayer_3" \
	"$SONDE" report --findings none "$DATA"/h100__gaunernst_bert-small-uncased__1016001.json.gz
says modules__are_said_in_the_line_of_coverage "84 calls of PyTorch modules are regions" \
	"$SONDE" report --width 300 "$DATA"/h100__gaunernst_bert-small-uncased__1016001.json.gz

# --- cut and damaged ones ----------------------------------------------------------------------
head -c 1200000 "$TMP/train.json" >"$TMP/cut.json"
says kineto__a_cut_trace_gives_what_was_before "results before it are reported" "$SONDE" report "$TMP/cut.json"
says kineto__a_cut_trace_says_copy_it_again "truncated" "$SONDE" report "$TMP/cut.json"
head -c 95000 "$train" >"$TMP/cut.json.gz"
says gzip__a_cut_file_says_copy_it_again "truncated after" "$SONDE" report "$TMP/cut.json.gz"
says gzip__a_cut_file_gives_what_was_before "results before it are reported" "$SONDE" report "$TMP/cut.json.gz"
tar -C "$TMP" -cf "$TMP/plain.tar" train.json
head -c 1250000 "$TMP/plain.tar" >"$TMP/cut.tar"
says tar__a_cut_archive_says_after_how_much "truncated after 90 %; copy it again" "$SONDE" report "$TMP/cut.tar"
{ head -c 100000 "$train"; head -c 500 /dev/zero; tail -c +100501 "$train"; } >"$TMP/bad.json.gz"
says gzip__damage_says_after_how_much "damaged after" "$SONDE" report "$TMP/bad.json.gz"
python3 -c "
import gzip
with gzip.open('$TMP/long.json.gz', 'wb', 1) as f:
    f.write(b'{\"meta\": \"'); [f.write(b'x' * (1 << 20)) for _ in range(1024)]; f.write(b'\", \"traceEvents\": [')
    f.write(b'{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"'); [f.write(b'y' * (1 << 20)) for _ in range(80)]
    f.write(b'\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1},')
    f.write(b'{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 5, \"dur\": 1}]}')
"
says kineto__texts_of_a_gigabyte_are_passed_over "0 of 1 launches" \
	"$SONDE" report "$TMP/long.json.gz"
says kineto__an_event_that_is_too_long_is_left_out "1 event is longer than 64 MiB" "$SONDE" report "$TMP/long.json.gz"

says nsys__a_report_of_its_own_names_the_export "nsys export --type sqlite" \
	bash -c "head -c 2000 /dev/urandom >'$TMP/x.nsys-rep'; '$SONDE' report '$TMP/x.nsys-rep'"
if command -v sqlite3 >/dev/null; then
	SONDE_NSYS=$PWD/tests/standin/nsys says nsys__with_export_it_is_exported "registered op" \
		"$SONDE" report --export "$TMP/x.nsys-rep"
else
	skip nsys__with_export_it_is_exported "sqlite3 is not installed"
fi
SONDE_NSYS=$TMP/none says nsys__without_nsys_export_says_so "none" "$SONDE" report --export "$TMP/x.nsys-rep"
