/*
 * Whose folder of configs it is. A configuration can have programs run, so one that others may
 * write to is theirs as much as ours.
 */
#include "config/config_int.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ENTRIES 10000

/* False with the reason when others own it or may write to it. */
static bool is_own(const struct stat *st, const char *path, char *why, size_t size)
{
	if (st->st_uid != geteuid())
		snprintf(why, size, "%s belongs to somebody else", path);
	else if (st->st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, size, "others may write to %s", path);
	else
		return true;
	return false;
}

bool sonde_config__is_still_own(const struct stat *st, const char *path, char *why, size_t size)
{
	char now[PATH_MAX + 64];

	if (is_own(st, path, now, sizeof(now)))
		return true;
	snprintf(why, size, "./conf was changed while it was read: %s; " SONDE_CONFIG_MEND, now);
	return false;
}

/* False with the reason for what cannot be trusted. */
static bool is_safe_entry(const FTSENT *e, char *why, size_t size)
{
	if (e->fts_info == FTS_NS || e->fts_info == FTS_DNR || e->fts_info == FTS_ERR) {
		snprintf(why, size, "%s: %s", e->fts_path, strerror(e->fts_errno));
		return false;
	}
	if (e->fts_info == FTS_DP || e->fts_info == FTS_SLNONE)
		return true; /* seen before; a link to nothing */
	return is_own(e->fts_statp, e->fts_path, why, size);
}

bool sonde_config__is_safe(const char *dir, char *why, size_t size)
{
	char copy[PATH_MAX], *paths[] = {copy, NULL};
	bool is_safe = true;
	unsigned nr = 0;
	FTSENT *e;
	FTS *walk;

	snprintf(copy, sizeof(copy), "%s", dir);
	/* Logical: a link is what it leads to, as it is for whoever opens it. */
	walk = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	if (!walk) {
		snprintf(why, size, "%s: %s", dir, strerror(errno));
		return false;
	}
	while (is_safe && (e = fts_read(walk))) {
		is_safe = is_safe_entry(e, why, size);
		if (is_safe && ++nr > MAX_ENTRIES) {
			snprintf(why, size, "%s has more than %d files", dir, MAX_ENTRIES);
			is_safe = false;
		}
	}
	fts_close(walk);
	return is_safe;
}
