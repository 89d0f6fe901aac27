#!/usr/bin/env bash
# demo.sh shows its first screen as soon as sonde is built, and only then builds the rest.
. "$(dirname "$0")/../lib.sh"
demo=$TMP/demo
mkdir -p "$demo/scripts" "$demo/build" "$demo/bin"
cp demo.sh "$demo/"
printf '#!/bin/sh\n' >"$demo/scripts/install-deps"
cat >"$demo/bin/make" <<'END'
#!/bin/sh
case " $* " in
*" -n "*) printf 'cc -c a.c\ncc -c b.c\nar x\n' ;;
*) echo "make $*" >>"$LOG" && printf 'cc -c a.c\ncc -c b.c\n' && exit "${FAILS:-0}" ;;
esac
END
printf '#!/bin/sh\necho "sonde $*" >>"$LOG"\n' >"$demo/build/sonde"
chmod +x "$demo"/bin/make "$demo"/build/sonde "$demo"/scripts/install-deps
export LOG=$TMP/log
demo() { env PATH="$demo/bin:$PATH" "$demo/demo.sh" >"$TMP/out" 2>"$TMP/err"; }

order() {
	demo && sed -n 1p "$LOG" | grep -q '^make .* build/sonde$' && sed -n 2p "$LOG" | grep -q '^sonde report examples/h200_train' && sed -n 3p "$LOG" | grep -q '^make .* all$' &&
		grep -qx 'building sonde: 2 files' "$TMP/out"
}
ok demo__the_first_screen_comes_before_the_rest_is_built order
progress() { # on a terminal: a line that is written over
	env PATH="$demo/bin:$PATH" LOG="$LOG" script -qec "$demo/demo.sh" /dev/null >"$TMP/out" </dev/null && grep -aq 'building sonde: 2 of 2 files' "$TMP/out"
}
if command -v script >/dev/null; then ok demo__tells_how_far_it_is progress; else skip demo__tells_how_far_it_is "script (bsdutils) is not installed"; fi
shown() { # what runs is what is shown, in lines of at most 100 columns
	: >"$LOG" && : >"$demo/build/libsonde_inject.so" && demo && diff <(sed -n "s/^   \\$ //p" "$TMP/out" | tr -d "'") <(grep '^sonde ' "$LOG") &&
		grep -v '^   \$ ' "$TMP/out" | absent -P '.{101}'
}
ok demo__shows_what_it_runs shown
fails() { : >"$LOG" && ! FAILS=2 demo && [ "$(wc -l <"$LOG")" = 1 ]; }
ok demo__ends_where_it_cannot_be_built fails
screen() { # no row of a warm-up, none that the samples hardly say anything about
	# shellcheck disable=SC2046
	"$SONDE" $(sed -n 's/^show \(report examples.*\)/\1/p' demo.sh | head -1) >"$TMP/screen" && sed -n '/^region/,/^total/p' "$TMP/screen" >"$TMP/rows" &&
		[ "$(wc -l <"$TMP/rows")" -gt 8 ] && absent -E 'warmup|±[0-9]{2}' "$TMP/rows"
}
ok demo__the_first_screen_has_no_warm_up screen
