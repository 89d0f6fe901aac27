#!/usr/bin/env bash
# tests/gpu/idle_gpu.sh and findings_gpu.sh without a GPU: a program causes each kind of idle time, with a fake CUPTI.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
[ -e "$FAKE" ] || skip_all "the CUPTI headers were not found when building"

# If the program loses the processor between reading the clock and the call that it times, its measurement is wrong, so the test
# runs again. A mistake of sonde appears every time.
for i in 1 2 3 4 5; do
	KEEP=$TMP/idle.$i OVERRIDES="pipeline.native.cupti=$FAKE" tests/gpu/idle_gpu.sh "$BUILD" "$PWD/$BUILD/fake/fake_idle" "$FAKE" >"$TMP/log" && break
done
cat "$TMP/log"
for i in 1 2 3 4 5; do
	IDLE="$PWD/$BUILD/fake/fake_idle $FAKE" KEEP=$TMP/first.$i OVERRIDES="pipeline.native.cupti=$FAKE" tests/gpu/findings_gpu.sh "$BUILD" idle >"$TMP/first" && break
done
cat "$TMP/first"
ok "the first finding of each was judged" test "$(grep -c '^ok findings: ' "$TMP/first")" -ge 8
ok "every cause was judged" test "$(grep -c '^ok idle: .* within 10 %' "$TMP/log")" -ge 10
