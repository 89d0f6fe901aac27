#include "capture/proc.h"

#include "base/file.h"

#include <stdio.h>
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
