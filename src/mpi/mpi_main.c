/*
 * sonde-mpi: `sonde report` by all processes of an MPI job.
 *
 *     mpirun -n 8 sonde-mpi report captures/ -o out
 *
 * Process 0 is the command line; the others fold what it asks for (share.h).
 */
#include "cli/command.h"
#include "cli/say.h"
#include "cli/shrunk.h"
#include "mpi/share.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ABOUT "`sonde report` by all processes of an MPI job"

static const char help_text[] =
	"sonde-mpi " SONDE_VERSION ": " ABOUT ".\n\n"
	"usage: mpirun -n N sonde-mpi report INPUT... [KEY=VALUE...] [options]\n\n"
	"Takes the options of `sonde report` and writes the same bytes. Every process folds\n"
	"its share of the inputs, on the cores it is bound to; process 0 writes the report.\n"
	"An input that a process cannot read is left out, with a note. When a process is\n"
	"killed the job ends, and there is no report.\n\n"
	"example:\n  mpirun -n 8 sonde-mpi report captures/ -o out\n";

static const char man_text[] =
	".\\\" Made by `sonde-mpi --help=man`.\n"
	".TH SONDE-MPI 1 \"\" \"sonde " SONDE_VERSION "\" \"User Commands\"\n"
	".SH NAME\nsonde\\-mpi \\- sonde report by all processes of an MPI job\n"
	".SH SYNOPSIS\n.B mpirun \\-n\n.I N\n.B sonde\\-mpi report\n.IR INPUT ...\n"
	".RI [ KEY=VALUE ...]\n.RI [ options ]\n"
	".SH DESCRIPTION\nTakes the options of\n.BR sonde\\-report (1)\nand writes the same bytes.\n"
	"Every process folds its share of the inputs, on the cores it is bound to.\n"
	"What they fold goes up a tree to process 0, which writes the report.\n"
	"All processes must see the inputs by the same names.\n"
	".PP\nAn input that a process cannot read is left out, with a note in the report.\n"
	"When a process is killed the job ends, and there is no report.\n"
	".SH EXAMPLES\nReport on all captures of a job, on eight processes:\n"
	".PP\n.RS\n.nf\nmpirun \\-n 8 sonde\\-mpi report captures/ \\-o out\n.fi\n.RE\n"
	".SH SEE ALSO\n.BR sonde (1),\n.BR sonde\\-report (1)\n";

/* mpirun ends the others when one process is lost: those that can still say so do. */
static void on_end(int signo)
{
	static const char text[] =
		"sonde: the job was ended before the report was made: a process of it was lost, or "
		"it was cancelled (mpirun says which); no report was written\n";

	(void)signo;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

static int print(const char *text)
{
	fputs(text, stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}

/* What needs no job, and no MPI. */
static int answer(const char *word)
{
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return print("sonde-mpi " SONDE_VERSION "\n");
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return print(help_text);
	if (strcmp(word, "--help=man") == 0)
		return print(man_text);
	sonde_say("sonde-mpi has one command: `mpirun -n N sonde-mpi report INPUT...`");
	return 2;
}

int main(int argc, char **argv)
{
	struct sonde_mpi_job job;
	int status;

	if (argc < 2 || strcmp(argv[1], "report") != 0)
		return answer(argc < 2 ? "" : argv[1]);
	sonde_mpi_begin(&job, &argc, &argv);
	sonde_shrunk_watch();
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
