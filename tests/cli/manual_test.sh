#!/usr/bin/env bash
# Manual pages and completions say what --help says, of every command.
# Runs long.
. "$(dirname "$0")/../lib.sh"
commands=$("$SONDE" --help=table | cut -f1)

# Every option of COMMAND's help is in the text on standard input.
has_all_options() { # COMMAND
	local text option
	text=$(sed 's/\\-/-/g')
	for option in $("$SONDE" "$1" --help | sed -n 's/^  \(-., \|    \)--\([a-z-]*\).*/--\2/p' | sort -u); do
		grep -qF -e "$option" <<<"$text" || {
			echo "$1: $option is missing"
			return 1
		}
	done
}
page_is_whole() { # COMMAND
	"$SONDE" "$1" --help=man >"$TMP/page" && head -2 "$TMP/page" | grep -q "^\.TH SONDE-${1^^} 1 " &&
		for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES "SEE ALSO"; do grep -qx "\.SH $section" "$TMP/page" || return; done &&
		has_all_options "$1" <"$TMP/page"
}
status_is_apart() { # a section where the help says it, and lines of a synopsis that are not indented
	"$SONDE" diff --help=man >"$TMP/page" && grep -A1 '^\.SH EXIT STATUS' "$TMP/page" | grep -q '^0 good' && ! grep -q 'Exit status' "$TMP/page" &&
		[ "$(sed -n '/^\.SH SYN/,/^\.fi/p' "$TMP/page" | grep -c '^sonde diff')" = 3 ]
}
roff_is_clean() { [ -z "$("$SONDE" $1 --help=man | groff -man -Tutf8 -ww -z 2>&1)" ]; }

ok manual__commands_are_those_of_help diff <(echo "$commands") <("$SONDE" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
for c in $commands; do
	ok "manual__page_of_${c}_is_whole" page_is_whole "$c"
	ok "manual__sonde_1_names_$c" grep -q "^\.BR sonde.-$c (1)" <("$SONDE" --help=man)
done
ok manual__exit_status_is_a_section status_is_apart
if command -v groff >/dev/null; then
	for c in "" $commands; do ok "manual__page_of_${c:-sonde}_has_no_roff_warning" roff_is_clean "$c"; done
else
	skip manual__pages_have_no_roff_warning "groff is not installed"
fi

for shell in bash zsh fish; do
	scripts/completions "$SONDE" $shell >"$TMP/$shell" || not_ok "completions__${shell}_is_made"
	if command -v $shell >/dev/null; then
		ok "completions__${shell}_parses" $shell -n "$TMP/$shell"
	else
		skip "completions__${shell}_parses" "$shell is not installed"
	fi
	for c in $commands; do
		grep -q "seen_subcommand_from $c'" "$TMP/$shell" && sed -n "s/.*seen_subcommand_from $c'.* -l /--/p" "$TMP/$shell" >"$TMP/part" ||
			cp "$TMP/$shell" "$TMP/part"
		ok "completions__${shell}_has_the_options_of_$c" has_all_options "$c" <"$TMP/part"
	done
done

# The words that bash offers for a command line.
offers() { # WANT WORDS…
	local want=$1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	compopt() { :; }
	_sonde
	[ "${COMPREPLY[*]}" = "$want" ] || {
		echo "offers '${COMPREPLY[*]}', not '$want'"
		return 1
	}
}
# shellcheck disable=SC1091
. "$TMP/bash"
ok completions__commands offers "run" sonde ru
ok completions__options offers "--format" sonde report --for
ok completions__values offers "speedscope" sonde report --format sp
ok completions__values_of_a_letter offers "perfetto" sonde report -f pe
ok completions__keys offers "report.sort=" sonde run report.so
ok completions__keys_of_diff offers "report.sort=" sonde diff report.so
ok completions__values_of_a_key offers "order time launches name" sonde report report.sort =
ok completions__begun_values_of_a_key offers "time" sonde run report.sort = t
ok completions__values_behind_an_equals_sign offers "speedscope" sonde report --format = sp
ok completions__commands_behind_help offers "validate" sonde help va
ok completions__nothing_of_ours_behind_dashes offers "" sonde run -- --con
