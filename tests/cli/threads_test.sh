#!/usr/bin/env bash
# Two pipelines in two threads under ThreadSanitizer.
. "$(dirname "$0")/../lib.sh"
name="two pipelines under ThreadSanitizer show no race"
echo 'int main(void) { return 0; }' >"$TMP/probe.c"
if ! gcc -fsanitize=thread -o "$TMP/probe" "$TMP/probe.c" 2>/dev/null || ! "$TMP/probe" 2>/dev/null; then
	skip "$name" "no ThreadSanitizer here"
	exit 0
fi
one_make tsan-threads >"$TMP/make.log" 2>&1 || {
	tail -40 "$TMP/make.log"
	not_ok "the library builds with ThreadSanitizer"
	exit 1
}
ok "$name" env TSAN_OPTIONS=exitcode=66 build/tsan/tests/threads_test
