/*
 * This machine, as far as a capture depends on it: env.json records it and
 * `sonde doctor` judges it. Everything is best effort: a fact that cannot be
 * found out is empty.
 */
#ifndef SONDE_CAPTURE_MACHINE_H
#define SONDE_CAPTURE_MACHINE_H

#include "base/json_out.h"
#include "capture/tool.h"

struct sonde_gpu {
	char name[96], driver[32], compute_capability[16], memory_mib[32], uuid[64], mig[16];
};

struct sonde_machine {
	struct sonde_gpu gpus[16];
	size_t nr_gpus;
	char gpu_error[256]; /* why no GPU was found, in nvidia-smi's words */
	struct sonde_tool ncu, nsys;
	char cupti[256];	/* path of the library; empty = not found */
	char kernel_module[64]; /* the driver's version as the kernel module reports it */
	char os[96], host[96];
	int is_restricted;   /* whether counters are for administrators only: 1, 0, or -1 = unknown */
	bool can_admin;	     /* CAP_SYS_ADMIN is effective */
	char container[32];  /* "docker", "podman", "kubernetes", …; empty = none seen */
	char profilers[256]; /* running tools that may hold the counters: "dcgm-exporter (812)" */
};

void sonde_machine_find(struct sonde_machine *out);
/* Writes a JSON object, for env.json and `sonde doctor`; `key` NULL at the top. */
void sonde_machine_json(const struct sonde_machine *f, struct sonde_json *w, const char *key);
/* The chip of the first GPU here ("GH100"); false when there is none or it is unknown. */
bool sonde_machine_chip(char *out, size_t size);

#endif
