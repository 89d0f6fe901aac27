#include "lib/input.h"

#include "base/map.h"

#include <sys/stat.h>

int sonde_inputs_unite(
	struct sonde_word_list *paths, struct sonde_notes *notes, struct sonde_err *err)
{
	struct sonde_arena arena = {0};
	struct sonde_map seen = {0};
	size_t i, nr = 0;
	int rc = 0;

	for (i = 0; i < paths->nr && rc == 0; i++) {
		const char *path = paths->at[i];
		struct sonde_str key;
		struct stat st;
		bool is_new = true;

		if (stat(path, &st) == 0) { /* what is not there, reading will tell */
			key = sonde_arena_printf(&arena, "%llx:%llx", (unsigned long long)st.st_dev,
				(unsigned long long)st.st_ino);
			if (!key.p || sonde_map_add(&seen, key, &is_new) == SONDE_NONE)
				rc = sonde_err_nomem(err);
		}
		if (is_new)
			paths->at[nr++] = path;
		else
			sonde_note(notes, "%s was given more than once; it is read once", path);
	}
	paths->nr = nr;
	sonde_map_release(&seen);
	sonde_arena_release(&arena);
	return rc;
}
