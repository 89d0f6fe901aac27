#include "capture/doctor.h"

#include "base/json_out.h"
#include "capture/native_env.h"
#include "sample/sampler.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const health_names[] = {"ok", "note", "bad"};

/* Which driver a generation of Nsight Compute needs at least (its CUDA's minimum). */
static const struct {
	unsigned ncu_year, driver;
} needs[] = {{2025, 525}, {2024, 525}, {2023, 525}, {2022, 450}, {2021, 450}};

static void add(struct sonde_diagnosis *d, const char *topic, enum sonde_health health,
	const char *remedy, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void add(struct sonde_diagnosis *d, const char *topic, enum sonde_health health,
	const char *remedy, const char *fmt, ...)
{
	struct sonde_symptom *s = sonde_vec_push(&d->symptoms);
	struct sonde_buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (!s || b.failed)
		d->arena.failed = true;
	else
		*s = (struct sonde_symptom){
			topic, health, sonde_arena_z(&d->arena, sonde_buf_view(&b)), remedy};
	if (s && !s->says)
		s->says = "";
	sonde_buf_release(&b);
}

static void judge_gpus(struct sonde_diagnosis *d, const struct sonde_facts *f)
{
	size_t i;

	for (i = 0; i < f->nr_gpus; i++)
		add(d, "gpu", SONDE_HEALTH_OK, NULL,
			"%s, compute capability %s, driver %s, %s MiB%s", f->gpus[i].name,
			f->gpus[i].compute_capability, f->gpus[i].driver, f->gpus[i].memory_mib,
			strcmp(f->gpus[i].mig, "Enabled") == 0 ? ", MIG enabled" : "");
	for (i = 0; i < f->nr_gpus; i++)
		if (strcmp(f->gpus[i].mig, "Enabled") == 0)
			add(d, "gpu", SONDE_HEALTH_NOTE,
				"use pipeline.ncu.ncu_cli.clock_control=none; some metrics are "
				"shared "
				"between instances",
				"GPU %zu is split (MIG): clocks cannot be locked", i);
	if (f->nr_gpus == 0)
		add(d, "gpu", SONDE_HEALTH_BAD,
			"install the NVIDIA driver, or give the container the GPU (`--gpus all`, "
			"nvidia-container-toolkit); `sonde report` and host-only native captures "
			"work "
			"without one",
			"no GPU can be asked: %s",
			f->gpu_error[0] ? f->gpu_error : "none is listed");
	if (f->nr_gpus && f->kernel_module[0] && strcmp(f->kernel_module, f->gpus[0].driver) != 0)
		add(d, "driver", SONDE_HEALTH_BAD, "reboot, or reload the nvidia kernel modules",
			"the kernel runs driver %s, the libraries are %s", f->kernel_module,
			f->gpus[0].driver);
}

static void judge_ncu(struct sonde_diagnosis *d, const struct sonde_facts *f)
{
	unsigned driver = f->nr_gpus ? (unsigned)strtoul(f->gpus[0].driver, NULL, 10) : 0;
	size_t i;

	if (!f->ncu.path[0]) {
		add(d, "ncu", SONDE_HEALTH_BAD,
			"install nsight-compute (CUDA toolkit or "
			"developer.nvidia.com/nsight-compute) and "
			"put ncu into PATH, or name it in SONDE_NCU; native captures need none",
			"Nsight Compute (ncu) is not installed");
		return;
	}
	if (f->ncu.major && f->ncu.major < 2021) {
		add(d, "ncu", SONDE_HEALTH_BAD, "install 2022.1 or newer", "ncu %s is too old (%s)",
			f->ncu.version, f->ncu.path);
		return;
	}
	add(d, "ncu", SONDE_HEALTH_OK, NULL, "ncu %s (%s)",
		f->ncu.version[0] ? f->ncu.version : "of unknown version", f->ncu.path);
	for (i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (driver && f->ncu.major == needs[i].ncu_year && driver < needs[i].driver)
			add(d, "ncu", SONDE_HEALTH_BAD, "update the driver, or use an older ncu",
				"ncu %s needs driver %u or newer, this is %s", f->ncu.version,
				needs[i].driver, f->gpus[0].driver);
}

static void judge_others(struct sonde_diagnosis *d, const struct sonde_facts *f)
{
	char library[PATH_MAX];

	if (f->nsys.path[0])
		add(d, "nsys", SONDE_HEALTH_OK, NULL, "nsys %s (%s)", f->nsys.version,
			f->nsys.path);
	else
		add(d, "nsys", SONDE_HEALTH_NOTE, "install nsight-systems if you want its timeline",
			"Nsight Systems (nsys) is not installed");
	if (f->cupti[0])
		add(d, "cupti", SONDE_HEALTH_OK, NULL, "%s", f->cupti);
	else
		add(d, "cupti", SONDE_HEALTH_NOTE,
			"install cuda-cupti: without it native captures have host times only and "
			"plans "
			"no pass counts",
			"CUPTI was not found");
	if (sonde_native_find(library, sizeof(library)))
		add(d, "native", SONDE_HEALTH_OK, NULL, "%s", library);
	else
		add(d, "native", SONDE_HEALTH_NOTE,
			"build it with `make inject`, or name it in SONDE_INJECT_LIB",
			"libsonde_inject.so was not found: no native capture");
}

static void judge_permission(struct sonde_diagnosis *d, const struct sonde_facts *f)
{
	static const char remedy[] =
		"as root: write `options nvidia NVreg_RestrictProfilingToAdminUsers=0` to "
		"/etc/modprobe.d/nvidia-profiling.conf, run `update-initramfs -u`, reboot; or run "
		"with "
		"CAP_SYS_ADMIN (container: --cap-add=SYS_ADMIN); native captures need no "
		"permission";

	if (f->is_restricted == 1 && !f->can_admin)
		add(d, "permission", SONDE_HEALTH_BAD, remedy,
			"performance counters are for administrators only (RmProfilingAdminOnly: "
			"1) and "
			"this process has no CAP_SYS_ADMIN");
	else if (f->is_restricted == 1)
		add(d, "permission", SONDE_HEALTH_OK, NULL,
			"performance counters are restricted, but this process may "
			"(CAP_SYS_ADMIN)");
	else if (f->is_restricted == 0)
		add(d, "permission", SONDE_HEALTH_OK, NULL,
			"performance counters are open to all users");
	else
		add(d, "permission", SONDE_HEALTH_NOTE, NULL,
			"/proc/driver/nvidia/params cannot be read: no driver here, or a container "
			"hides it");
}

static void judge_company(struct sonde_diagnosis *d, const struct sonde_facts *f)
{
	if (f->profilers[0])
		add(d, "profilers", SONDE_HEALTH_NOTE,
			"if ncu says that a driver resource is unavailable: `dcgmi profile "
			"--pause` (then "
			"--resume), or end the other session",
			"tools that may be using the counters are running: %s", f->profilers);
	if (f->container[0])
		add(d, "container", SONDE_HEALTH_NOTE,
			f->is_restricted == 1 && !f->can_admin ? "start it with --cap-add=SYS_ADMIN"
							       : NULL,
			"this is a container (%s): the host's driver and permissions decide",
			f->container);
}

/* By trying: only the driver knows whether it lets this process sample. */
static void judge_sampling(struct sonde_diagnosis *d)
{
	static const char *const basic[] = {"basic"};
	const struct sonde_sampling_request q = {.counters = basic, .nr_counters = 1};
	struct sonde_sampling *s = NULL;
	struct sonde_err err = {0};
	struct sonde_str says, remedy;

	if (!sonde_sampler_has_gpu())
		return; /* said already */
	if (sonde_sampling_open(&s, &q, &err) == 0) {
		add(d, "counters", SONDE_HEALTH_OK, NULL,
			"%u counters of %s can be sampled beside a native capture (counters=basic)",
			sonde_sampling_set(s, 0)->nr, sonde_sampling_chip(s));
		sonde_sampling_close(s);
		return;
	}
	says = sonde_str_cut(sonde_str_from(err.msg), ':', &remedy);
	add(d, "counters", SONDE_HEALTH_NOTE,
		remedy.n ? sonde_arena_z(&d->arena, sonde_str_trim(remedy)) : NULL,
		"hardware counters cannot be sampled, so native captures have times only: %.*s",
		SONDE_STR_ARG(says));
}

bool sonde_diagnosis_build(struct sonde_diagnosis *out, const struct sonde_facts *f)
{
	*out = (struct sonde_diagnosis){0};
	judge_gpus(out, f);
	judge_ncu(out, f);
	judge_others(out, f);
	judge_permission(out, f);
	judge_sampling(out);
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

void sonde_diagnosis_show(const struct sonde_diagnosis *d, struct sonde_sink *to)
{
	size_t i;

	for (i = 0; i < d->symptoms.nr; i++) {
		const struct sonde_symptom *s = &d->symptoms.at[i];

		sonde_sink_printf(
			to, "%-4s  %-10s  %s\n", health_names[s->health], s->topic, s->says);
		if (s->remedy)
			sonde_sink_printf(to, "                  remedy: %s\n", s->remedy);
	}
}

void sonde_diagnosis_json(
	const struct sonde_diagnosis *d, const struct sonde_facts *f, struct sonde_sink *to)
{
	struct sonde_json w = {.sink = to};
	size_t i;

	sonde_json_open(&w, NULL, '{', false);
	sonde_json_z(&w, "health", health_names[sonde_diagnosis_worst(d)]);
	sonde_json_open(&w, "findings", '[', false);
	for (i = 0; i < d->symptoms.nr; i++) {
		const struct sonde_symptom *s = &d->symptoms.at[i];

		sonde_json_open(&w, NULL, '{', true);
		sonde_json_z(&w, "topic", s->topic);
		sonde_json_z(&w, "health", health_names[s->health]);
		sonde_json_z(&w, "says", s->says);
		sonde_json_z(&w, "remedy", s->remedy);
		sonde_json_close(&w, '}');
	}
	sonde_json_close(&w, ']');
	sonde_facts_json(f, &w, "facts");
	sonde_json_close(&w, '}');
	sonde_sink_putc(to, '\n');
}
