#!/usr/bin/env bash
# README and docs show what sonde prints, and link to pages that are there.
. "$(dirname "$0")/../lib.sh"
# A page with the output of today below every command on data of the repository.
with_outputs() { # PAGE
	local line inside=
	while IFS= read -r line; do
		case $line in
		*' -o '* | *'|'* | *'-f names'*) inside= ;;
		'$ sonde report tests/data/'* | '$ sonde report examples/'* | '$ sonde top tests/data/'*)
			inside=yes
			printf '%s\n' "$line"
			eval "\"$SONDE\" ${line#\$ sonde }" 2>&1 </dev/null
			;;
		'```'* | '$ '*) inside= ;;
		esac
		[ -n "$inside" ] || printf '%s\n' "$line"
	done <"$1"
}
pages_are_current() {
	local page rc=0
	for page in README.md docs/*.md; do
		with_outputs "$page" >"$TMP/page"
		[ -z "${ACCEPT:-}" ] || cp "$TMP/page" "$page"
		diff "$page" "$TMP/page" || rc=1
	done
	[ "$(cat README.md docs/*.md | grep -c '^\$ sonde \(report\|top\) \(tests/data\|examples\)/')" -ge 12 ] && return $rc
}
links_lead_somewhere() {
	local link rc=0
	for link in $(grep -o ']([A-Za-z][^):]*)' README.md docs/*.md | sed 's/.*](//; s/)$//; s/#.*//' | sort -u); do
		[ -e "$link" ] || [ -e "docs/$link" ] || { echo "$link"; rc=1; }
	done
	return $rc
}
ok "README and docs show all that sonde prints" pages_are_current
ok "links in README and docs lead somewhere" links_lead_somewhere
