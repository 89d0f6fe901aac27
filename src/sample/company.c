#include "sample/company_int.h"

#include "base/alloc.h"
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
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
	int (*by_uuid)(const char *uuid, void **device);
	int (*processes)(void *device, unsigned *nr, struct process_info *out);
};

static bool load(struct sonde_company *c)
{
	c->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!c->library)
		return false;
	*(void **)&c->init = dlsym(c->library, "nvmlInit_v2");
	*(void **)&c->by_uuid = dlsym(c->library, "nvmlDeviceGetHandleByUUID");
	*(void **)&c->processes = dlsym(c->library, "nvmlDeviceGetComputeRunningProcesses_v3");
	return c->init && c->by_uuid && c->processes && c->init() == 0;
}

struct sonde_company *sonde_company__open(struct sonde_str uuid)
{
	struct sonde_company *c = sonde_calloc(1, sizeof(*c));
	char name[96];

	snprintf(name, sizeof(name), "%.*s", SONDE_STR_ARG(uuid));
	if (c && load(c) && c->by_uuid(name, &c->device) == 0)
		return c;
	sonde_free(c);
	return NULL;
}

/*
 * True when the process's environment lacks the mark, or is another user's and closed to us. A process that
 * ends has no environment any more, but the GPU for a moment yet: it may be one of ours.
 */
static bool is_stranger(unsigned pid, const char *mark)
{
	struct sonde_buf text = {0};
	struct sonde_str rest;
	char path[64];
	bool is_so;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	is_so = sonde_file_slurp(&text, path) ? text.n > 0 : errno == EACCES;
	rest = sonde_buf_view(&text);
	while (rest.n && is_so)
		is_so = !sonde_str_is(sonde_str_cut(rest, '\0', &rest), mark);
	sonde_buf_release(&text);
	return is_so;
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
