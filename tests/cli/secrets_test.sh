#!/usr/bin/env bash
# The files of a run are readable by the user only, and contain no secrets.
. "$(dirname "$0")/../lib.sh"
export PATH="$PWD/tests/standin:$PATH"
export SONDE_TEST_VALUE=hush-from-the-environment
NCU="pipeline.ncu.enable=true pipeline.nsys.enable=true"
n=0

run() { # ARGS…: sonde run into a fresh directory
	n=$((n + 1))
	dir=$TMP/out/run$n
	"$SONDE" run "hydra.run.dir=$dir" $NCU "$@" >"$TMP/log" 2>"$TMP/err" </dev/null
}
recorded() { grep -rqF -e "$1" "$dir"; }
is_nowhere() { ! grep -rlF -e "$1" "$dir"; }
modes_beyond() { find "$1" ! -type l -perm "/$2"; }

umask 022
run -- /bin/sh -c "umask >$TMP/umask"
ok secrets__run_directory_is_the_users_alone [ "$(stat -c %a "$dir")" = 700 ]
ok secrets__so_is_every_file_in_it [ -z "$(modes_beyond "$dir" 077)" ]
ok secrets__files_can_be_read_by_their_owner [ "$(stat -c %a "$dir/config.yaml")" = 600 ]
ok secrets__parents_are_as_the_umask_says [ "$(stat -c %a "$TMP/out")" = 755 ]
ok secrets__program_keeps_its_umask [ "$(cat "$TMP/umask")" = 0022 ]
umask 0277
run -- /bin/true
ok secrets__stricter_umask_is_honoured [ -z "$(modes_beyond "$dir/config.yaml" 0277)" ]
umask 022
mkdir -m 750 "$TMP/mine"
"$SONDE" run "hydra.run.dir=$TMP/mine" $NCU -- /bin/true >"$TMP/log" 2>&1
ok secrets__directory_made_by_the_user_keeps_its_mode [ "$(stat -c %a "$TMP/mine")" = 750 ]
"$SONDE" run -m "hydra.sweep.dir=$TMP/sweep" $NCU device=a,b -- /bin/true >"$TMP/log" 2>&1
ok secrets__sweep_is_the_users_alone [ -z "$(modes_beyond "$TMP/sweep" 077)" ]

# Of a value from the environment, the name of the variable is recorded, not the value.
run '+pipeline.workload.env.MODEL=${oc.env:SONDE_TEST_VALUE}' '+pipeline.workload.env.PLACE=in-${pipeline.workload.env.MODEL}' \
	'hydra.job.env_copy=[SONDE_TEST_VALUE]' "pipeline.workload.command=[/bin/sh,-c,'echo \$MODEL \$PLACE \$0 >$TMP/got','\${oc.env:SONDE_TEST_VALUE}']"
value=$SONDE_TEST_VALUE
ok secrets__program_gets_the_value [ "$(cat "$TMP/got")" = "$value in-$value $value" ]
ok secrets__value_from_the_environment_is_not_recorded is_nowhere "$value"
ok secrets__config_has_the_interpolation grep -qF 'MODEL: ${oc.env:SONDE_TEST_VALUE}' "$dir/config.yaml"
ok secrets__inputs_have_the_interpolation grep -qF '"MODEL=${oc.env:SONDE_TEST_VALUE}"' "$dir/inputs.yaml"
ok secrets__what_is_made_of_it_stays_as_written grep -qF 'PLACE: in-${pipeline.workload.env.MODEL}' "$dir/config.yaml"
ok secrets__command_has_the_interpolation grep -qF '${oc.env:SONDE_TEST_VALUE}' "$dir/ncu/cmd.txt"
run sonde.record_env=true '+pipeline.workload.env.MODEL=${oc.env:SONDE_TEST_VALUE}' -- /bin/true
ok secrets__value_is_recorded_when_asked_for grep -qF "MODEL: $value" "$dir/config.yaml"
ok secrets__in_inputs_too grep -qF "\"MODEL=$value\"" "$dir/inputs.yaml"

# By name: whatever looks like a secret.
run +pipeline.workload.env.AWS_ACCESS_KEY_ID=hush1 +hydra.job.env_set.HF_TOKEN=hush2 +pipeline.workload.env.MODEL=shown1 \
	-- /bin/sh -c "echo \$AWS_ACCESS_KEY_ID \$HF_TOKEN \$* >$TMP/got" x --api-key hush3 --db.password=hush4 MY_SECRET=hush5 --max_tokens=shown2 key_dim=shown3
ok secrets__program_gets_what_is_masked [ "$(cat "$TMP/got")" = "hush1 hush2 --api-key hush3 --db.password=hush4 MY_SECRET=hush5 --max_tokens=shown2 key_dim=shown3" ]
for i in 1 2 3 4 5; do ok "secrets__value_${i}_is_masked" is_nowhere "hush$i"; done
for i in 1 2 3; do ok "secrets__harmless_value_${i}_is_kept" recorded "shown$i"; done
ok secrets__inputs_show_the_mask grep -qF '"AWS_ACCESS_KEY_ID=***"' "$dir/inputs.yaml"
ok secrets__overrides_show_the_mask grep -qF 'HF_TOKEN=***' "$dir/.hydra/overrides.yaml" "$dir/inputs.yaml" "$dir/.hydra/hydra.yaml"
ok secrets__commands_show_the_mask grep -qF -- "--api-key '***' '--db.password=***' 'MY_SECRET=***' --max_tokens=shown2" "$dir/ncu/cmd.txt"
# By their shape: words that tell by themselves, also in a script.
shapes=(https://user:hush1@host/shown1 'Authorization: Bearer hush2' --auth=hush3 '{"password": "hush4", "n": "shown2"}' 'Server=shown3;Pwd=hush5;Database=shown4'
	hf_hushGnYcCuRfuQvEtCmuKzwTTeGfRSpfNZYR 'token: hush6')
run -- /bin/sh -c 'curl -u me:hush7 https://shown5; printf "%s\n" "$@" >'"$TMP/got" x "${shapes[@]}"
ok secrets__program_gets_every_shape [ "$(cat "$TMP/got")" = "$(printf '%s\n' "${shapes[@]}")" ]
ok secrets__no_shape_is_recorded is_nowhere hush
for i in 1 2 3 4 5; do ok "secrets__what_is_beside_shape_${i}_is_kept" recorded "shown$i"; done
"$SONDE" report --format html report.sort=time +x.api_key=hush6 tests/data/ncu/none_kernel.ncu-rep >"$TMP/report.html" 2>"$TMP/err"
ok secrets__report_masks_its_own_command grep -qF 'x.api_key=***' "$TMP/report.html"

sed 's/ --metrics gpu__time/ --api-key gpu__time/' tests/data/ncu/seed_kernel.ncu-rep >"$TMP/told.ncu-rep" # ncu writes what it was told
for f in json md html; do "$SONDE" report "$TMP/told.ncu-rep" -f $f; done >"$TMP/told" 2>&1
vendors_masked() { grep -qF -- '--api-key ***' "$TMP/told" && absent -F -- '--api-key gpu' "$TMP/told"; }
ok secrets__command_in_a_vendors_file_is_masked vendors_masked

# The injected library writes the command line of every process.
if [ -e "$BUILD/libsonde_inject.so" ]; then
	"$SONDE" run "hydra.run.dir=$TMP/native" -- "$BUILD/workloads/resnet_cpu" 1 --token=hush7 --token hush8 y >"$TMP/log" 2>&1
	"$SONDE" run "hydra.run.dir=$TMP/native2" -- "$BUILD/workloads/resnet_cpu" 1 "${shapes[@]}" >"$TMP/log" 2>&1
	ok secrets__native_capture_masks_every_shape absent -r hush "$TMP/native2"
	ok secrets__native_capture_keeps_what_is_beside_them grep -qrF 'https://user:***@host/shown1 Authorization: Bearer *** --auth=*** {"password": "***", "n": "shown2"} Server=shown3;Pwd=***;Database=shown4 hf_*** token: ***' "$TMP/native2/native"
	ok secrets__native_capture_is_there grep -qrF -- '--token=*** --token *** y' "$TMP/native/native"
	ok secrets__native_capture_masks absent -r 'hush[78]' "$TMP/native"
	ok secrets__native_capture_is_the_users_alone [ -z "$(modes_beyond "$TMP/native" 077)" ]
else
	skip secrets__native_capture "the NVTX headers were not found when building"
fi
