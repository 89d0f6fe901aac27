#!/usr/bin/env bash
# The ways to open a page: `sonde view`, --open, the newest run, files whose ending is their format.
. "$(dirname "$0")/../lib.sh"
CAPTURE=$PWD/tests/data/ncu/seed_kernel.ncu-rep
unset DISPLAY WAYLAND_DISPLAY BROWSER
says() { grep -qF -e "$1" "$TMP/err" || { cat "$TMP/out" "$TMP/err" && false; }; }
export TMPDIR=$TMP/pages
mkdir -p "$TMP/here" "$TMPDIR"
cd "$TMP/here" || exit 1

# --- the ending of a file is its format
same() { # NAME FORMAT: -o NAME is -f FORMAT
	"$SONDE" report "$CAPTURE" --deterministic -o "$1" && "$SONDE" report "$CAPTURE" --deterministic -f "$2" >"$TMP/want" &&
		[ -f "$1" ] && cmp <(sed 's/sonde report .*//' "$1") <(sed 's/sonde report .*//' "$TMP/want")
}
for f in json csv svg md folded; do ok "report__o_x_${f}_is_that_format" same "x.$f" "$f"; done
page() { "$SONDE" report "$CAPTURE" -o x.html && [ -f x.html ] && grep -q '<html' x.html; }
ok report__o_x_html_is_a_page page
slash() { "$SONDE" report "$CAPTURE" -o d.html/ && [ -f d.html/report.json ]; }
ok report__a_slash_makes_it_a_directory slash
other() { "$SONDE" report "$CAPTURE" -f json -o y.html && "$SONDE" validate y.html; }
ok report__f_wins_over_the_ending other
unknown() { # TEXT COMMAND… -o FILE: an ending that no format has is refused, and nothing is written
	status 2 "${@:2}" && says "$1" && [ ! -e "${@: -1}" ]
}
ok report__an_unknown_ending_is_refused unknown 'did you mean .html?' "$SONDE" report "$CAPTURE" -o x.htm
ok report__another_unknown_ending_is_refused unknown 'no format has the ending .tsv, did you mean .csv?' "$SONDE" report "$CAPTURE" -o o.z.tsv
ok report__an_ending_near_to_none_gets_the_list unknown 'The endings are .txt, .json, .md, .html' "$SONDE" report "$CAPTURE" -o x.docx
ok report__gz_alone_says_no_format unknown 'no format has the ending .gz' "$SONDE" report "$CAPTURE" -o x.gz
ok report__a_database_is_not_compressed unknown 'leave out .gz' "$SONDE" report "$CAPTURE" -o x.db.gz
ok diff__an_unknown_ending_is_refused unknown 'did you mean .html?' "$SONDE" diff "$CAPTURE" "$CAPTURE" -o d.htm
ok top__a_page_is_refused unknown 'no format has the ending .html' "$SONDE" top "$CAPTURE" -o t.html
no_ending() { "$SONDE" report "$CAPTURE" -o run.2 && [ -f run.2/report.json ] && "$SONDE" report "$CAPTURE" -f md -o notes.htm && [ -f notes.htm ]; }
ok report__a_number_is_no_ending_and_f_takes_any no_ending
packed() { # .gz behind an ending: the same file, compressed
	"$SONDE" report "$CAPTURE" --deterministic -o x.json.gz && zcat x.json.gz >unpacked.json && "$SONDE" validate unpacked.json &&
		"$SONDE" diff "$CAPTURE" "$CAPTURE" -o d.json.gz && zcat d.json.gz | grep -q 'sonde.diff/1' &&
		"$SONDE" top "$CAPTURE" -o t.csv.gz && zcat t.csv.gz | grep -q '^name,' && "$SONDE" report "$CAPTURE" -o x.pb.gz && [ "$(zcat x.pb.gz | head -c2 | od -An -tx1)" != " 1f 8b" ]
}
ok gz_behind_an_ending_compresses packed
diff_formats() {
	"$SONDE" diff "$CAPTURE" "$CAPTURE" -o d.xml && grep -q '<testsuites' d.xml && "$SONDE" diff "$CAPTURE" "$CAPTURE" -o d.json && grep -q 'sonde.diff/1' d.json &&
		"$SONDE" diff "$CAPTURE" "$CAPTURE" -o d.page.html && grep -q '<html' d.page.html
}
ok diff__the_ending_is_the_format diff_formats
diff_dir() {
	"$SONDE" diff "$CAPTURE" "$CAPTURE" -o all/ >"$TMP/out" && grep -q '^region' "$TMP/out" && grep -q '<html' all/diff.html && grep -q '<testsuites' all/diff.xml &&
		grep -q 'sonde.diff/1' all/diff.json && [ -s all/diff.md ]
}
ok diff__a_directory_gets_every_format diff_dir

# --- short ways
short() { cmp <("$SONDE" "$CAPTURE" --width 90) <("$SONDE" report "$CAPTURE" --width 90); }
ok a_file_alone_is_reported short
no_file() { status 2 "$SONDE" missing.ncu-rep && says 'missing.ncu-rep: no such file, and no command'; }
ok a_file_that_is_not_there_is_no_unknown_command no_file
helps() { cmp <("$SONDE" help help) <("$SONDE" help) && status 2 "$SONDE" hepl && says "unknown command 'hepl', did you mean 'help'?"; }
ok help_has_help_and_is_suggested helps
near_format() { status 2 "$SONDE" report "$CAPTURE" -f jsno && says "did you mean 'json'?"; }
ok a_format_has_its_nearest near_format
no_run() { status 2 "$SONDE" report && says 'no run in tmp/profile-output' && status 2 "$SONDE" view && says 'sonde run -- COMMAND'; }
ok without_any_run_it_says_how_to_make_one no_run

# --- the newest run
fake_run() { # NAME CAPTURE: as `sonde run --ncu` leaves it
	mkdir -p "tmp/profile-output/$1/ncu" && cp "$2" "tmp/profile-output/$1/ncu/" && : >"tmp/profile-output/$1/inputs.yaml" &&
		"$SONDE" config >"tmp/profile-output/$1/config.yaml"
}
newest() {
	fake_run 20260131-120000 "$CAPTURE" && fake_run 20260131-130000 "$CAPTURE" && status 0 "$SONDE" report && says 'the newest run: tmp/profile-output/20260131-130000' &&
		grep -q gemm_tile "$TMP/out"
}
ok report__without_input_takes_the_newest_run newest

# --- browsers
cat >"$TMP/browser" <<'END'
#!/bin/sh
for page; do :; done
echo "$@" >"$SEEN"
cp "$page" "$SEEN.html"
END
chmod +x "$TMP/browser"
export SEEN=$TMP/seen
opened() { # COMMAND…: the browser was given a page
	rm -f "$SEEN" "$SEEN.html"
	BROWSER=$TMP/browser status 0 "$@" && grep -q '<html' "$SEEN.html"
}
ok view__opens_the_newest_run opened "$SONDE" view
ok view__opens_a_capture opened "$SONDE" view "$CAPTURE"
ok view__opens_a_page opened "$SONDE" view x.html
ok view__opens_a_comparison opened "$SONDE" view all
ok report__open_opens_its_page opened "$SONDE" report "$CAPTURE" --open
ok report__open_opens_the_file_it_wrote opened "$SONDE" report "$CAPTURE" --open -o opened.html
opened_file() { grep -qx "$TMP/here/opened.html" "$SEEN"; }
ok report__open_keeps_that_file opened_file
ok report__open_opens_the_page_of_a_directory opened "$SONDE" report "$CAPTURE" --open -o opened
ok diff__open_opens_its_page opened "$SONDE" diff "$CAPTURE" "$CAPTURE" --open
wrong_open() { status 2 "$SONDE" report "$CAPTURE" --open -f csv && says '--open shows the page'; }
ok report__open_refuses_other_formats wrong_open
listed() { # the first of $BROWSER that is there, with its words
	BROWSER="$TMP/nowhere:$TMP/browser --new %s" status 0 "$SONDE" view x.html && grep -qx -e "--new $TMP/here/x.html" "$SEEN"
}
ok view__takes_the_first_browser_that_is_there listed
bad_input() { BROWSER=$TMP/browser status 1 "$SONDE" view "$TMP/none.ncu-rep" && [ -z "$(find "$TMPDIR" -newer "$TMP/browser" -name 'sonde-*' -empty)" ]; }
ok view__of_nothing_fails_and_leaves_nothing bad_input

# --- the server
server=
serve() { # ARGS…: `sonde view` in the background; $url is where
	: >"$TMP/url"
	"$SONDE" view --serve "$@" >"$TMP/url" 2>"$TMP/err" &
	server=$!
	wait_for grep -q '^http://127\.0\.0\.1:[0-9]*/[0-9a-f]\{32\}/$' "$TMP/url" && url=$(cat "$TMP/url")
}
talk() { # TEXT: what the server answers to these bytes
	python3 - "$url" "$1" <<'END'
import socket, sys, urllib.parse
u = urllib.parse.urlparse(sys.argv[1])
s = socket.create_connection((u.hostname, u.port))
try:
    s.sendall(sys.argv[2].encode().decode("unicode_escape").encode().replace(b"TOKEN", u.path.strip("/").encode()))
    answer = b""
    while got := s.recv(65536):
        answer += got
except (BrokenPipeError, ConnectionResetError):
    pass
sys.stdout.buffer.write(answer)
END
}
is_404() { talk "$1" | head -1 | grep -q '^HTTP/1.1 404 '; }
if command -v python3 >/dev/null; then
	serve x.html
	ok serve__says_how_to_come_by_ssh says "ssh -N -L"
	whole() { talk 'GET /TOKEN/ HTTP/1.1\r\nHost: x\r\n\r\n' >"$TMP/answer" && head -1 "$TMP/answer" | grep -q '^HTTP/1.1 200 ' && cmp <(tail -c "$(stat -c %s x.html)" "$TMP/answer") x.html; }
	ok serve__the_address_has_the_page whole
	ok serve__no_token_is_404 is_404 'GET / HTTP/1.1\r\n\r\n'
	ok serve__another_token_is_404 is_404 'GET /00000000000000000000000000000000/ HTTP/1.1\r\n\r\n'
	ok serve__a_path_behind_it_is_404 is_404 'GET /TOKEN/../../etc/passwd HTTP/1.1\r\n\r\n'
	ok serve__other_methods_are_404 is_404 'POST /TOKEN/ HTTP/1.1\r\n\r\n'
	long() { [ -z "$(talk "GET /TOKEN/ HTTP/1.1\\r\\nX: $(printf '%20000s' | tr ' ' x)")" ]; }
	ok serve__a_long_request_is_hung_up_on long
	silent() { # somebody who connects and says nothing keeps nobody waiting
		exec {quiet}<>"/dev/tcp/127.0.0.1/$(sed 's/.*1:\([0-9]*\).*/\1/' <<<"$url")" && whole && exec {quiet}>&-
	}
	ok serve__a_silent_visitor_keeps_nobody_waiting silent
	two=$(cat "$TMP/url")
	kill -INT $server
	wait $server
	ok serve__ctrl_c_is_a_good_end [ $? = 0 ]
	serve "$CAPTURE"
	ok serve__each_time_another_token [ "${url##*:}" != "${two##*:}" ]
	kill -TERM $server
	wait $server
	ok serve__its_own_page_is_removed [ -z "$(find "$TMPDIR" -name report.html -newer "$TMP/answer")" ]
	broken() { # a browser that fails: served instead
		BROWSER=/bin/false "$SONDE" view x.html >"$TMP/url" 2>"$TMP/err" &
		wait_for grep -q '^http' "$TMP/url" && kill -INT $! && wait $! && says '/bin/false could not open the page'
	}
	ok view__a_browser_that_fails_is_no_end broken
else
	skip serve "python3 is not installed"
fi

# --- runs
PROG=$BUILD/workloads/pairs
[ "${PROG#/}" != "$PROG" ] || PROG=$OLDPWD/$PROG
if [ -x "$PROG" ]; then
	rm -rf tmp
	bare() { status 2 "$SONDE" run && says 'run --demo' && [ ! -e tmp ]; }
	ok run__without_a_word_shows_usage bare
	last() {
		status 0 "$SONDE" run -- "$PROG" 3 && [ "$(tail -1 "$TMP/err")" = "sonde: to look at it: sonde view" ] && [ -f tmp/profile-output/latest/report.html ] &&
			status 0 "$SONDE" run -- "$PROG" 3 && [ "$(ls -d tmp/profile-output/2* | wc -l)" = 2 ] && [ "$(readlink tmp/profile-output/latest)" = "$(ls tmp/profile-output | grep ^2 | tail -1)" ]
	}
	ok run__latest_is_the_newest_run last
	not_latest() { # a run without a capture
		local before=$(readlink tmp/profile-output/latest)
		status 1 "$SONDE" run -- true && [ "$(readlink tmp/profile-output/latest)" = "$before" ] && status 0 env BROWSER=/bin/echo "$SONDE" view && says "the newest run: tmp/profile-output/$before"
	}
	ok run__latest_has_a_capture not_latest
	kept() { rm tmp/profile-output/latest && mkdir tmp/profile-output/latest && status 0 "$SONDE" run -- "$PROG" 3 && [ ! -L tmp/profile-output/latest ] && rmdir tmp/profile-output/latest; }
	ok run__a_folder_called_latest_stays kept
	ok run__open_opens_its_page opened "$SONDE" run --open -- "$PROG" 3
	demo() { status 2 "$SONDE" run --demo -- "$PROG" && says 'leave out' && { [ ! -x "${PROG%pairs}resnet_cpu" ] || { status 0 "$SONDE" run -n --demo && grep -q 'workloads/resnet' "$TMP/out"; }; }; }
	ok run__demo_is_the_bundled_workload demo
	twice() {
		rm -rf tmp && for i in 1 2 3; do status 0 "$SONDE" run --base-cmd "$PROG 3" -- "$PROG" 3 || return; done
		[ "$(ls -d tmp/profile-output/2*/ | wc -l)" = 3 ] && [ "$(grep -c 'everything is in' "$TMP/err")" = 2 ] && grep -q '<html' tmp/profile-output/latest/diff.html &&
			grep -q '<testsuites' tmp/profile-output/latest/diff.xml && grep -q 'sonde.diff/1' tmp/profile-output/latest/diff.json
	}
	ok run__base_cmd_leaves_its_comparison_and_works_twice_a_second twice
	view_compared() { # not the run in it that is newest
		status 0 env BROWSER=/bin/echo "$SONDE" view && says "the newest comparison: tmp/profile-output/$(readlink tmp/profile-output/latest)" &&
			grep -qF "/$(readlink tmp/profile-output/latest)/diff.html" "$TMP/out" && status 0 "$SONDE" run -- "$PROG" 3 && status 0 env BROWSER=/bin/echo "$SONDE" view &&
			says 'the newest run: ' && grep -q 'report.html' "$TMP/out"
	}
	ok view__the_newest_comparison_too view_compared
	used() { # by a comparison: the way out is the option that was typed
		status 0 "$SONDE" run -o there --base-cmd "$PROG 3" -- "$PROG" 3 && status 2 "$SONDE" run -o there --base-cmd "$PROG 3" -- "$PROG" 3 &&
			says 'run: -o there: that directory has the runs of a comparison already: choose another one with -o, or remove there'
	}
	ok run__base_cmd_names_the_directory_that_is_used used
	told() { # where it is, before the page is served: that goes on until somebody ends it
		"$SONDE" run -o told --open --base-cmd "$PROG 3" -- "$PROG" 3 >"$TMP/out" 2>"$TMP/err" &
		wait_for grep -q '^http' "$TMP/out" && kill -INT $! && wait $! && says 'the comparison is in told: ' && says 'to look at it: sonde view told'
	}
	ok run__base_cmd_says_where_it_is_before_it_serves told
	ok run__base_cmd_opens_the_comparison opened "$SONDE" run --open --base-cmd "$PROG 3" -- "$PROG" 3
else
	skip runs "the NVTX headers were not found when building"
fi
