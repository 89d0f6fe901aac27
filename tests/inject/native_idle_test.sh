#!/usr/bin/env bash
# tests/gpu/idle_gpu.sh without a GPU: each cause of idle time, as a program did it under a CUPTI of our own.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
[ -e "$FAKE" ] || skip_all "the CUPTI headers were not found when building"

# A program that loses the processor between reading the clock and the call it times has measured something else. It
# runs again until every cause was right once: what sonde gets wrong it gets wrong each time.
causes=(launch sync copy alloc host queued other_stream "tail" comm)
judge() { KEEP=$TMP/idle.$1 OVERRIDES="pipeline.native.cupti=$FAKE" tests/gpu/idle_gpu.sh "$BUILD" "$PWD/$BUILD/fake/fake_idle" "$FAKE" >"$TMP/log"; }
is_right() { grep -qx "ok idle: $1 is named and within 10 %" "$TMP/right"; }
for i in $(seq 20); do
	judge "$i"
	grep '^ok' "$TMP/log" >>"$TMP/right"
	for left in "${causes[@]}"; do is_right "$left" || break; done
	! is_right "$left" || break
done
grep '^#' "$TMP/log"
for c in "${causes[@]}"; do ok "idle: $c is named and within 10 %" is_right "$c"; done
ok "idle: exposed_comm is named in comm and within 10 %" grep -qx "ok idle: exposed_comm is named in comm and within 10 %" "$TMP/right"
