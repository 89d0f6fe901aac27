#!/usr/bin/env bash
# README and docs quote the real output of sonde, and their links lead to existing pages.
. "$(dirname "$0")/../lib.sh"
sonde() { "$SONDE" "$@"; }
# Prints a page with the present output of its commands. Output is in two kinds of places: below each `$ sonde …` on data of the
# repository, and between `<!-- made by: COMMAND -->` and `<!-- end -->`, inside the code fence if there is one.
with_outputs() { # PAGE
	local line inside=
	while IFS= read -r line; do
		case $line in
		'<!-- made by: '*' -->') inside=${line#'<!-- made by: '} inside=${inside%' -->'} ;;&
		'<!-- made by: '*)
			printf '%s\n' "$line"
			IFS= read -r line
			case $line in '```'*) printf '%s\n' "$line" ;; esac
			eval "$inside" 2>&1 </dev/null
			case $line in '```'*) printf '```\n' ;; esac
			;;
		'<!-- end -->') inside= ;;
		*' -o '* | '$ '*'|'*'jq'* | '$ '*'|' | *'-f names'*) [ "$inside" != printed ] || inside= ;;
		'$ sonde '*' tests/data/'* | '$ sonde '*' examples/'*) # also with `| head -N`
			inside=printed
			printf '%s\n' "$line"
			eval "${line#\$ }" 2>&1 </dev/null
			;;
		'```'* | '$ '*) [ "$inside" != printed ] || inside= ;;
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
	[ "$(cat README.md docs/*.md | grep -c '^\$ sonde .* \(tests/data\|examples\)/')" -ge 12 ] && return $rc
}
commands_have_pages() {
	local c rc=0
	for c in $(sonde --help=table | cut -f1); do
		grep -qF "<!-- made by: sonde $c --help" "docs/sonde-$c.md" || { echo "$c"; rc=1; }
	done
	return $rc
}
anchors_of() { # PAGE: of its headings, as they are made for links
	sed -n '/^```/,/^```/d; s/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed "s/[^[:alnum:] _-]//g; s/ /-/g"
}
links_lead_somewhere() {
	local page link to rc=0
	for page in README.md docs/*.md; do
		for link in $(grep -o ']([A-Za-z#][^):]*)' "$page" | sed 's/.*](//; s/)$//' | sort -u); do
			to=$(dirname "$page")/${link%%#*}
			[ "${link%%#*}" ] || to=$page
			[ -e "$to" ] && case $link in *'#'*) anchors_of "$to" | grep -qxF -e "${link#*#}" ;; esac || { echo "$page: $link"; rc=1; }
		done
	done
	return $rc
}
# Pictures are small, and each is made by the script and shown somewhere.
pictures_are_shown() {
	local picture name rc=0
	for picture in docs/img/*.png; do
		name=$(basename "$picture")
		[ "$(wc -c <"$picture")" -le 150000 ] && grep -qF "(img/$name)" docs/*.md && grep -qF "\"${name%.png}\"," tests/browser/shots.py || { echo "$picture"; rc=1; }
	done
	return $rc
}
# A page that the index does not name is not found.
pages_are_on_a_shelf() {
	local page rc=0
	for page in docs/*.md; do
		page=${page#docs/}
		[ "$page" = index.md ] || grep -qF "($page)" docs/index.md || { echo "$page"; rc=1; }
	done
	return $rc
}
# Tasks are two screens: how it works and what was measured has pages of its own.
tasks_are_short() {
	local page words nr=0 rc=0
	for page in $(sed -n '/^## Tasks/,/^## Reference/p' docs/index.md | grep -o '([a-z-]*\.md)' | tr -d '()'); do
		words=$(wc -w <"docs/$page") nr=$((nr + 1))
		[ "$words" -le 950 ] || { echo "docs/$page has $words words"; rc=1; }
	done
	[ "$nr" -ge 20 ] && return $rc
}
# Lines that people copy: each is run on a capture of the repository, or planned where it would start a program.
one_liners_work() {
	local line rc=0 nr=0 program
	for program in program server python3 torchrun; do cp /bin/true "$TMP/$program"; done
	while IFS= read -r line; do
		line=${line%%  #*}
		case $line in
		*'|'*) line=${line%%|*} ;;
		esac
		case $line in
		'    sonde report RUN'* | '    sonde whatif RUN'*) line=${line//RUN/examples/h200_train} ;;
		'    sonde run '*'--base-cmd'*) continue ;; # has no plan
		*'sonde run '*) line="    sonde run -n ${line#*sonde run }" ;;
		'    sonde diff before/'*) line="    sonde diff examples/h200_train examples/h200_train" ;;
		*) continue ;;
		esac
		nr=$((nr + 1))
		eval "(cd '$TMP' && ln -sfn '$PWD/examples' examples && sonde ${line#*sonde } >out 2>err)" || { echo "$line"; tail -3 "$TMP/err"; rc=1; }
	done < <(grep -h '^    .*sonde ' docs/one-liners.md docs/recipes.md)
	[ "$nr" -ge 35 ] && return $rc
}
few_words() { [ "$(wc -w <README.md)" -le 900 ]; }
ok "README has at most 900 words" few_words
ok "one-liners are commands that work" one_liners_work
ok "README and docs show all that sonde prints" pages_are_current
ok "each command has a page with its help" commands_have_pages
ok "pictures are small, made by a script, and shown" pictures_are_shown
ok "every page is in the index" pages_are_on_a_shelf
ok "task pages are short" tasks_are_short
ok "links in README and docs lead somewhere" links_lead_somewhere
