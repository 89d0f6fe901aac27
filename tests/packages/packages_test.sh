#!/usr/bin/env bash
# Tarball and wheel run without other libraries, and have the same bytes when they are made again; all recipes have the Makefile's version.
# WITH_DEB=1 also tests two builds from the source in different folders, and the Debian packages; this needs debhelper, lintian, debootstrap,
# root and some minutes.
# Runs long.
. "$(dirname "$0")/../lib.sh"
version=$(sed -n 's/^VERSION *:= //p' Makefile)
made=build/packages-test

# --- one version everywhere ----------------------------------------------------------------------
says_version() { grep -qF -- "$1" "$2"; } # TEXT FILE
ok packages__changelog_has_the_version says_version "## $version, " CHANGELOG.md
ok packages__citation_has_the_version says_version "version: $version" CITATION.cff
ok packages__debian_has_the_version says_version "sonde ($version)" packaging/debian/changelog
ok packages__spack_has_the_version says_version "version(\"$version\")" packaging/spack/package.py
ok packages__nix_has_the_version says_version "version = \"$version\"" packaging/nix/default.nix
ok packages__spack_recipe_parses python3 -c 'import ast; ast.parse(open("packaging/spack/package.py").read())'
if command -v nix-instantiate >/dev/null; then
	ok packages__nix_recipe_parses nix-instantiate --parse packaging/nix/default.nix
else
	skip packages__nix_recipe_parses "nix-instantiate is not installed"
fi

# --- the GitHub Action: its script, with a runner's variables ---------------------------------------
sed -n '/^      run: |$/,$s/^        //p' action.yml >"$TMP/action"
act() { # STATUS BASE HEAD GATE
	: >"$TMP/summary" && : >"$TMP/outputs"
	status "$1" env SONDE="$SONDE" BASE="$2" HEAD="$3" FAIL_ABOVE="$4" OPTIONS=--single RUNNER_TEMP="$TMP" GITHUB_STEP_SUMMARY="$TMP/summary" \
		GITHUB_OUTPUT="$TMP/outputs" bash "$TMP/action" && [ -s "$TMP/summary" ] && grep -qx "status=$1" "$TMP/outputs"
}
act_fails() { ! act "$@" && grep -qx "status=$1" "$TMP/outputs"; } # nothing to show
ok action__compares_and_shows_it act 0 examples/h200_train examples/h200_train ""
ok action__a_good_gate_is_0 act 0 examples/h200_train examples/h200_train "5%"
ok action__a_wrong_gate_is_2 act_fails 2 examples/h200_train examples/h200_train "no_such_region=5%"
ok action__a_gate_that_fails_is_3 act 3 tests/data/diff/conc.json.gz tests/data/diff/serial.json.gz "5%"

# --- tarball and wheel: the same files, built once -------------------------------------------------------
# Unoptimised: the test is about the contents of the packages, not about speed.
make_them() { one_make packages -s -j"$(nproc)" tarball wheel RELEASE_OPT=-O0 PACKAGES=$made; }
ok packages__tarball_and_wheel_are_made make_them
tarball=$(echo $made/sonde-"$version"-linux-*.tar.gz) wheel=$(echo $made/sonde-"$version"-*.whl)
[ -f "$tarball" ] && [ -f "$wheel" ] || exit

# The oldest glibc that docs/packages.md promises.
promise=$(sed -n 's/.*glibc \([0-9.]*\) or newer.*/\1/p' docs/packages.md | head -1)
needs_no_newer_glibc() { [ -n "$promise" ] && [ "$(printf '%s\n%s\n' "$promise" "$(cat $made/glibc)" | sort -V | tail -1)" = "$promise" ]; }
ok packages__glibc_is_no_newer_than_the_page_says needs_no_newer_glibc

mkdir "$TMP/unpacked" && tar -C "$TMP/unpacked" -xzf "$tarball"
there=$TMP/unpacked/sonde-$version
profiles_a_program() { # SONDE: finds its configuration, library and workload from its own place
	(cd "$TMP" && env -u LD_LIBRARY_PATH "$1" run -q -- "$there/lib/sonde/workloads/resnet_cpu" 3) | grep -q '^region '
}
reports_alike() { diff <("$SONDE" report examples/h200_train) <("$1" report examples/h200_train); } # SONDE
has_no_path_of_this_machine() { ! grep -rqF "$PWD" "$there"; }
ok tarball__reports_alike reports_alike "$there/bin/sonde"
ok tarball__profiles_a_program profiles_a_program "$there/bin/sonde"
ok tarball__has_no_path_of_the_machine_that_made_it has_no_path_of_this_machine

same_again() { # FILES: made again from the same programs
	cp "$tarball" "$TMP/a.tar.gz" && cp "$wheel" "$TMP/a.whl" && make_them && cmp "$TMP/a.tar.gz" "$tarball" && cmp "$TMP/a.whl" "$wheel"
}
ok packages__made_again_they_have_the_same_bytes same_again

if ! python3 -m venv "$TMP/venv" >"$TMP/out" 2>&1 || [ ! -x "$TMP/venv/bin/pip" ]; then
	skip wheel__is_installed_by_pip "python3 has no venv with pip here"
else
	loads_alike() { # the module gives what the command prints
		"$TMP/venv/bin/python" tests/packages/load.py "$SONDE" examples/h200_train
	}
	ok wheel__is_installed_by_pip "$TMP/venv/bin/pip" install --no-index --disable-pip-version-check "$wheel"
	ok wheel__reports_alike reports_alike "$TMP/venv/bin/sonde"
	ok wheel__profiles_a_program profiles_a_program "$TMP/venv/bin/sonde"
	ok wheel__the_module_loads_what_the_command_prints loads_alike
	ok wheel__files_are_as_their_record_says python3 tests/packages/load.py --record "$wheel"
fi

# --- from another place: two clean clones in folders of different depth -----------------------------------
[ -n "${WITH_DEB:-}" ] || exit 0
clones_alike() {
	local one=$TMP/one two=$TMP/further/down/two d
	for d in "$one" "$two"; do
		git clone -q . "$d" && make -s -C "$d" -j"$(nproc)" tarball wheel RELEASE_OPT=-O1 || return
	done
	cmp "$one/build/packages/$(basename "$tarball")" "$two/build/packages/$(basename "$tarball")" &&
		cmp "$one/build/packages/$(basename "$wheel")" "$two/build/packages/$(basename "$wheel")"
}
if git rev-parse HEAD >/dev/null 2>&1; then
	ok packages__built_in_another_folder_they_have_the_same_bytes clones_alike
else
	skip packages__built_in_another_folder_they_have_the_same_bytes "this is no clone of the repository"
fi

# --- the Debian packages, in a bare Debian ---------------------------------------------------------------
ok deb__is_built_and_lintian_is_content one_make packages -s deb PACKAGES=$made
bare_debian_runs_it() {
	debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$TMP/bare" ${DEBIAN_MIRROR:-} &&
		cp $made/deb/*.deb "$TMP/bare/tmp/" && cp -r examples "$TMP/bare/tmp/" && cp /etc/resolv.conf "$TMP/bare/etc/" &&
		chroot "$TMP/bare" sh -c 'mount -t proc proc /proc && trap "umount /proc" EXIT && apt-get install -qq -y /tmp/sonde_*.deb /tmp/libsonde0_*.deb && cd /tmp && sonde report examples/h200_train &&
			sonde run -q -- /usr/lib/sonde/workloads/resnet_cpu 3' | grep '^region '
}
ok deb__installs_and_runs_in_a_bare_debian bare_debian_runs_it
