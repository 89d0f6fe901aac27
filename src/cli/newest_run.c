#include "cli/newest_run.h"

#include "base/file.h"
#include "cli/messages.h"
#include "read/folder_in.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

int sonde_newest_run(const char **out, const char *command, struct sonde_arena *arena, struct sonde_err *err)
{
	struct sonde_folder f = {.dir = SONDE_RUNS};
	struct sonde_notes others = {0}; /* a user who named no run need not hear that there are more */

	*out = NULL;
	if (sonde_dir_exists(f.dir) && sonde_folder_expand(&f, arena, &others, NULL) == 0)
		*out = f.run;
	sonde_vec_release(&f.files);
	sonde_notes_release(&others);
	if (!*out)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"%s: no input, and no run in " SONDE_RUNS " to take instead: name a capture or a run "
			"directory%s, or make one with `sonde run -- COMMAND`",
			command, strcmp(command, "regions") == 0 ? ", or a program behind `--`" : "");
	sonde_say("the newest run: %s", *out);
	return 0;
}

int sonde_newest_page(const char **out, const char *command, struct sonde_arena *arena, struct sonde_err *err)
{
	char name[NAME_MAX + 1];
	ssize_t n = readlink(SONDE_RUNS "/latest", name, sizeof(name));

	/* The link leads to the run or comparison that was made last. */
	if (n <= 0 || (size_t)n >= sizeof(name) || access(SONDE_RUNS "/latest/diff.html", R_OK) != 0)
		return sonde_newest_run(out, command, arena, err);
	*out = sonde_arena_printf(arena, SONDE_RUNS "/%.*s", (int)n, name).p;
	if (!*out)
		return sonde_err_nomem(err);
	sonde_say("the newest comparison: %s", *out);
	return 0;
}
