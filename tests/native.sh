# Sourced by the tests of the native capture: running programs under the injected library.
#
#   $OUT      the folder of the captures
#   fresh     empties $OUT and writes a configuration with the given extra lines
#   traced    runs a program under the library
#   dump      prints the contents of all captures, without times
#   goes_on_until   runs a loop of fake_loop.c until something has happened, however long that takes
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
OUT=$TMP/out CONF=$TMP/inject.conf
LIB=$PWD/$BUILD/libsonde_inject.so
WORK=$PWD/$BUILD/workloads

[ -e "$LIB" ] || skip_all "the NVTX headers were not found when building"

fresh() {
	rm -rf "$OUT"
	mkdir -p "$OUT"
	{
		echo "output=$OUT"
		printf '%s\n' "$@"
	} >"$CONF"
}

traced() {
	env SONDE_INJECT_CONFIG="$CONF" NVTX_INJECTION64_PATH="$LIB" timeout -k 1 600 "$@"
}

# Whether it happens after a tenth of a second or after ten, a loop that waits for it is right on any machine. The loop's end
# without it is no success: a test of what never comes would wait for nothing.
goes_on_until() { # "CONDITION…" COMMAND…: what the command, whose loop ends by then, returns
	local watcher code
	rm -f "$TMP/stop" "$TMP/never"
	(wait_for $1 || : >"$TMP/never"; : >"$TMP/stop") &
	watcher=$!
	FAKE_LOOP_STOP=$TMP/stop "${@:2}"
	code=$?
	kill $watcher 2>/dev/null # where it ended by itself
	wait $watcher
	[ ! -e "$TMP/never" ] || {
		echo "the loop was stopped: '$1' did not come"
		return 1
	}
	return $code
}
# The log of the stand-in of CUPTI ($FAKE_CUPTI_LOG), and a moment to see what comes next.
logged() { # WORD TIMES
	[ "$(grep -c "$1" "$TMP/log")" -ge "$2" ] && sleep 0.3
}

# A program that ends without its exit handlers leaves a flusher that writes the rest.
settle() { # it may go on in another file meanwhile
	local f before=
	while [ "$before" != "$(echo "$OUT"/*.sonde*)" ]; do
		before=$(echo "$OUT"/*.sonde*)
		for f in $before; do
			[ ! -e "$f" ] || flock -s -w 120 "$f" true
		done
	done
}

dump() {
	settle
	"$BUILD/tools/capture_dump" "$OUT"
}

cannot() { # WHY: for may_skip
	echo "$1"
	return 77
}

may_skip() { # NAME COMMAND: one that says `… || cannot WHY || return` cannot be tried here
	local name=$1
	shift
	"$@" >"$TMP/log" 2>&1
	case $? in
	0) pass "$name" ;;
	77) skip "$name" "$(tail -1 "$TMP/log")" ;;
	*)
		tail -40 "$TMP/log"
		not_ok "$name"
		;;
	esac
}

# The program prints and returns the same with and without the library.
same_with_and_without() {
	local want got
	want=$("$@" 2>&1; echo "status $?")
	got=$(traced "$@" 2>&1; echo "status $?")
	[ "$want" = "$got" ] && return
	printf 'without: %s\nwith:    %s\n' "$want" "$got"
	return 1
}

has() { # every line given is a line of the dump
	local text line
	text=$(dump) || {
		echo "$text"
		return 1
	}
	for line in "$@"; do
		if ! grep -qxF -- "$line" <<<"$text"; then
			printf 'missing: %s\nin:\n%s\n' "$line" "$text"
			return 1
		fi
	done
}
