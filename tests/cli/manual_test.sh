#!/usr/bin/env bash
# The manual page and the completions of every command agree with its --help.
# Runs long.
. "$(dirname "$0")/../lib.sh"
commands=$("$SONDE" --help=table | cut -f1)

# The text on standard input has every option of COMMAND's help.
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
mkdir -p "$TMP/bin" && printf '#!/bin/sh\n' >"$TMP/bin/zzprogram" && chmod +x "$TMP/bin/zzprogram"
PATH=$PATH:$TMP/bin
ok completions__the_program offers "zzprogram" sonde run zzpro
ok completions__the_program_behind_dashes offers "zzprogram" sonde regions -o x -- zzpro
ok completions__the_program_behind_keys_and_options offers "zzprogram" sonde run report.sort = time -o there --open zzpro
ok completions__the_program_behind_values_with_colons offers "zzprogram" sonde run --fail-above = gpu : decode = 5% device = cuda : 0 zzpro
_command_offset() { COMPREPLY=("offset $1"); } # as bash-completion has it: completes the command line from this word on
ok completions__the_words_of_a_program offers "offset 5" sonde run report.sort = time zzprogram --for
ok completions__the_words_of_a_program_behind_dashes offers "offset 3" sonde run -- zzprogram --for
ok completions__other_commands_have_no_program offers "" sonde report zzpro
no_file() { # a number is no file, a directory is
	compopt() { echo "$*" >"$TMP/compopt"; }
	rm -f "$TMP/compopt"
	COMP_WORDS=(sonde report --width "") COMP_CWORD=3 COMPREPLY=() && _sonde && [ -z "${COMPREPLY[*]}" ] && grep -qx -- '+o default' "$TMP/compopt" && rm "$TMP/compopt" &&
		COMP_WORDS=(sonde report -o "") COMP_CWORD=3 COMPREPLY=() && _sonde && [ -z "${COMPREPLY[*]}" ] && [ ! -e "$TMP/compopt" ]
}
ok completions__files_only_where_one_can_be no_file
fish_offers() { # WANT LINE
	fish --no-config -c "source $TMP/fish; complete -c zzprogram -l zzlong; complete -C '$2'" | cut -f1 | grep -qx -- "$1"
}
if command -v fish >/dev/null; then
	ok completions__fish_the_program fish_offers zzprogram 'sonde run zzpro'
	ok completions__fish_the_program_behind_dashes fish_offers zzprogram 'sonde kernels --topk 3 -- zzpro'
	ok completions__fish_the_words_of_a_program fish_offers --zzlong 'sonde run -o x zzprogram --zz'
	ok completions__fish_the_words_of_another_sonde fish_offers report 'sonde run -- sonde repo'
else
	skip completions__fish_the_program "fish is not installed"
fi
zsh_offers() { # WANT WORDS…: which of zsh's functions is asked, and for which words
	zsh -f -c '_normal() { print "normal $CURRENT $words" }; _arguments() { print arguments }; _describe() { print describe }
		compdef() { :; }; want=$1; shift; words=("$@") CURRENT=$#; out=$(. "$0"); [[ $out == "$want" ]] || { print "asks $out, not $want"; exit 1; }' "$TMP/zsh" "$@"
}
if command -v zsh >/dev/null; then
	ok completions__zsh_the_program_behind_dashes zsh_offers "normal 1 zzpro" sonde run --open -- zzpro
	ok completions__zsh_the_words_of_a_program zsh_offers "normal 3 zzprogram a --for" sonde run report.sort=time -o x zzprogram a --for
	ok completions__zsh_other_words_are_ours zsh_offers arguments sonde run report.sort=time -o
	ok completions__zsh_other_commands_have_no_program zsh_offers arguments sonde report zzprogram x
else
	skip completions__zsh_the_program "zsh is not installed"
fi

# --- whatever is offered is taken
offered() { # WORDS…: the offers for this command line, a line each
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	compopt() { :; }
	_sonde
	printf '%s\n' "${COMPREPLY[@]}"
}
taken() { "$@" >"$TMP/taken" 2>&1 </dev/null || { echo "offered, but refused: $*" && cat "$TMP/taken" && false; }; }
all_commands() {
	local c
	for c in $(offered sonde help ""); do taken "$SONDE" help "$c" || return; done
	taken "$SONDE" help && taken "$SONDE" --help && taken "$SONDE" --version && diff <(offered sonde "" | grep -v '^help$\|^-' | sort) <(echo "$commands" | tr ' ' '\n' | grep . | sort)
}
ok completions__every_command_is_taken all_commands
all_options() { # COMMAND: each option, with each value that is offered for it
	local o v kind values
	for o in $(offered sonde "$1" -); do
		kind=$("$SONDE" "$1" --help=table | awk -F'\t' -v o="$o" '"--" $3 == o || "-" $2 == o {print $1}')
		values=$([ "$kind" != choice ] || offered sonde "$1" "$o" "")
		case $kind in
		flag) taken "$SONDE" "$1" "$o" --help || return ;;
		value) taken "$SONDE" "$1" "$o" 1 --help || return ;;
		choice) [ -n "$values" ] && for v in $values; do taken "$SONDE" "$1" "$o" "$v" --help || return; done ;;
		*) echo "$1 $o is not in the table" && return 1 ;;
		esac
	done
}
for c in $commands; do ok "completions__every_option_of_${c}_is_taken" all_options "$c"; done
all_keys() { # each key with each value that is offered, or else with its default
	local k v values
	"$SONDE" config --help | sed -n 's/^  \([a-z][^ ]*=.*\)/\1/p' >"$TMP/defaults"
	for k in $(offered sonde run "" | grep '=$'); do
		values=$(offered sonde run "${k%=}" = "")
		[ "$values" != "" ] || values=$(grep -F -- "$k" "$TMP/defaults" | sed -n "s/^${k//./\\.}//p" | head -1)
		while read -r v; do taken "$SONDE" config "$k$v" || return; done <<<"$values"
	done
}
ok completions__every_key_is_taken all_keys
