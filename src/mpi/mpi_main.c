/*
 * sonde-mpi: `sonde report` by all processes of an MPI job.
 *
 *     mpirun -n 8 sonde-mpi report captures/ -o out
 *
 * Process 0 runs the command; the other processes fold the inputs that it asks them to fold (share.h).
 */
#include "cli/command.h"
#include "cli/option.h"
#include "cli/messages.h"
#include "cli/shrunk_input.h"
#include "mpi/share.h"

#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const struct sonde_usage usage = {
	"mpirun -n N sonde-mpi report INPUT... [KEY=VALUE...] [options of `sonde report`]",
	"`sonde report` by all processes of an MPI job: the same options, the same bytes. Every\n"
	"process folds its share of the inputs, on the cores it is bound to; what they fold goes\n"
	"up a tree to process 0, which writes the report. All processes must see the inputs by\n"
	"the same names. An input that a process cannot read is left out, with a note. When a\n"
	"process is killed the job ends, and there is no report.\n"
	"Exit status: that of `sonde report`.",
	NULL, 0,
	{{"a report on all captures of a job, by eight processes",
		 "mpirun -n 8 sonde-mpi report captures/ -o out"},
		{"its regions as one table", "mpirun -n 8 sonde-mpi report captures/ -f csv -o regions.csv"}}};

/* When one process is lost, mpirun ends the others with SIGTERM. This handler tells the user what happened. */
static void on_end(int signo)
{
	static const char text[] =
		"sonde: the job ended before the report was made: one of its processes was lost, or "
		"the job was cancelled (mpirun says which); no report was written\n";

	(void)signo;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

/* Handles command lines that need neither a job nor MPI: --help, --version, mistakes. */
static int answer_option(const char *word)
{
	bool is_man = strcmp(word, "--help=man") == 0;
	const struct sonde_args how = {.help_as = is_man ? SONDE_HELP_MAN : SONDE_HELP_TEXT};
	struct sonde_sink out;

	sonde_sink_init_fd(&out, STDOUT_FILENO);
	if (is_man)
		sonde_man_head(&out, "sonde-mpi", "reports by all processes of an MPI job");
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		sonde_sink_puts(&out, "sonde-mpi " SONDE_VERSION "\n");
	} else if (is_man || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		sonde_usage_print(&usage, &how, &out);
	} else {
		sonde_say("sonde-mpi has one command: `mpirun -n N sonde-mpi report INPUT...`");
		return 2;
	}
	return sonde_sink_close(&out, NULL) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct sonde_mpi_job job;
	int status;

	if (argc < 2 || strcmp(argv[1], "report") != 0)
		return answer_option(argc < 2 ? "" : argv[1]);
	sonde_mpi_begin(&job, &argc, &argv);
	sonde_shrunk_input_watch();
	signal(SIGXFSZ, SIG_IGN);
	setlocale(LC_CTYPE, "");
	if (job.rank)
		return sonde_mpi_serve(&job);
	if (job.nr > 1)
		signal(SIGTERM, on_end);
	status = sonde_cmd_report_shared(argc - 1, argv + 1, &job.sharing);
	sonde_mpi_end(&job);
	return status;
}
