#!/usr/bin/env bash
# Somebody shortens an input while it is read: sonde prints a message that names the file, and does not die of SIGBUS.
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

# The input is mapped twice: first to find its format, then to read it. If it is shortened between the two, sonde reads a short
# file; if the reader was already done, it has read the whole file. In both cases, try again.
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
