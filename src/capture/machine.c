#include "capture/machine.h"

#include "base/json_out.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CAP_SYS_ADMIN_BIT 21

/* Puts $SONDE_SYSROOT before a path, so that tests can have their own /proc and /etc. */
static void put_root(char *out, size_t size, const char *path)
{
	const char *root = getenv("SONDE_SYSROOT");

	snprintf(out, size, "%s%s", root ? root : "", path);
}

static bool slurp_rooted(struct sonde_buf *out, const char *path)
{
	char full[1024];

	put_root(full, sizeof(full), path);
	return sonde_file_slurp(out, full);
}

/* Finds the value after `key` at the start of a line: `RmProfilingAdminOnly: 1`. */
static bool find_value(struct sonde_str text, const char *key, struct sonde_str *value)
{
	while (text.n) {
		struct sonde_str line = sonde_str_trim(sonde_str_cut(text, '\n', &text));

		if (!sonde_str_starts(line, key))
			continue;
		sonde_str_cut(line, ':', value);
		*value = sonde_str_trim(*value);
		return true;
	}
	return false;
}

static void take_field(char *out, size_t size, struct sonde_str *line)
{
	struct sonde_str field = sonde_str_trim(sonde_str_cut(*line, ',', line));

	snprintf(out, size, "%.*s", SONDE_STR_ARG(field));
}

static void take_gpu(struct sonde_machine *f, struct sonde_str line)
{
	struct sonde_gpu *g = &f->gpus[f->nr_gpus];

	take_field(g->name, sizeof(g->name), &line);
	take_field(g->driver, sizeof(g->driver), &line);
	take_field(g->compute_capability, sizeof(g->compute_capability), &line);
	take_field(g->memory_mib, sizeof(g->memory_mib), &line);
	take_field(g->uuid, sizeof(g->uuid), &line);
	take_field(g->mig, sizeof(g->mig), &line);
	f->nr_gpus++;
}

static void find_gpus(struct sonde_machine *f)
{
	char path[1024];
	char query[] =
		"--query-gpu=name,driver_version,compute_cap,memory.total,uuid,mig.mode.current";
	char format[] = "--format=csv,noheader,nounits";
	char *argv[] = {path, query, format, NULL};
	struct sonde_buf text = {0};
	struct sonde_err err = {0};
	struct sonde_str rest, line;
	int status = 0, rc;

	if (!sonde_tool_find(path, "nvidia-smi")) {
		snprintf(f->gpu_error, sizeof(f->gpu_error), "nvidia-smi: not found");
		return;
	}
	rc = sonde_tool_output(&text, &status, argv, 20000, &err);
	rest = sonde_buf_view(&text);
	if (rc || status) {
		line = sonde_str_trim(sonde_str_cut(rest, '\n', &rest));
		snprintf(f->gpu_error, sizeof(f->gpu_error), "%.*s",
			SONDE_STR_ARG(rc ? sonde_str_from(err.msg) : line));
	}
	while (rc == 0 && status == 0 && rest.n && f->nr_gpus < 16) {
		line = sonde_str_cut(rest, '\n', &rest);
		if (sonde_str_trim(line).n)
			take_gpu(f, line);
	}
	sonde_buf_release(&text);
}

/* The chip for the name of a model: /proc answers at once, nvidia-smi takes a second. */
static const char *chip_of_model(struct sonde_str model)
{
	static const char *const known[][2] = {{"H200", "GH100"}, {"H100", "GH100"},
		{"H800", "GH100"}, {"GH200", "GH100"}, {"B200", "GB100"}, {"GB200", "GB100"},
		{"A100", "GA100"}, {"A800", "GA100"}, {"A30", "GA100"}, {"RTX 3090", "GA102"},
		{"A40", "GA102"}, {"A10", "GA102"}, {"RTX 4090", "AD102"}, {"L40", "AD102"},
		{"V100", "GV100"}, {"T4", "TU104"}};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (model.n && memmem(model.p, model.n, known[i][0], strlen(known[i][0])))
			return known[i][1];
	return NULL;
}

static const char *chip_of_capability(const char *capability)
{
	static const char *const known[][2] = {{"7.0", "GV100"}, {"7.2", "GV11B"}, {"7.5", "TU102"}, {"8.0", "GA100"},
		{"8.6", "GA102"}, {"8.7", "GA10B"}, {"8.9", "AD102"}, {"9.0", "GH100"},
		{"10.0", "GB100"}, {"10.3", "GB110"}, {"12.0", "GB202"}};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i][0], capability) == 0)
			return known[i][1];
	return NULL;
}

static const char *chip_in_proc(void)
{
	char pattern[1024];
	struct sonde_buf text = {0};
	struct sonde_str model = {NULL, 0};
	const char *chip = NULL;
	glob_t found = {0};

	put_root(pattern, sizeof(pattern), "/proc/driver/nvidia/gpus/*/information");
	if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc &&
		sonde_file_slurp(&text, found.gl_pathv[0]) &&
		find_value(sonde_buf_view(&text), "Model", &model))
		chip = chip_of_model(model);
	globfree(&found);
	sonde_buf_release(&text);
	return chip;
}

bool sonde_machine_chip(char *out, size_t size)
{
	struct sonde_machine f = {0};
	const char *chip = chip_in_proc();

	if (!chip) {
		find_gpus(&f);
		chip = f.nr_gpus ? chip_of_capability(f.gpus[0].compute_capability) : NULL;
	}
	if (chip)
		snprintf(out, size, "%s", chip);
	return chip != NULL;
}

static void find_cupti(struct sonde_machine *f)
{
	static const char *const places[] = {"/usr/local/cuda/lib64/libcupti.so*",
		"/usr/local/cuda/lib/libcupti.so*",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*", "/usr/lib/*/libcupti.so*",
		"/usr/local/cuda/targets/*/lib/libcupti.so*"};
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places) && !f->cupti[0]; i++) {
		char pattern[1024];
		glob_t found = {0};

		put_root(pattern, sizeof(pattern), places[i]);
		if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc)
			snprintf(f->cupti, sizeof(f->cupti), "%s", found.gl_pathv[0]);
		globfree(&found);
	}
}

static void find_permission(struct sonde_machine *f)
{
	struct sonde_buf text = {0};
	struct sonde_str value;
	char caps[32];
	unsigned long long bits = 0;

	f->is_restricted = -1;
	if (slurp_rooted(&text, "/proc/driver/nvidia/params") &&
		find_value(sonde_buf_view(&text), "RmProfilingAdminOnly", &value))
		f->is_restricted = sonde_str_is(value, "0") ? 0 : 1;
	sonde_buf_clear(&text);
	if (slurp_rooted(&text, "/proc/self/status") &&
		find_value(sonde_buf_view(&text), "CapEff", &value)) {
		snprintf(caps, sizeof(caps), "%.*s", (int)(value.n < 31 ? value.n : 31), value.p);
		bits = strtoull(caps, NULL, 16);
	}
	f->can_admin = bits >> CAP_SYS_ADMIN_BIT & 1;
	sonde_buf_release(&text);
}

/*
 * Takes the version from `NVIDIA UNIX Open Kernel Module for x86_64 580.159.04 Release Build …`: the first number with
 * a dot.
 */
static void module_version(struct sonde_machine *f, struct sonde_str line)
{
	struct sonde_str word;

	while (line.n) {
		word = sonde_str_cut(line, ' ', &line);
		if (word.n && word.p[0] >= '0' && word.p[0] <= '9' &&
			sonde_str_find(word, '.') < word.n) {
			snprintf(f->kernel_module, sizeof(f->kernel_module), "%.*s",
				SONDE_STR_ARG(word));
			return;
		}
	}
}

static void find_system(struct sonde_machine *f)
{
	struct sonde_buf text = {0};
	struct sonde_str value;
	struct utsname u;

	if (uname(&u) == 0) {
		snprintf(f->os, sizeof(f->os), "%.40s %.40s", u.sysname, u.release);
		snprintf(f->host, sizeof(f->host), "%.90s", u.nodename);
	}
	if (slurp_rooted(&text, "/proc/driver/nvidia/version") &&
		find_value(sonde_buf_view(&text), "NVRM version", &value))
		module_version(f, value);
	sonde_buf_release(&text);
}

static void find_container(struct sonde_machine *f)
{
	static const char *const marks[][2] = {{"/.dockerenv", "docker"},
		{"/run/.containerenv", "podman"}, {"/var/run/secrets/kubernetes.io", "kubernetes"},
		{"/.singularity.d", "singularity"}};
	char path[1024];
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(*marks) && !f->container[0]; i++) {
		put_root(path, sizeof(path), marks[i][0]);
		if (access(path, F_OK) == 0)
			snprintf(f->container, sizeof(f->container), "%s", marks[i][1]);
	}
}

static void add_profiler(struct sonde_machine *f, const char *name, const char *pid)
{
	static const char *const known[] = {"nv-hostengine", "dcgm-exporter", "dcgmi", "nsys",
		"ncu", "nsys-launcher", "nv-nsight-cu-cli", "nvprof"};
	size_t i, n = strlen(f->profilers);

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i], name) == 0)
			snprintf(f->profilers + n, sizeof(f->profilers) - n, "%s%s (%s)",
				n ? ", " : "", name, pid);
}

static void find_profilers(struct sonde_machine *f)
{
	char path[1024];
	struct dirent *e;
	DIR *d;

	put_root(path, sizeof(path), "/proc");
	d = opendir(path);
	while (d && (e = readdir(d))) {
		struct sonde_buf text = {0};
		char name[64];

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/comm", e->d_name);
		if (slurp_rooted(&text, path)) {
			struct sonde_str s = sonde_str_trim(sonde_buf_view(&text));

			snprintf(name, sizeof(name), "%.*s", (int)(s.n < 63 ? s.n : 63), s.p);
			add_profiler(f, name, e->d_name);
		}
		sonde_buf_release(&text);
	}
	if (d)
		closedir(d);
}

void sonde_machine_find(struct sonde_machine *out)
{
	*out = (struct sonde_machine){0};
	find_gpus(out);
	sonde_tool_open(&out->ncu, "ncu", NULL);
	sonde_tool_open(&out->nsys, "nsys", NULL);
	find_cupti(out);
	find_permission(out);
	find_system(out);
	find_container(out);
	find_profilers(out);
}

/* --- as JSON ----------------------------------------------------------------------------------- */

/* A text that is not known is empty in the struct and null in JSON. */
static void put_text(struct sonde_json *w, const char *key, const char *value)
{
	sonde_json_z(w, key, *value ? value : NULL);
}

static void put_tool(struct sonde_json *w, const char *key, const struct sonde_tool *t)
{
	if (!t->path[0]) {
		sonde_json_null(w, key);
		return;
	}
	sonde_json_open(w, key, '{', true);
	put_text(w, "path", t->path);
	put_text(w, "version", t->version);
	sonde_json_close(w, '}');
}

static void put_gpus(struct sonde_json *w, const struct sonde_machine *f)
{
	size_t i;

	sonde_json_each(w, "gpus", false, i, f->nr_gpus) {
		const struct sonde_gpu *g = &f->gpus[i];

		put_text(w, "name", g->name);
		put_text(w, "driver", g->driver);
		put_text(w, "compute_capability", g->compute_capability);
		put_text(w, "memory_mib", g->memory_mib);
		put_text(w, "uuid", g->uuid);
		put_text(w, "mig", g->mig);
	}
}

void sonde_machine_json(const struct sonde_machine *f, struct sonde_json *w, const char *key)
{
	sonde_json_open(w, key, '{', false);
	sonde_json_z(w, "sonde", SONDE_VERSION);
	put_text(w, "host", f->host);
	put_text(w, "os", f->os);
	put_gpus(w, f);
	put_text(w, "gpu_error", f->gpu_error);
	put_text(w, "kernel_module", f->kernel_module);
	put_tool(w, "ncu", &f->ncu);
	put_tool(w, "nsys", &f->nsys);
	put_text(w, "cupti", f->cupti);
	if (f->is_restricted < 0)
		sonde_json_null(w, "counters_restricted");
	else
		sonde_json_bool(w, "counters_restricted", f->is_restricted);
	put_text(w, "container", f->container);
	put_text(w, "profilers", f->profilers);
	sonde_json_close(w, '}');
}
