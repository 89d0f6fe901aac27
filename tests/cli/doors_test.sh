#!/usr/bin/env bash
# The shape of the source: doors between rooms, headers that stand alone.
set -u
failed=0
scripts/check-includes || { echo "not ok every room includes only what lies to its left"; failed=1; }
alone() {
	local h
	for h in src/*/*.h lib/*/*.h; do
		case $h in src/inject/* | *_int.h) continue ;; esac
		echo "#include \"${h#*/}\"" | ${CC:-cc} -std=gnu17 -Isrc -Ilib -D_GNU_SOURCE -fsyntax-only -x c - || echo "$h"
	done
}
if [ -z "$(alone 2>&1)" ]; then echo "ok each door header compiles alone"; else
	alone
	echo "not ok each door header compiles alone"
	failed=1
fi
exit $failed
