#!/usr/bin/env bash
# The recorded cases of the configuration language: our own always, the others where they are.
set -u
cases=$BUILD/tests/hydra_cases
[ -x "$cases" ] || {
	echo "skip hydra: $cases is not built"
	exit 0
}

# NAME PERCENT CONFIGS FILE…: at least PERCENT of the cases of all files together pass.
bar() {
	local name=$1 percent=$2 configs=$3 out passed failed
	shift 3
	if ! out=$("$cases" --configs "$configs" "$@" 2>&1); then
		printf '%s\n' "$out" | tail -5
		echo "not ok hydra_$name"
		return
	fi
	read -r passed failed <<<"$(printf '%s\n' "$out" | tail -1 | sed 's/ passed,//; s/ failed//')"
	if [ $((passed * 100)) -ge $(((passed + failed) * percent)) ] && [ "$passed" -gt 0 ]; then
		echo "ok hydra_$name ($passed of $((passed + failed)))"
	else
		printf '%s\n' "$out" | head -20
		echo "not ok hydra_$name ($passed of $((passed + failed)), needed $percent %)"
	fi
}

own=$PWD/tests/data/hydra
bar own_override_parsing 100 "$own/configs" "$own/parse/override_parse.json"
bar own_composition 100 "$own/configs" "$own/compose/compose_own.json"
bar own_sweeps 100 "$own/configs" "$own/sweep/sweep.json"

all=$PWD/../shared/data/hydra
if [ ! -d "$all" ]; then
	echo "skip hydra_all: no ../shared/data/hydra (cases of other projects are not copied)"
	exit 0
fi
c=$all/configs
bar override_parsing 99 "$c" "$all/parse/override_parse.json"
bar defaults 99 "$c" "$all/defaults/defaults_list.json"
bar composition 98 "$c" "$all"/compose/compose_{hydra,marked,own}.json
bar yaml_load 97 "$c" "$all/omegaconf/yaml_load.json"
bar merge 97 "$c" "$all/omegaconf/merge.json"
bar interpolation_grammar 95 "$c" "$all/omegaconf/interpolation_grammar.json"
bar yaml_dump 90 "$c" "$all/omegaconf/yaml_dump.json"
bar sweeps 80 "$c" "$all/sweep/sweep.json"
