#!/usr/bin/env bash
# ./conf can make sonde run programs and load libraries, so it is used only if it is the user's own, or if the user asks for it.
. "$(dirname "$0")/../lib.sh"
here=$TMP/project
mkdir -p "$here/conf/report"
printf 'defaults: [report: default, _self_]\npipeline:\n  workload:\n    env:\n      LD_PRELOAD: evil.so\n' >"$here/conf/config.yaml"
printf 'sort: time\n' >"$here/conf/report/default.yaml"

compose() { # ARGS…: in the project; $TMP/out, $TMP/err
	(cd "$here" && "$SONDE" config "$@" >"$TMP/out" 2>"$TMP/err")
}
is_used() { grep -q 'LD_PRELOAD: evil.so' "$TMP/out"; }
is_left() { ! is_used && grep -q 'enable: false' "$TMP/out"; }
says() { grep -qF -e "$1" "$TMP/err"; }

compose
ok trust__own_conf_is_used is_used
ok trust__one_line_says_so [ "$(cat "$TMP/err")" = "sonde: the configuration in ./conf is used" ]

chmod o+w "$here/conf/config.yaml"
compose
ok trust__file_others_may_write_is_not_used is_left
ok trust__says_which_file says "./conf is not used: others may write to conf/config.yaml"
ok trust__says_what_to_do says "sonde.trust=true"
compose sonde.trust=true
ok trust__is_used_when_asked_for is_used
compose sonde.trust=false
ok trust__is_not_used_when_denied is_left
compose --config-dir conf
ok trust__config_dir_is_asking is_used
ok trust__config_dir_needs_no_line [ ! -s "$TMP/err" ]
chmod o-w "$here/conf/config.yaml"

chmod g+w "$here/conf/report"
compose
ok trust__folder_the_group_may_write_is_not_used is_left
chmod g-w "$here/conf/report"

mkdir "$TMP/elsewhere" && mv "$here/conf/report/default.yaml" "$TMP/elsewhere/"
chmod o+w "$TMP/elsewhere/default.yaml"
ln -s "$TMP/elsewhere/default.yaml" "$here/conf/report/default.yaml"
compose
ok trust__link_is_what_it_leads_to is_left
rm "$here/conf/report/default.yaml"
mv "$TMP/elsewhere/default.yaml" "$here/conf/report/" && chmod 644 "$here/conf/report/default.yaml"

if [ "$(id -u)" = 0 ]; then
	chown 65534 "$here/conf/config.yaml"
	compose
	ok trust__file_of_somebody_else_is_not_used is_left
	ok trust__says_whose_it_is says "conf/config.yaml belongs to somebody else"
	chown 0 "$here/conf/config.yaml"
else
	skip trust__file_of_somebody_else_is_not_used "only root can give files away"
fi

# A configuration cannot vouch for itself.
printf 'sonde: {trust: true}\npipeline:\n  workload:\n    env: {LD_PRELOAD: evil.so}\n' >"$here/conf/config.yaml"
chmod o+w "$here/conf/config.yaml"
compose
ok trust__conf_cannot_trust_itself is_left

(cd "$here" && "$SONDE" run -q -n -- /bin/true) >"$TMP/out" 2>"$TMP/err"
ok trust__quiet_run_says_nothing [ ! -s "$TMP/err" ]
"$SONDE" config >"$TMP/out" 2>"$TMP/err"
ok trust__own_checkout_needs_no_line [ ! -s "$TMP/err" ]
