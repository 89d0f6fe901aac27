#!/usr/bin/env bash
# Native captures on a real GPU: the number of kernels, and the name and regions of every launch, must be those that Nsight
# Compute records for the same program. Without ncu, they are compared with the stored reports of the same
# kernels under tests/data/ncu.
#
#   make gpu-programs                              on any machine; copy build/gpu to the one with the GPU
#   tests/run build/gpu native_gpu                 on the machine with the GPU
. "$(dirname "$0")/../native.sh"
SHAPES="seed overlap domains names deep many threads graph none empty"

skip_all() {
	for s in $SHAPES; do echo "skip the launches of '$s' are those ncu records: $1"; done
	exit 0
}
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
nvidia-smi -L >/dev/null 2>&1 || skip_all "no GPU here"
command -v nvcc >/dev/null || skip_all "no nvcc to build the program"
NVTX=$(dirname "$(command -v nvcc)")/../include
nvcc -O2 -std=c++17 -I"$NVTX" -o "$TMP/shapes" tests/gpu/shapes.cu -ldl >"$TMP/nvcc.log" 2>&1 || {
	cat "$TMP/nvcc.log"
	echo "not ok the shapes program builds"
	exit 1
}

gpu_traced() {
	env SONDE_INJECT_CONFIG="$CONF" NVTX_INJECTION64_PATH="$LIB" CUDA_INJECTION64_PATH="$LIB" \
		timeout -k 1 120 "$@"
}

kernels() { # FILE…: the kernel lines, sorted for the shape with threads
	"$BUILD/tools/capture_dump" "$@" | grep '^launch kernel' |
		if [ "$shape" = threads ]; then sort; else cat; fi
}

same_launches() {
	shape=$1
	local report
	fresh
	gpu_traced "$TMP/shapes" "$shape" >"$TMP/got.out" || return
	[ "$(cat "$TMP/got.out")" = "done $shape" ] || return
	kernels "$OUT"/*.sonde >"$TMP/native.txt"
	if command -v ncu >/dev/null; then
		report=$TMP/$shape.ncu-rep
		ncu --nvtx --clock-control none --metrics gpu__time_duration.sum --graph-profiling node -f -o "${report%.ncu-rep}" \
			"$TMP/shapes" "$shape" >"$TMP/ncu.log" 2>&1 || { cat "$TMP/ncu.log"; return 1; }
	else
		report=tests/data/ncu/${shape}_kernel.ncu-rep
		[ -e "$report" ] || cannot "there is no $report" || return
	fi
	kernels "$report" >"$TMP/ncu.txt"
	sed -i 's/ in wide 注$/ in /' "$TMP/native.txt" # ncu records wide labels as empty
	wc -l "$TMP/native.txt" "$TMP/ncu.txt"
	[ -s "$TMP/ncu.txt" ] && diff "$TMP/ncu.txt" "$TMP/native.txt" && return
	dump | grep '^note'
	return 1
}

captured() {
	fresh
	gpu_traced "$TMP/shapes" captured && dump >"$TMP/captured.txt"
	grep '^launch kernel' "$TMP/captured.txt"
	[ "$(grep -c 'in graph_region captured in capture_region$' "$TMP/captured.txt")" -eq 6 ]
}

reported() { # the region of the capture has no launches, that of the launches all, on its streams
	fresh
	gpu_traced "$TMP/shapes" captured && "$SONDE" report "$OUT" -f json >"$TMP/g.json" && "$SONDE" validate "$TMP/g.json" &&
		python3 - "$TMP/g.json" <<-'P'
			import json, sys
			rows = {r["name"]: r for r in json.load(open(sys.argv[1]))["aggregate"]["regions"]}
			graph = rows["graph_region"]
			print(rows["capture_region"]["kernel_count"], graph["kernel_count"], graph["per_stream"], graph["busy_ms"], graph["total_ms"])
			assert rows["capture_region"]["kernel_count"] == 0 and graph["kernel_count"] == 6
			assert sum(s["kernel_count"] for s in graph["per_stream"]) == 6 and 0 < graph["busy_ms"] <= graph["total_ms"]
		P
}

whole_graph() {
	fresh graphs=whole
	gpu_traced "$TMP/shapes" graph && dump >"$TMP/whole.txt"
	grep '^launch' "$TMP/whole.txt"
	[ "$(grep -c '^launch graph .* in graph_region' "$TMP/whole.txt")" -eq 2 ]
}

copies() {
	fresh
	gpu_traced "$TMP/shapes" copies && dump >"$TMP/copies.txt"
	grep '^launch' "$TMP/copies.txt"
	[ "$(grep -c '^launch mem.* in move$' "$TMP/copies.txt")" -eq 4 ]
}

host_side() { # calls that can wait, memory, and what the driver says of the device
	local uuid
	uuid=$(nvidia-smi -L | sed -n 's/.*UUID: \(GPU-[^)]*\)).*/\1/p' | head -1)
	fresh memory=on
	gpu_traced "$TMP/shapes" copies && "$BUILD/tools/capture_dump" --times "$OUT"/*.sonde >"$TMP/host.txt"
	grep -E '^(call|memory|device|thread|note)' "$TMP/host.txt"
	[ "$(grep -c '^call copy' "$TMP/host.txt")" -ge 4 ] && grep -q '^call alloc' "$TMP/host.txt" &&
		grep -q '^call sync_device' "$TMP/host.txt" && [ "$(grep -c '^memory alloc 1048576 in (nothing)' "$TMP/host.txt")" -ge 3 ] &&
		grep -q "^device .* ${uuid:-GPU-}.* device__attribute_clock_rate=[1-9].* device__attribute_memory_clock_rate=[1-9].* device__attribute_global_memory_bus_width=[1-9]" "$TMP/host.txt"
}

levers() { # ways to have CUPTI work for less capture the same kernels
	local line
	for line in lever.zeroed=on lever.buffer_kb=1024+lever.zeroed=on lever.overhead=off lever.device_buffers=8; do
		fresh ${line//+/ }
		gpu_traced "$TMP/shapes" many && dump >"$TMP/lever.txt"
		echo "$line $(grep -c '^launch kernel' "$TMP/lever.txt")"
		[ "$(grep -c '^launch kernel' "$TMP/lever.txt")" -eq 152 ] && ! grep 'CUPTI refused' "$TMP/lever.txt" || return
	done
}

storm() {
	fresh
	gpu_traced "$TMP/shapes" storm && "$BUILD/tools/capture_dump" --count "$OUT"/*.sonde >"$TMP/storm.txt"
	cat "$TMP/storm.txt"
	grep -q 'records=1000002 ' "$TMP/storm.txt" && ! grep -q dropped "$TMP/storm.txt"
}

no_cupti() {
	fresh cupti=off
	gpu_traced "$TMP/shapes" seed && dump >"$TMP/off.txt" && cat "$TMP/off.txt"
	! grep '^launch' "$TMP/off.txt" && grep -q 'note CUPTI is switched off' "$TMP/off.txt" &&
		grep -q 'range push_pop A/A::A1 entries=3' "$TMP/off.txt"
}

bytes() {
	local size n
	fresh
	gpu_traced "$TMP/shapes" many && size=$(cat "$OUT"/*.sonde | wc -c)
	n=$("$BUILD/tools/capture_dump" "$OUT"/*.sonde | grep -c '^launch kernel')
	echo "$size bytes for $n kernels and 150 ranges, header and names included"
	[ "$n" -eq 152 ] && [ "$size" -le $((n * 64 + 150 * 40 + 8192)) ]
}

killed() {
	local i pid
	for i in 1 2 3 4 5; do
		fresh collect_ms=20
		SONDE_INJECT_CONFIG=$CONF NVTX_INJECTION64_PATH=$LIB CUDA_INJECTION64_PATH=$LIB \
			"$TMP/shapes" many >/dev/null &
		pid=$!
		sleep "0.$((RANDOM % 9))"
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		settle
		[ -z "$(ls "$OUT")" ] || "$BUILD/tools/capture_dump" --count "$OUT"/*.sonde || return
	done
}

for s in $SHAPES; do
	name="the launches of '$s' are those ncu records"
	same_launches "$s" >"$TMP/log" 2>&1
	case $? in
	0) pass "$name" ;;
	77) skip "$name" "no ncu here and no stored report of this shape" ;;
	*)
		tail -60 "$TMP/log"
		not_ok "$name"
		;;
	esac
done
ok "a graph's kernels belong to its launch and tell where they were captured" captured
ok "a report of a real capture is valid, with streams and regions without launches" reported
ok "a graph may be captured as a whole" whole_graph
ok "copies and fills belong to their region" copies
ok "calls that can wait, memory and the device's attributes are recorded" host_side
ok "ways to have CUPTI work for less capture the same kernels" levers
ok "no kernel is lost when graphs launch a million in a second" storm
ok "without CUPTI the ranges of a CUDA program are captured, with a note" no_cupti
ok "a kernel takes at most 64 bytes, a range at most 40" bytes
ok "kill -9 leaves a readable capture of a CUDA program" killed
