#!/usr/bin/env bash
# The structure of the source: rooms include door headers only, and every header compiles alone.
. "$(dirname "$0")/../lib.sh"
alone() {
	local h
	for h in src/*/*.h src/*/*/*.h lib/*/*.h; do
		case $h in src/inject/* | *_int.h) continue ;; esac
		echo "#include \"${h#*/}\"" | ${CC:-cc} -std=gnu17 -Isrc -Ilib -Iinclude -D_GNU_SOURCE -fsyntax-only -x c - || echo "$h"
	done
}
stand_alone() {
	alone >"$TMP/alone" 2>&1
	[ ! -s "$TMP/alone" ] || { cat "$TMP/alone" && false; }
}
ok every_room_includes_only_what_lies_to_its_left scripts/check-includes
ok each_door_header_compiles_alone stand_alone
ok each_struct_of_a_door_has_a_noun_of_the_glossary scripts/check-glossary
without_noun() { sed '/^| calibration |/d' docs/architecture.md >"$TMP/page" && ! scripts/check-glossary "$TMP/page" >"$TMP/missing" && grep -q 'struct sonde_calibration has no noun' "$TMP/missing"; }
ok a_struct_without_a_noun_is_found without_noun
named_twice() { printf '%s\n' src/*/*.[ch] src/*/*/*.[ch] lib/*/*.[ch] | sed 's|.*/||' | sort | uniq -d; }
ok file_names_are_unique [ -z "$(named_twice)" ]
ok no_function_is_over_80_lines scripts/function-lengths

# Only cli/ and mpi/, which are programs, print or exit; inject/ has its own rule.
prints() { grep -nE '\b(stdout|stderr)\b|[^_a-z](printf|puts|putchar|perror|exit|abort|assert)\(' src/*/*.c src/*/*/*.c lib/*/*.c | grep -v '^src/\(cli\|mpi\|inject\)/\|sys\.stdout\|_logging/stdout'; }
no_room_prints() { ! prints; }
ok only_programs_print_or_exit no_room_prints

# The name of a counter or metric is only in the catalogue, or in the one file that deals with it; other code uses its role or macro.
spelled() { # by file: the names in quotes, without what follows the counter's own name; the catalogue is one place
	grep -oHE '"\[?(sm|smsp|gpu|gpc|dram|lts|l1tex|pcie|nvlrx|nvltx|launch|device|nccl|memory)__[a-z0-9_]+' src/*/*.[ch] src/*/*/*.[ch] src/export/html/*.js |
		sed 's|^src/catalogue/[^:]*|src/catalogue|; s|:"\[*|:|' | sort -u
}
spelled_once() { ! spelled | cut -d: -f2 | sort | uniq -d | grep .; }
ok a_metric_is_spelled_in_one_place spelled_once

# Tests: no script defines its own `ok`, and none reads files that are not in the repository.
without_lib() { ! grep -L '^\. .*/\(lib\|native\)\.sh"' tests/*/*_test.sh lib/*/tests/*_test.sh | grep .; }
beside_the_checkout() { ! grep -n '"\(\.\./\)*\.\./shared\|\$PWD/\.\.' tests/*/*.sh tests/*/*.[ch] tests/*/*.py lib/*/tests/*.sh lib/*/tests/*.[ch] | grep -v doors_test; }
ok every_test_script_sources_lib without_lib
ok no_test_reads_beside_the_checkout beside_the_checkout

# Outputs that tests compare with are files of golden/ or parts of pages, so that `make accept` knows all of them.
unused_is_found() {
	printf '%s\n' tests/cli/golden/* >"$TMP/used" && scripts/golden-unused "$TMP/used" && sed -i '/diff\.md/d' "$TMP/used" &&
		! scripts/golden-unused "$TMP/used" >"$TMP/unused" && grep -q '^tests/cli/golden/diff\.md: ' "$TMP/unused" && [ "$(wc -l <"$TMP/unused")" = 1 ]
}
compared_by_hand() { ! grep -nE '\b(cmp|diff) .*(docs/|README|cli/golden|GOLDEN)' tests/*/*_test.sh lib/*/tests/*_test.sh | grep -v 'readme_test\|doors_test'; }
ok a_golden_file_that_no_test_uses_is_found unused_is_found
ok only_golden_and_the_test_of_pages_compare_with_files compared_by_hand

# Every requirement and every invariant has tests that run.
requirements=(US{1,2,3} FR-0{01,02,03,04,05,06,07,08,09,10,11,12} SC-00{1,2,3,4,5})
ok each_requirement_has_tests scripts/check-named-tests docs/requirements.md "${requirements[@]}"
row_without_test() { sed '/^| FR-004 /s/`only the selected kernel is listed`/`no such test`/' docs/requirements.md >"$TMP/page" && ! scripts/check-named-tests "$TMP/page" "${requirements[@]}"; }
ok a_requirement_without_a_test_is_found row_without_test
invariants=$(sed -n 's/^| \([0-9]*\) | .*/\1/p' docs/invariants.md)
# shellcheck disable=SC2086 # one argument each
ok each_invariant_has_tests scripts/check-named-tests docs/invariants.md ${invariants:-none}
each_is_cited_once() { diff <(sort <<<"$invariants") <(grep -rhoP 'Invariant \K[0-9]+(?=\.)' src lib scripts | sort); }
ok each_invariant_is_cited_in_one_place each_is_cited_once
