#!/usr/bin/env bash
# The pages in Firefox: a report, ranks (if they can be made here), and a comparison.
. "$(dirname "$0")/../lib.sh"
firefox=$(command -v firefox || command -v firefox-esr) || skip_all "no Firefox here"
head -c 4000 "$(readlink -f "$firefox")" | grep -qa '/snap/bin/' && skip_all "Firefox is a snap here, which cannot open pages in $TMP"
command -v python3 >/dev/null || skip_all "no python3 to drive it with"
mkdir -p "$TMP/pages/diff"
"$SONDE" report -f html -o "$TMP/pages/run.html" examples/h200_train || exit 1
if [ -x "$BUILD/tools/ranks_make" ]; then
	"$BUILD/tools/ranks_make" "$TMP/ranks" slow_rank=3 && "$SONDE" report -f html -o "$TMP/pages/ranks.html" "$TMP/ranks" || exit 1
fi
"$SONDE" diff tests/data/diff/eager.sonde.gz tests/data/diff/graph.sonde.gz -f html -o "$TMP/pages/diff/graph.html" || exit 1
PYTHONDONTWRITEBYTECODE=1 python3 tests/browser/firefox.py "$TMP/pages"
