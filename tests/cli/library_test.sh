#!/usr/bin/env bash
# libsonde as its users get it: installed, found by pkg-config, and exporting only the functions of sonde.h.
. "$(dirname "$0")/../lib.sh"
dest=$TMP/dest usr=$TMP/dest/usr
sanitize=()
if nm "$SONDE" | grep -q ' __asan_init'; then sanitize=(-fsanitize=address,undefined); fi
make_it() { make --no-print-directory BUILD="$BUILD" OPT="-O1 -g ${sanitize[*]}" PREFIX=/usr DESTDIR="$dest" "$@"; }
files() { (cd "$dest" && find . -type f -o -type l | sort); }

mkdir -p "$usr/share/man/man1" "$usr/lib" && touch "$usr/share/man/man1/other.1" "$usr/lib/libother.so"
files >"$TMP/before"
if ! make_it install >"$TMP/make.log" 2>&1; then
	tail -40 "$TMP/make.log"
	not_ok library__installs
	exit 1
fi

# --- what it exports
declared() { tr '\n' ' ' <include/sonde.h | sed 's|/\*|\n/*|g; s|\*/|*/\n|g' | grep -v '^/\*' | grep -oE '\bsonde_[a-z_]+\(' | tr -d '(' | sort; }
shared() { nm -D --defined-only "$usr/lib/libsonde.so" | grep -v ' A ' | awk '{print $3}' | sort; }
static() { nm -g --defined-only "$usr/lib/libsonde.a" 2>/dev/null | awk 'NF == 3 {print $3}' | sort; }
ok library__declares_functions [ "$(declared | wc -l)" -gt 30 ]
ok library__shared_exports_sonde_h_and_nothing_else diff <(declared | sed 's/$/@@SONDE_0/') <(shared)
ok library__static_exports_sonde_h_and_nothing_else diff <(declared) <(static | grep -v '^__odr_asan\|^_*asan\|^__sanitizer')
ok library__soname_is_versioned grep -q 'SONAME.*\[libsonde.so.0\]' <(readelf -d "$usr/lib/libsonde.so")
ok library__links_lead_to_one_file [ "$(readlink -f "$usr/lib/libsonde.so")" = "$(readlink -f "$usr/lib/libsonde.so.0")" ]

# --- the example, by pkg-config, shared and static
export PKG_CONFIG_PATH=$usr/lib/pkgconfig
build() { # OUT FLAG…
	local out=$1
	shift
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror "${sanitize[@]}" examples/regions.c $(pkg-config --cflags sonde) "$@" -o "$out"
}
# The configuration is found beside the library, in whatever folder that is.
example() { (cd / && LD_LIBRARY_PATH=$usr/lib "$@"); }
report=$PWD/tests/data/ncu/seed_kernel.ncu-rep
want='A: 18 launches, 0.414 ms, 413504.00 (exact)'
# shellcheck disable=SC2046
ok library__example_builds build "$TMP/regions" $(pkg-config --libs sonde)
ok library__example_prints_regions grep -qxF "$want" <(example "$TMP/regions" "$report" gpu__time_duration.sum)
ok library__example_says_what_is_wrong grep -q '^regions: .*none.ncu-rep' <(example "$TMP/regions" /none.ncu-rep x 2>&1)
# shellcheck disable=SC2046
ok library__example_builds_statically build "$usr/bin/regions" $(pkg-config --static --libs sonde | sed 's/-lsonde/-l:libsonde.a/')
ok library__static_example_prints_regions grep -qxF "$want" <(cd / && "$usr/bin/regions" "$report" gpu__time_duration.sum)
ldd "$usr/bin/regions" >"$TMP/needed"
ok library__static_example_needs_no_libsonde absent libsonde "$TMP/needed"
rm -f "$usr/bin/regions"
if command -v c++ >/dev/null; then
	ok library__header_is_c_plus_plus_too c++ -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c++ include/sonde.h
else
	skip library__header_is_c_plus_plus_too "there is no C++ compiler"
fi

# --- and away again
for f in bin/sonde include/sonde.h share/man/man1/sonde-report.1 share/bash-completion/completions/sonde share/zsh/site-functions/_sonde \
	share/fish/vendor_completions.d/sonde.fish share/sonde/conf/config.yaml; do
	ok "install__has_$f" [ -f "$usr/$f" ]
done
ok uninstall__succeeds make_it uninstall
ok uninstall__leaves_what_was_there_before_and_nothing_else diff "$TMP/before" <(files)
