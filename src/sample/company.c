#include "sample/company_int.h"

#include "base/alloc.h"
#include "base/file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_PROCESSES 128

/* NVML's own, whose header is not needed for these few. */
struct process_info {
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};

struct sonde_company {
	void *library, *device;
	int (*init)(void);
	int (*shutdown)(void);
	int (*by_uuid)(const char *uuid, void **device);
	int (*processes)(void *device, unsigned *nr, struct process_info *out);
};

static bool load(struct sonde_company *c)
{
	c->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!c->library)
		return false;
	*(void **)&c->init = dlsym(c->library, "nvmlInit_v2");
	*(void **)&c->shutdown = dlsym(c->library, "nvmlShutdown");
	*(void **)&c->by_uuid = dlsym(c->library, "nvmlDeviceGetHandleByUUID");
	*(void **)&c->processes = dlsym(c->library, "nvmlDeviceGetComputeRunningProcesses_v3");
	return c->init && c->shutdown && c->by_uuid && c->processes && c->init() == 0;
}

struct sonde_company *sonde_company__open(struct sonde_str uuid)
{
	struct sonde_company *c = sonde_calloc(1, sizeof(*c));
	char name[96];

	snprintf(name, sizeof(name), "%.*s", SONDE_STR_ARG(uuid));
	if (c && load(c) && c->by_uuid(name, &c->device) == 0)
		return c;
	sonde_company__close(c);
	return NULL;
}

void sonde_company__close(struct sonde_company *c)
{
	if (c && c->device)
		c->shutdown();
	sonde_free(c);
}

/* True when the process's environment can be read and lacks the mark. */
static bool is_stranger(unsigned pid, const char *mark)
{
	struct sonde_buf text = {0};
	struct sonde_str rest;
	char path[64];
	bool is_known = false, is_ours = false;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	is_known = sonde_file_slurp(&text, path) && text.n;
	rest = sonde_buf_view(&text);
	while (rest.n && !is_ours)
		is_ours = sonde_str_is(sonde_str_cut(rest, '\0', &rest), mark);
	sonde_buf_release(&text);
	if (is_known)
		return !is_ours;
	/* Another user's: there, but closed to us. */
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return access(path, F_OK) == 0;
}

unsigned sonde_company__count(struct sonde_company *c, const char *mark)
{
	struct process_info all[MAX_PROCESSES];
	unsigned nr = MAX_PROCESSES, i, nr_strangers = 0;

	if (!c || c->processes(c->device, &nr, all) != 0)
		return 0;
	for (i = 0; i < nr && i < MAX_PROCESSES; i++)
		nr_strangers += all[i].pid != (unsigned)getpid() && is_stranger(all[i].pid, mark);
	return nr_strangers;
}
