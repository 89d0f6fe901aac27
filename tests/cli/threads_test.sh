#!/usr/bin/env bash
# Two pipelines in two threads under ThreadSanitizer.
# Runs long.
. "$(dirname "$0")/../lib.sh"
needs_tsan
one_make tsan -j"$(nproc)" tsan-threads >"$TMP/make.log" 2>&1 || {
	tail -40 "$TMP/make.log"
	not_ok "the library builds with ThreadSanitizer"
	exit 1
}
ok "two pipelines under ThreadSanitizer show no race" env TSAN_OPTIONS=exitcode=66 build/tsan/tests/threads_test
