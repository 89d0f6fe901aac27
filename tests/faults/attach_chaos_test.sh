#!/usr/bin/env bash
# Attaches and kills at random moments. CHAOS_SEED=N repeats a run; `tests/faults/attach_chaos.py build 200` runs for longer.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
[ -e "$BUILD/fake/fake_server" ] || skip_all "the CUPTI headers were not found when building"
ok "attaches and kills at random moments change no program and leave nothing" python3 tests/faults/attach_chaos.py "$BUILD" "${CHAOS_ROUNDS:-25}" ${CHAOS_SEED:-}
