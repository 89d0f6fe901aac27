#!/usr/bin/env bash
# An input that somebody shortens while it is read: a message that names it, not a bus error.
. "$(dirname "$0")/../lib.sh"

# A trace that takes a while to read.
awk 'BEGIN {
	printf "{\"schemaVersion\":1,\"traceEvents\":["
	for (i = 0; i < 200000; i++)
		printf "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1}\n", i ? "," : "", i * 2
	print "]}"
}' >"$TMP/whole.json"

# Stops the reader once the file is mapped, shortens the file, and lets the reader go on.
shorten_while_read() {
	local pid
	cp "$TMP/whole.json" "$TMP/input.json"
	"$SONDE" report "$TMP/input.json" -f json >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	until grep -qs "$TMP/input.json" "/proc/$pid/maps" || ! kill -0 "$pid" 2>/dev/null; do :; done
	kill -STOP "$pid" 2>/dev/null
	truncate -s 4096 "$TMP/input.json"
	kill -CONT "$pid" 2>/dev/null
	wait "$pid"
	rc=$?
}

# The input is mapped twice: to know its format, then to read it. Whoever shortens it between the two
# has a short file read from its start, and a reader that was done has read all of it: try again.
named() {
	local i
	for i in $(seq 20); do
		shorten_while_read
		[ "$rc" -le 1 ] || break
		grep -q "^sonde: $TMP/input.json: became shorter while it was read" "$TMP/err" && break
	done
	echo "status $rc after $i tries: $(head -c 300 "$TMP/err")"
	[ "$rc" -eq 1 ] && [ ! -s "$TMP/out" ] && grep -q "became shorter" "$TMP/err"
}
ok shrunk__an_input_that_becomes_shorter_is_named named
