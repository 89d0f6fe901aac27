#include "capture/doctor.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/terminal.h"

#include <unistd.h>

struct request {
	bool is_json;
	size_t width;
};

static int examine_machine(const struct request *q, struct sonde_sink *out, enum sonde_health *worst)
{
	struct sonde_machine machine;
	struct sonde_diagnosis d;
	bool is_good;

	sonde_machine_find(&machine);
	is_good = sonde_diagnosis_build(&d, &machine);
	*worst = sonde_diagnosis_worst(&d);
	if (q->is_json)
		sonde_diagnosis_json(&d, &machine, out);
	else
		sonde_diagnosis_show(&d, out, q->width ? q->width : sonde_terminal_width());
	sonde_diagnosis_release(&d);
	return is_good ? 0 : SONDE_ERR_NOMEM;
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT(0, "json", NULL, FLAG, is_json, "as JSON, with all facts"),
	SONDE_OPT_WIDTH(width),
};

static const struct sonde_usage usage = {"sonde doctor [options]",
	"Looks at this machine: GPU, driver, Nsight Compute and Systems, CUPTI, permission to\n"
	"read the counters, other profilers, containers; each finding with its remedy.\n"
	"Exit status: 0 when `sonde run` has times and counters here, 1 when something is in\n"
	"its way (bad). A missing ncu or nsys is a note: only --ncu and --nsys need them.",
	options, sizeof(options) / sizeof(*options),
	{{"what is missing here", "sonde doctor"},
		{"in a script", "sonde doctor --json | jq -r '.findings[] | select(.health==\"bad\").says'"}}};

int sonde_cmd_doctor(int argc, char **argv)
{
	struct request q = {0};
	struct sonde_args args = {0};
	struct sonde_err err = {0};
	enum sonde_health worst = SONDE_HEALTH_OK;
	struct sonde_sink out;
	int rc = sonde_options_read(&args, &usage, &q, argc, argv, &err);

	if (rc == 0 && args.operands.nr)
		rc = sonde_err_set(&err, SONDE_ERR_USAGE, "doctor takes no operand: leave out '%s'",
			args.operands.at[0]);
	if (rc == 0) {
		sonde_sink_init_fd(&out, STDOUT_FILENO);
		if (examine_machine(&q, &out, &worst))
			rc = sonde_err_nomem(&err);
		rc = sonde_sink_finish(&out, rc, &err);
	}
	sonde_args_release(&args);
	return rc < 0 ? sonde_cmd_fail(&err) : worst == SONDE_HEALTH_BAD;
}
