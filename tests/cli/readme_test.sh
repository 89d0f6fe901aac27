#!/usr/bin/env bash
# README shows what sonde prints, and links to pages that are there.
set -u
failed=0
check() { if "${@:2}" >/dev/null; then echo "ok $1"; else echo "not ok $1"; failed=1; fi; }
tree_is_current() {
	diff <(sed -n '/^\$ sonde report examples/,/^```/p' README.md | sed '1d;$d') <("$SONDE" report examples/h200_transformer.ncu-rep)
}
links_lead_somewhere() {
	local link rc=0
	for link in $(grep -o ']([A-Za-z][^):]*)' README.md docs/*.md | sed 's/.*](//; s/)$//; s/#.*//' | sort -u); do
		[ -e "$link" ] || [ -e "docs/$link" ] || { echo "$link"; rc=1; }
	done
	return $rc
}
check "the tree in README is all that sonde prints" tree_is_current
check "links in README and docs lead somewhere" links_lead_somewhere
exit $failed
