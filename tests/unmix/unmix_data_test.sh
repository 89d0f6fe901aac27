#!/usr/bin/env bash
# Unmixes recorded samples of an H200 and compares the results with what Nsight Compute measured there.
# The limits are those of docs/counters-internals.md; tests/data/sampled/README.md says where the data comes from.
. "$(dirname "$0")/../lib.sh"
data=tests/data/sampled
tool=$BUILD/tools/unmix_data
out=$TMP/out

# within NAME TRUTH NR TOTAL REGION COUNTER…: for each counter, the total is right within TOTAL percent, and each of the NR - 1 regions
# within REGION percent
within() {
	local name=$1 truth=$2 nr=$3 total=$4 region=$5 bad=
	shift 5
	"$tool" -o -250 "$data/$name.samples.gz" "$data/$name.kernels.gz" "$data/$truth.truth" >"$out" 2>"$TMP/$name.took" || bad="it failed"
	for c in "$@"; do
		bad+=$(awk -v c="$c" -v nr="$nr" -v total="$total" -v region="$region" '
			index($1, c) { seen = 1
				for (i = 2; i < NF; i++) value[$i] = $(i + 1)
				t = value["total"]; t = t < 0 ? -t : t
				if (t > total) printf " %s: total %s %%", c, value["total"]
				if (value["worst"] > region) printf " %s: a region is %s %% off", c, value["worst"]
				split(value["held"], h, "/")
				if (h[1] != h[2] || h[2] != nr) printf " %s: intervals of regions hold %s", c, value["held"] }
			END { if (!seen) printf " no %s", c }' "$out")
	done
	if [ -z "$bad" ]; then pass "$name agrees with ncu within $region % per region"; else
		not_ok "$name:$bad"
		cat "$out"
	fi
	cat "$out" >>"$TMP/all"
}

within decode_50us decode 10 2.5 4 inst_executed_realtime dram__bytes_read tensor_cycles lts__t_sectors
within decode_100us decode 10 2.5 6 inst_executed_realtime dram__bytes_read tensor_cycles lts__t_sectors
within decode_200us decode 10 2.5 10 inst_executed_realtime dram__bytes_read tensor_cycles lts__t_sectors
within graph_20us graph 9 3 12 inst_executed_realtime tensor_cycles pipe_fma lts__t_sectors
within graph_50us graph 9 3 15 inst_executed_realtime tensor_cycles pipe_fma lts__t_sectors

# Single kernels with at least 1 % of the total: nine of ten intervals contain ncu's value.
held=$(awk '{ for (i = 2; i < NF; i++) if ($i == "kernels") { split($(i + 1), k, "/"); held += k[1]; of += k[2] } }
	END { print held, "of", of, (of > 300 && held >= 0.9 * of) }' "$TMP/all")
case $held in
*1) pass "intervals hold ${held% *} kernels" ;;
*) not_ok "intervals hold ${held% *} kernels" ;;
esac

# A second on two cores is the bar; CPU time of all threads does not depend on what else the machine does.
took=$(awk '{ print $4, ($4 > 0 && $4 <= 1) }' "$TMP/graph_20us.took")
case $took in
*1) pass "graph_20us is unmixed within a second" ;;
*) not_ok "graph_20us is unmixed within a second: ${took% *} s" ;;
esac

# The same bits every time, whatever the compiler made of it: figures as printed are kept.
if "$tool" -k -o -250 "$data/graph_20us.samples.gz" "$data/graph_20us.kernels.gz" \
	"$data/graph.truth" 2>/dev/null | sha256sum | cmp -s - "$data/graph_20us.sha256"; then
	pass "figures are the same as on every machine"
else
	not_ok "figures are the same as on every machine"
fi
