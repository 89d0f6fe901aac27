#!/usr/bin/env bash
# README shows what sonde prints, and links to pages that are there.
. "$(dirname "$0")/../lib.sh"
# README with the output of today below every `$ sonde report examples/…`.
with_trees() {
	local line inside=
	while IFS= read -r line; do
		case $line in
		'$ sonde report examples/'*)
			inside=yes
			printf '%s\n' "$line"
			# shellcheck disable=SC2086
			"$SONDE" ${line#\$ sonde }
			;;
		'```'*) inside= ;;
		esac
		[ -n "$inside" ] || printf '%s\n' "$line"
	done <README.md
}
trees_are_current() {
	with_trees >"$TMP/README.md" || return
	[ -z "${ACCEPT:-}" ] || cp "$TMP/README.md" README.md
	[ "$(grep -c '^\$ sonde report examples/' README.md)" = 2 ] && diff README.md "$TMP/README.md"
}
links_lead_somewhere() {
	local link rc=0
	for link in $(grep -o ']([A-Za-z][^):]*)' README.md docs/*.md | sed 's/.*](//; s/)$//; s/#.*//' | sort -u); do
		[ -e "$link" ] || [ -e "docs/$link" ] || { echo "$link"; rc=1; }
	done
	return $rc
}
ok "the trees in README are all that sonde prints" trees_are_current
ok "links in README and docs lead somewhere" links_lead_somewhere
