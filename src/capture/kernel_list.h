/*
 * Kernel lists: the YAML that `sonde top` writes and `sonde kernels` reads.
 *
 *     kernels:
 *       - name: "void gemm<float>(float *, int)"
 *         regex: "^void gemm<float>\\(float \\*, int\\)$"
 *         description: "70.0 % of the time, 7 calls"
 */
#ifndef SONDE_CAPTURE_KERNEL_LIST_H
#define SONDE_CAPTURE_KERNEL_LIST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/sink.h"
#include "base/vec.h"

struct sonde_kernel_entry {
	const char *name, *regex, *description; /* description may be NULL */
};

struct sonde_kernel_list {
	SONDE_VEC(struct sonde_kernel_entry) kernels;
	struct sonde_arena arena;
};

/* SONDE_ERR_FORMAT, with the place in the file, for anything that is not such a file. */
int sonde_kernel_list_open(struct sonde_kernel_list *out, const char *path, struct sonde_err *err);
/* Appends a kernel; if `regex` is NULL, it is made from the name. False when out of memory. */
bool sonde_kernel_list_add(struct sonde_kernel_list *l, struct sonde_str name, const char *regex,
	const char *description);
void sonde_kernel_list_write(const struct sonde_kernel_list *l, struct sonde_sink *to);
void sonde_kernel_list_release(struct sonde_kernel_list *l);

/*
 * Reads the strings at `key` ("ncu_cli.sections") of a YAML file: a list, or one string. `*out` ends with NULL and is
 * in the arena.
 */
int sonde_yaml_strings(const char *const **out, const char *path, const char *key,
	struct sonde_arena *arena, struct sonde_err *err);

#endif
