# Every test script sources this file first, so that it can be started from any folder:
#
#   . "$(dirname "$0")/../lib.sh"
#
#   ok NAME COMMAND…   one test: passes when the command succeeds; else the output of the command is shown
#   pass NAME, not_ok NAME   report the result of a test that the script has made itself
#   golden FILE COMMAND…   for ok: the command prints the contents of tests/cli/golden/FILE (make accept rewrites it);
#                      scripts/golden-unused finds files that no test compares with
#   absent GREP-ARGS…  for ok: grep can read its files and finds nothing in them
#   output_has REGEX COMMAND…   for ok: a line that the command prints matches the extended regular expression
#   unread COMMAND…    runs the command while nobody reads its output; returns its status
#   skip NAME WHY      one test cannot run here
#   skip_all WHY       no test of this script can run here
#   one_make FOLDER ARGS…   make into build/FOLDER, which several scripts use: only one at a time does
#   needs_tsan         skip_all if there is no ThreadSanitizer
#   wait_for COMMAND…  repeats the command until it succeeds; is_gone PID is a command for it
#
# The working directory is then the repository; $SONDE is the program, $BUILD the build that contains it (build),
# $TMP a folder for this script only, $HOME an empty folder in it. A script that printed `not ok` always exits with 1.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
BUILD=${BUILD:-build} SONDE=${SONDE:-$PWD/${BUILD:-build}/sonde} LC_ALL=C.UTF-8
own_tmp=
[ -n "${TMP:-}" ] || TMP=$(mktemp -d) own_tmp=yes
export BUILD SONDE LC_ALL TMP
. tests/env.sh
use_home "$TMP/home"

end_tests() {
	local rc=$?
	[ ! -e "$TMP/.not_ok" ] || [ "$rc" -ne 0 ] || rc=1
	[ -z "$own_tmp" ] || rm -rf "$TMP"
	exit "$rc"
}
trap end_tests EXIT

pass() { echo "ok $1"; }
not_ok() {
	: >"$TMP/.not_ok"
	echo "not ok $1"
}
ok() {
	local name=$1
	shift
	if "$@" >"$TMP/.ok.log" 2>&1; then
		pass "$name"
	else
		tail -40 "$TMP/.ok.log"
		tail -30 "$TMP/out" "$TMP/err" 2>/dev/null # where many scripts keep what sonde printed
		not_ok "$name"
	fi
}
golden() {
	local file=tests/cli/golden/$1
	[ -z "${GOLDEN_USED:-}" ] || echo "$file" >>"$GOLDEN_USED"
	shift
	"$@" >"$TMP/.golden" || return
	[ -z "${ACCEPT:-}" ] || cp "$TMP/.golden" "$file"
	diff -u "$file" "$TMP/.golden"
}
absent() {
	grep -q "$@"
	[ $? = 1 ]
}
status() { # WANT COMMAND…: it ends with the status WANT; what it says is in $TMP/out and $TMP/err
	local want=$1 got
	shift
	"$@" >"$TMP/out" 2>"$TMP/err"
	got=$?
	[ "$got" = "$want" ] || {
		echo "exit status $got, not $want"
		return 1
	}
}
output_has() { "${@:2}" | grep -qE -e "$1"; }
unread() { # COMMAND…: its standard output is a pipe that nobody reads any more
	local rc gone
	exec {gone}> >(exec true)
	wait $! # the reader has ended
	"$@" >&"$gone"
	rc=$?
	exec {gone}>&-
	return $rc
}
one_make() {
	mkdir -p build
	flock -o "build/$1.lock" make --no-print-directory "${@:2}"
}
skip() { echo "skip $1: $2"; }
skip_all() {
	skip "$(basename "$0" .sh)" "$1"
	exit 0
}
needs_tsan() {
	echo 'int main(void) { return 0; }' >"$TMP/probe.c"
	gcc -fsanitize=thread -o "$TMP/probe" "$TMP/probe.c" 2>/dev/null && "$TMP/probe" 2>/dev/null || skip_all "no ThreadSanitizer here"
}

is_gone() { # PID: or waits to be, until somebody asks for its status
	local state
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) || return 0
	[ "$state" = Z ] || [ -z "$state" ]
}
wait_for() { # COMMAND…: until it does well, at most 120 s
	local i
	for i in $(seq 1200); do
		"$@" >"$TMP/waited" 2>&1 && return
		sleep 0.1
	done
	cat "$TMP/waited"
	return 1
}
