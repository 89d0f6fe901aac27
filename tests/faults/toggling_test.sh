#!/usr/bin/env bash
# Windows that open and close a thousand times a second, in programs that end in every possible way.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
[ -e "$FAKE" ] || skip_all "the CUPTI headers were not found when building"
export CUDA_INJECTION64_PATH=$LIB

# With a budget some of the windows are captured, and at least one.
some() { case " $* " in *" budget_ppm="*) echo 1 ;; esac; }

ends() { # HOW LINE…: each step is a window; behaves as without the library, and all steps are there
	fresh cupti="$FAKE" collect_ms=1 flush_ms=5 window=range window.label=step "${@:2}"
	same_with_and_without "$BUILD/fake/fake_loop" "$FAKE" 200 2 500 0 "$1" && settle && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" && LEAST=$(some "$@") python3 - "$TMP/r.json" <<-'P'
		import json, os, sys
		r = json.load(open(sys.argv[1]))
		n = sum(g["instances"] for g in r["aggregate"]["regions"] if g["id"].endswith("step"))
		print(n, r["coverage"], *r["notes"][:8], sep="\n")
		least = int(os.environ["LEAST"] or 200)
		assert least <= n <= 200 and r["coverage"]["windows"]["count"] >= n and r["coverage"]["launches_unattributed"] == 0
	P
}

by_time() { # HOW: a thousand windows a second, in each of which CUPTI is told to go and to stay
	fresh cupti="$FAKE" collect_ms=1 flush_ms=5 window=time window.for_us=500 window.every_us=1000
	same_with_and_without "$BUILD/fake/fake_loop" "$FAKE" 200 2 500 0 "$1" && settle && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" &&
		python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["coverage"]; print(c); assert c["windows"]["count"] >= 1' "$TMP/r.json"
}

# A budget with which CUPTI leaves the process between windows and comes back (inject/cupti_presence.c). Runs until CUPTI has left
# three times.
comes_and_goes() { # HOW STATUS: the program ends as it would, and the steps of its windows are there
	local status
	fresh cupti="$FAKE" collect_ms=1 flush_ms=5 budget_ppm=200000 lever.call_ns=30000
	: >"$TMP/log"
	FAKE_CUPTI_LOG=$TMP/log goes_on_until "logged gone 3" traced "$BUILD/fake/fake_loop" "$FAKE" 1 8 100 0 "$1" >"$TMP/said" 2>&1
	status=$?
	cat "$TMP/said"
	[ $status -eq "$2" ] && grep -qx done "$TMP/said" && logged gone 3 && settle && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" &&
		python3 - "$TMP/r.json" "$(sed -n 's/^steps //p' "$TMP/said")" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		n = sum(g["instances"] for g in r["aggregate"]["regions"] if g["id"] == "train/step")
		print(n, r["coverage"], *r["notes"][:8], sep="\n")
		assert 0 < n <= int(sys.argv[2]) and r["coverage"]["windows"]["count"] >= 3 and r["coverage"]["launches_attributed"] > 0
	P
}

threads() { # all of them at once, each opening and closing what the others use; no window is without an entry
	fresh cupti="$FAKE" collect_ms=1 flush_ms=5 window=range window.label=step "$@"
	same_with_and_without "$BUILD/fake/fake_loop" "$FAKE" 300 2 500 7 && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" && LEAST=$(some "$@") python3 - "$TMP/r.json" <<-'P'
		import json, os, re, sys
		r = json.load(open(sys.argv[1]))
		n = sum(g["instances"] for g in r["aggregate"]["regions"] if g["id"].endswith("step"))
		print(n, r["coverage"], *r["notes"][:8], sep="\n")
		# An entry may be over while another thread still opens the window. One that begins while another thread closes it is in two: each part counts, and is told.
		cut = sum(int(m[1]) for m in (re.search(r"(\d+) ranges? (?:was|were) open when a window opened or closed", t) for t in r["notes"]) if m)
		train = sum(g["instances"] for g in r["aggregate"]["regions"] if g["id"] == "train") # is cut by each window it is met in but the last
		print("cut", cut, "train", train)
		assert 1 <= r["coverage"]["windows"]["count"] <= n and int(os.environ["LEAST"] or 1200) <= n <= 2400 + cut - (train - 1)
	P
}

signals() { # handlers that push ranges while windows change
	fresh flush_ms=2 window=time window.for_us=500 window.every_us=1000
	same_with_and_without "$WORK/faults" signals 2000 && dump >/dev/null
}

for how in exit _exit kill fork exec; do
	ok "a program that ends by $how keeps its windows" ends $how
done
ok "a program with a budget that is killed keeps its windows" ends kill budget_ppm=20000
for how in exit _exit kill fork exec; do
	ok "a program that ends by $how does so with a thousand windows a second" by_time $how
done
for how in "exit 0" "_exit 3" "kill 137" "fork 0" "exec 0" "signals 0"; do
	ok "while CUPTI comes and goes a program ends by ${how% *} as without it" comes_and_goes $how
done
ok "eight threads open and close windows at once" threads
ok "eight threads open and close windows at once, with a budget" threads budget_ppm=20000
if "$WORK/faults" signals 10 >/dev/null 2>&1; then
	ok "signal handlers push ranges while windows change" signals
fi
