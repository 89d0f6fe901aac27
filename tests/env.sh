# Sourced by tests/run and lib.sh, so that tests do not depend on the user's environment: it removes settings of sonde, of the
# job in which the tests run (Slurm, MPI, torchrun), and of the terminal's width and colours.
for name in $(compgen -e); do
	case $name in
	SONDE_TEST | SONDE_TESTS_SIGNALS | SONDE_ALL_PAIRS) ;; # for tests
	SONDE_* | XDG_* | HYDRA_* | TORCH_TRACE_DIR) unset "$name" ;;
	SLURM_* | PBS_* | LSB_* | OMPI_* | PMI_* | PMIX_* | MPI_* | TORCHELASTIC_* | MASTER_* | JOB_*) unset "$name" ;;
	RANK | WORLD_SIZE | LOCAL_RANK | LOCAL_WORLD_SIZE) unset "$name" ;;
	CUDA_INJECTION64_PATH | NVTX_INJECTION64_PATH | NO_COLOR | COLUMNS | BASH_ENV | CDPATH | GREP_OPTIONS) unset "$name" ;;
	esac
done
umask 022
use_home() { # FOLDER: nothing of the user's own is there; what Python has installed for the user still is
	export PYTHONUSERBASE=${PYTHONUSERBASE:-${HOME:-}/.local} HOME=$1
	mkdir -p "$HOME"
}
