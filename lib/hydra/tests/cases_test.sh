#!/usr/bin/env bash
# The recorded cases of the configuration language: every one passes.
. "$(dirname "$0")/../../../tests/lib.sh"
cases=$PWD/$BUILD/tests/hydra_cases
all=$TMP/recorded
mkdir -p "$all"
tar -xzf lib/hydra/tests/recorded/cases.tar.gz -C "$all" || exit 1

# NAME COUNT FILE…: all COUNT cases of the files together pass.
bar() {
	local name=$1 count=$2 out
	shift 2
	out=$("$cases" --configs "$all/configs" "$@" 2>&1)
	if [ "$(printf '%s\n' "$out" | tail -1)" = "$count passed, 0 failed" ]; then
		pass "hydra_$name ($count of $count)"
	else
		printf '%s\n' "$out" | tail -20
		not_ok "hydra_$name: not $count of $count"
	fi
}

bar override_parsing 957 "$all/parse/override_parse.json"
bar defaults 134 "$all/defaults/defaults_list.json"
bar composition_hydra 122 "$all/compose/compose_hydra.json"
bar composition_marked 124 "$all/compose/compose_marked.json"
bar composition_own 541 "$all/compose/compose_own.json"
bar sweeps 50 "$all/sweep/sweep.json"
bar interpolation_grammar 234 "$all/omegaconf/interpolation_grammar.json"
bar merge 146 "$all/omegaconf/merge.json"
bar yaml_load 166 "$all/omegaconf/yaml_load.json"
bar yaml_dump 166 "$all/omegaconf/yaml_dump.json"
