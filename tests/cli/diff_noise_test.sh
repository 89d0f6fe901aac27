#!/usr/bin/env bash
# A few of the comparisons of bench/diff_noise.sh; fixed seeds make the results the same every time. Programs with heavy tails,
# drift and serial correlation are compared with themselves, and with a run in which one region is 5 % slower.
# Runs long.
. "$(dirname "$0")/../lib.sh"
bench/diff_noise.sh "$BUILD" 4 >"$TMP/out" 2>&1 || not_ok diff_noise__runs
says() { grep -qF -- "$1" "$TMP/out"; }
ok diff_noise__equal_captures_name_nothing says 'A/A, single captures: 0 of 4'
ok diff_noise__five_equal_runs_a_side_name_nothing says 'A/A, 5 runs a side: 0 of 4'
ok diff_noise__a_slower_region_is_found_alone says 'power: of 4, found in 4, the interval holds 1.05 in 4, no other region named in 4'
