#include "capture/doctor.h"

#include "base/json_out.h"
#include "base/wrap.h"
#include "capture/native_env.h"
#include "catalogue/advice.h"
#include "sample/calibration.h"
#include "sample/cupti_open.h"
#include "sample/gpm.h"
#include "sample/sampler.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COLUMN 18 /* behind the health and the topic */

static const char *const health_names[] = {"ok", "note", "bad"};

/* The oldest driver that a generation of Nsight Compute works with (the minimum of its CUDA). */
static const struct {
	unsigned ncu_year, driver;
} needs[] = {{2025, 525}, {2024, 525}, {2023, 525}, {2022, 450}, {2021, 450}};

static void keep_symptom(struct sonde_diagnosis *d, const char *topic, enum sonde_health health,
	struct sonde_buf *says, const char *remedy)
{
	struct sonde_symptom *s = sonde_vec_push(&d->symptoms);

	if (!s || says->failed)
		d->arena.failed = true;
	else
		*s = (struct sonde_symptom){
			topic, health, sonde_arena_z(&d->arena, sonde_buf_view(says)), remedy};
	if (s && !s->says)
		s->says = "";
	sonde_buf_release(says);
}

static void add_good(struct sonde_diagnosis *d, const char *topic, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void add_good(struct sonde_diagnosis *d, const char *topic, const char *fmt, ...)
{
	struct sonde_buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	keep_symptom(d, topic, SONDE_HEALTH_OK, &b, NULL);
}

/* Sentence and remedy come from the advice for `situation`; the arguments are its detail. */
static void add_symptom(struct sonde_diagnosis *d, const char *topic, enum sonde_health health,
	enum sonde_situation situation, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void add_symptom(struct sonde_diagnosis *d, const char *topic, enum sonde_health health,
	enum sonde_situation situation, const char *fmt, ...)
{
	struct sonde_buf b = {0}, detail = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&detail, fmt, ap);
	va_end(ap);
	sonde_advice_say(&b, situation, detail.p);
	keep_symptom(d, topic, health, &b, sonde_advice_on(situation)->next);
	sonde_buf_release(&detail);
}

static void judge_gpus(struct sonde_diagnosis *d, const struct sonde_machine *f)
{
	size_t i;

	for (i = 0; i < f->nr_gpus; i++)
		add_good(d, "gpu", "%s, compute capability %s, driver %s, %s MiB%s",
			f->gpus[i].name, f->gpus[i].compute_capability, f->gpus[i].driver,
			f->gpus[i].memory_mib,
			strcmp(f->gpus[i].mig, "Enabled") == 0 ? ", MIG enabled" : "");
	for (i = 0; i < f->nr_gpus; i++)
		if (strcmp(f->gpus[i].mig, "Enabled") == 0)
			add_symptom(d, "gpu", SONDE_HEALTH_NOTE, SONDE_WHEN_MIG, "%zu", i);
	if (f->nr_gpus == 0)
		add_symptom(d, "gpu", SONDE_HEALTH_BAD, SONDE_WHEN_NO_GPU, "%s",
			f->gpu_error[0] ? f->gpu_error : "none is listed");
	if (f->nr_gpus && f->kernel_module[0] && strcmp(f->kernel_module, f->gpus[0].driver) != 0)
		add_symptom(d, "driver", SONDE_HEALTH_BAD, SONDE_WHEN_DRIVERS_DIFFER, "%s and %s",
			f->kernel_module, f->gpus[0].driver);
}

static void judge_ncu(struct sonde_diagnosis *d, const struct sonde_machine *f)
{
	unsigned driver = f->nr_gpus ? (unsigned)strtoul(f->gpus[0].driver, NULL, 10) : 0;
	size_t i;

	if (!f->ncu.path[0]) {
		add_symptom(d, "ncu", SONDE_HEALTH_NOTE, SONDE_WHEN_NCU_MISSING, "%s", "");
		return;
	}
	if (f->ncu.major && f->ncu.major < SONDE_NCU_OLDEST) {
		add_symptom(d, "ncu", SONDE_HEALTH_NOTE, SONDE_WHEN_NCU_OLD, "%s (%s)", f->ncu.version,
			f->ncu.path);
		return;
	}
	add_good(d, "ncu", "ncu %s (%s)", f->ncu.version[0] ? f->ncu.version : "of unknown version",
		f->ncu.path);
	for (i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (driver && f->ncu.major == needs[i].ncu_year && driver < needs[i].driver)
			add_symptom(d, "ncu", SONDE_HEALTH_NOTE, SONDE_WHEN_NCU_TOO_NEW,
				"ncu %s needs driver %u or newer, this is %s", f->ncu.version,
				needs[i].driver, f->gpus[0].driver);
}

static void judge_others(struct sonde_diagnosis *d, const struct sonde_machine *f)
{
	char library[PATH_MAX];

	if (f->nsys.path[0])
		add_good(d, "nsys", "nsys %s (%s)", f->nsys.version, f->nsys.path);
	else
		add_symptom(d, "nsys", SONDE_HEALTH_NOTE, SONDE_WHEN_NSYS_MISSING, "%s", "");
	if (f->cupti[0])
		add_good(d, "cupti", "%s", f->cupti);
	else
		add_symptom(d, "cupti", SONDE_HEALTH_NOTE, SONDE_WHEN_CUPTI_MISSING, "%s", "");
	if (sonde_native_find(library, sizeof(library)))
		add_good(d, "native", "%s", library);
	else
		add_symptom(d, "native", SONDE_HEALTH_BAD, SONDE_WHEN_INJECT_MISSING, "%s", "");
}

static void judge_permission(struct sonde_diagnosis *d, const struct sonde_machine *f)
{
	struct sonde_buf says = {0};

	if (f->is_restricted == 1 && !f->can_admin)
		add_symptom(d, "permission", SONDE_HEALTH_BAD, SONDE_WHEN_ADMIN_ONLY, "%s", "");
	else if (f->is_restricted == 1)
		add_good(d, "permission",
			"performance counters are restricted, but this process may read them "
			"(CAP_SYS_ADMIN)");
	else if (f->is_restricted == 0)
		add_good(d, "permission", "performance counters are open to all users");
	else {
		sonde_buf_puts(&says, "/proc/driver/nvidia/params cannot be read: no driver here, "
				      "or a container hides it");
		keep_symptom(d, "permission", SONDE_HEALTH_NOTE, &says, NULL);
	}
}

static void judge_company(struct sonde_diagnosis *d, const struct sonde_machine *f)
{
	struct sonde_buf says = {0};
	bool needs_admin = f->is_restricted == 1 && !f->can_admin;

	if (f->profilers[0])
		add_symptom(d, "profilers", SONDE_HEALTH_NOTE, SONDE_WHEN_COMPANY, "%s", f->profilers);
	if (!f->container[0])
		return;
	sonde_advice_say(&says, SONDE_WHEN_CONTAINER, f->container);
	keep_symptom(d, "container", SONDE_HEALTH_NOTE, &says,
		needs_admin ? sonde_advice_on(SONDE_WHEN_CONTAINER)->next : NULL);
}

/* A missing calibration is no defect: the usual offset is used instead. */
static void judge_calibration(struct sonde_diagnosis *d, const struct sonde_counter_set *set)
{
	struct sonde_calibration c;
	struct sonde_buf says = {0};
	char uuid[sizeof(c.uuid)];

	snprintf(uuid, sizeof(uuid), "%.*s", SONDE_STR_ARG(set->uuid));
	if (sonde_calibration_find(&c, uuid)) {
		add_good(d, "clock",
			"GPU 0 is calibrated: its kernels work %.0f ± %.0f ns %s than their timestamps say",
			fabs(c.offset_ns), 1.96 * c.error_ns, c.offset_ns < 0 ? "earlier" : "later");
		return;
	}
	sonde_buf_puts(&says, "GPU 0 is not calibrated: sonde assigns samples to kernels with the offset of an H200");
	keep_symptom(d, "clock", SONDE_HEALTH_NOTE, &says,
		"`sonde sample --calibrate`, once, while the GPU is idle (2 s)");
}

/* Judges GPM's coarse counters, for machines that refuse the others. */
static bool judge_gpm(struct sonde_diagnosis *d)
{
	struct sonde_gpm *g = NULL;
	struct sonde_err err = {0};
	struct sonde_buf says = {0};

	if (sonde_gpm_open(&g, NULL, &err) == 0) {
		sonde_gpm_close(g);
		add_good(d, "gpm", "NVML's GPM gives SM active, occupancy, tensor and DRAM %% every %u ms and needs no permission",
			SONDE_GPM_PERIOD_NS / 1000000u);
		return true;
	}
	sonde_buf_printf(&says, "NVML's GPM, which counts without a permission, cannot be used: %s", err.msg);
	keep_symptom(d, "gpm", SONDE_HEALTH_NOTE, &says, NULL);
	return false;
}

/* Tries it: only the driver knows whether it lets this process sample. */
static void judge_sampling(struct sonde_diagnosis *d)
{
	static const char *const basic[] = {"basic"};
	const struct sonde_sampling_request q = {.counters = basic, .nr_counters = 1};
	struct sonde_sampling *s = NULL;
	struct sonde_err err = {0};
	struct sonde_str remedy;
	struct sonde_buf says = {0};
	bool has_gpm;

	if (!sonde_sampler_has_gpu())
		return; /* judge_gpus has reported it */
	has_gpm = judge_gpm(d);
	if (sonde_sampling_open(&s, &q, &err) == 0) {
		add_good(d, "counters",
			"%u counters of %s can be sampled beside a native capture (counters=basic)",
			sonde_sampling_set(s, 0)->nr, sonde_sampling_facts(s)->chip);
		judge_calibration(d, sonde_sampling_set(s, 0));
		sonde_sampling_close(s);
		return;
	}
	has_gpm &= err.code == SONDE_ERR_IO; /* GPM replaces only what the driver refuses */
	sonde_buf_printf(&says, "hardware counters cannot be sampled, so native captures %s: ",
		has_gpm ? "fall back to GPM" : "have times only");
	sonde_buf_str(&says, sonde_advice_split(sonde_str_from(err.msg), &remedy));
	keep_symptom(d, "counters", has_gpm ? SONDE_HEALTH_NOTE : SONDE_HEALTH_BAD, &says,
		remedy.n ? sonde_arena_z(&d->arena, remedy) : NULL);
}

#define PC_SAMPLING_CC 7.0 /* Volta and newer chips have it */

/* Judges without running a kernel: by the chip, the permission, and whether CUPTI has the calls. */
static void judge_lines(struct sonde_diagnosis *d, const struct sonde_machine *f)
{
	const char *why = NULL, *remedy = NULL;
	struct sonde_buf says = {0};
	void *lib;

	if (!f->nr_gpus)
		return; /* judge_gpus has reported it */
	lib = sonde_cupti_open();
	if (strtod(f->gpus[0].compute_capability, NULL) < PC_SAMPLING_CC)
		why = "this GPU is older than compute capability 7.0";
	else if (f->is_restricted == 1 && !f->can_admin)
		why = "this user may not profile the GPU", remedy = sonde_advice_on(SONDE_WHEN_ADMIN_ONLY)->next;
	else if (!lib)
		why = "CUPTI was not found", remedy = sonde_advice_on(SONDE_WHEN_CUPTI_MISSING)->next;
	else if (!dlsym(lib, "cuptiPCSamplingGetData") || !dlsym(lib, "cuptiGetCubinCrc"))
		why = "this CUPTI has no PC sampling", remedy = "install CUPTI of CUDA 12 or newer";
	if (!why) {
		add_good(d, "lines", "PC samples can be taken (sonde run --lines), as far as sonde can tell without running a kernel");
		return;
	}
	sonde_buf_printf(&says, "no PC samples (sonde run --lines): %s", why);
	keep_symptom(d, "lines", SONDE_HEALTH_NOTE, &says, remedy);
}

bool sonde_diagnosis_build(struct sonde_diagnosis *out, const struct sonde_machine *f)
{
	*out = (struct sonde_diagnosis){0};
	judge_gpus(out, f);
	judge_ncu(out, f);
	judge_others(out, f);
	judge_permission(out, f);
	judge_sampling(out);
	judge_lines(out, f);
	judge_company(out, f);
	return !out->arena.failed;
}

void sonde_diagnosis_release(struct sonde_diagnosis *d)
{
	sonde_vec_release(&d->symptoms);
	sonde_arena_release(&d->arena);
}

enum sonde_health sonde_diagnosis_worst(const struct sonde_diagnosis *d)
{
	enum sonde_health worst = SONDE_HEALTH_OK;
	size_t i;

	for (i = 0; i < d->symptoms.nr; i++)
		if (d->symptoms.at[i].health > worst)
			worst = d->symptoms.at[i].health;
	return worst;
}

void sonde_diagnosis_show(const struct sonde_diagnosis *d, struct sonde_sink *to, size_t width)
{
	const struct sonde_margins m = {TEXT_COLUMN, TEXT_COLUMN, width};
	size_t i;

	for (i = 0; i < d->symptoms.nr; i++) {
		const struct sonde_symptom *s = &d->symptoms.at[i];

		sonde_sink_printf(to, "%-4s  %-10s  ", health_names[s->health], s->topic);
		sonde_wrap(to, sonde_str_from(s->says), m);
		if (s->remedy)
			sonde_sink_printf(to, "%*sremedy: ", TEXT_COLUMN, "");
		if (s->remedy)
			sonde_wrap(to, sonde_str_from(s->remedy), (struct sonde_margins){TEXT_COLUMN + 8, TEXT_COLUMN, width});
	}
}

void sonde_diagnosis_json(
	const struct sonde_diagnosis *d, const struct sonde_machine *f, struct sonde_sink *to)
{
	struct sonde_json w = {.sink = to};
	size_t i;

	sonde_json_open(&w, NULL, '{', false);
	sonde_json_z(&w, "health", health_names[sonde_diagnosis_worst(d)]);
	sonde_json_each(&w, "findings", false, i, d->symptoms.nr) {
		const struct sonde_symptom *s = &d->symptoms.at[i];

		sonde_json_z(&w, "topic", s->topic);
		sonde_json_z(&w, "health", health_names[s->health]);
		sonde_json_z(&w, "says", s->says);
		sonde_json_z(&w, "remedy", s->remedy);
	}
	sonde_machine_json(f, &w, "facts");
	sonde_json_close(&w, '}');
	sonde_sink_putc(to, '\n');
}
