#include "capture/proc.h"

#include "base/file.h"
#include "format/attach.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool slurp(struct sonde_buf *out, long pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, file);
	return sonde_file_slurp(out, path) && out->n;
}

bool sonde_proc_find(struct sonde_proc *out, long pid)
{
	struct sonde_buf text = {0};
	/* The name of a program may contain anything, even a bracket: the last bracket ends it. */
	const char *rest = slurp(&text, pid, "stat") ? strrchr(text.p, ')') : NULL;
	bool is_good = rest && sscanf(rest,
				       ") %c %ld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				       "%*s %*s %*s %*s %*s %*s %llu",
				       &out->state, &out->parent, &out->start) == 3;

	out->pid = pid;
	sonde_buf_release(&text);
	return is_good;
}

bool sonde_proc_variable(struct sonde_buf *out, long pid, const char *name)
{
	struct sonde_buf text = {0};
	struct sonde_str rest, value;
	bool has_it = false;

	slurp(&text, pid, "environ");
	rest = sonde_buf_view(&text);
	while (rest.n && !has_it) {
		has_it = sonde_str_is(
			sonde_str_cut(sonde_str_cut(rest, '\0', &rest), '=', &value), name);
		if (has_it)
			sonde_buf_str(out, value);
	}
	sonde_buf_release(&text);
	return has_it;
}

/* The process that a descriptor of `pid` watches (a pidfd); 0 when it is none. */
static long watched_by(long pid, const char *fd)
{
	static const char mark[] = "\nPid:\t";
	struct sonde_buf text = {0};
	char file[48];
	const char *at;
	long found = 0;

	snprintf(file, sizeof(file), "fdinfo/%.32s", fd);
	if (slurp(&text, pid, file) && (at = memmem(text.p, text.n, mark, sizeof(mark) - 1)))
		found = strtol(at + sizeof(mark) - 1, NULL, 10);
	sonde_buf_release(&text);
	return found > 0 ? found : 0;
}

long sonde_proc_program(long pid)
{
	struct sonde_buf name = {0};
	const struct dirent *e;
	char path[64];
	long found = 0;
	DIR *d = NULL;

	snprintf(path, sizeof(path), "/proc/%ld/fdinfo", pid);
	if (slurp(&name, pid, "comm") && sonde_str_is(sonde_str_trim(sonde_buf_view(&name)), SONDE_HELPER_TASK))
		d = opendir(path);
	/* The helper closes what it got from the program, and watches the program by a descriptor. */
	while (d && !found && (e = readdir(d)))
		found = watched_by(pid, e->d_name);
	if (d)
		closedir(d);
	sonde_buf_release(&name);
	return found ? found : pid;
}
