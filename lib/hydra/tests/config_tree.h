/* Functions that make and remove a folder of configs. The includer has included the headers that unit.h needs. */
#ifndef HYDRA_TESTS_CONFIG_TREE_H
#define HYDRA_TESTS_CONFIG_TREE_H

#include "base/file.h"

#include "unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* A folder of configs made for one test. */
struct tree {
	char dir[64];
};

static inline void setup_tree(struct tree *t)
{
	strncpy(t->dir, "/tmp/sonde-config-XXXXXX", sizeof(t->dir) - 1);
	assert_non_null(mkdtemp(t->dir));
}

static inline void put_bytes(struct tree *t, const char *name, const void *data, size_t n)
{
	char path[PATH_MAX], *slash;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(sonde_dir_make(path, NULL), 0);
	*slash = '/';
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	fclose(f);
}

static inline void put(struct tree *t, const char *name, const char *text)
{
	put_bytes(t, name, text, strlen(text));
}

static inline void remove_tree(struct tree *t)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", t->dir);
	assert_int_equal(system(command), 0);
}

#endif
