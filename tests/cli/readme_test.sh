#!/usr/bin/env bash
# README shows what sonde prints, and links to pages that are there.
. "$(dirname "$0")/../lib.sh"
tree_is_current() {
	if [ -n "${ACCEPT:-}" ]; then
		"$SONDE" report examples/h200_transformer.ncu-rep >"$TMP/tree"
		awk -v tree="$TMP/tree" '/^\$ sonde report examples/ { print; while ((getline line <tree) > 0) print line; inside = 1; next }
			/^```/ { inside = 0 } !inside' README.md >"$TMP/README.md" && cp "$TMP/README.md" README.md
	fi
	diff <(sed -n '/^\$ sonde report examples/,/^```/p' README.md | sed '1d;$d') <("$SONDE" report examples/h200_transformer.ncu-rep)
}
links_lead_somewhere() {
	local link rc=0
	for link in $(grep -o ']([A-Za-z][^):]*)' README.md docs/*.md | sed 's/.*](//; s/)$//; s/#.*//' | sort -u); do
		[ -e "$link" ] || [ -e "docs/$link" ] || { echo "$link"; rc=1; }
	done
	return $rc
}
ok "the tree in README is all that sonde prints" tree_is_current
ok "links in README and docs lead somewhere" links_lead_somewhere
