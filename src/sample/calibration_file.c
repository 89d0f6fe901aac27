/* Calibrations on disk: a few `key=value` lines for each GPU, in the user's cache directory. */
#include "base/file.h"
#include "sample/calibration.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_OFFSET_NS 20000 /* what is beyond is no offset */

static bool name_directory(struct sonde_buf *out)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && cache[0] == '/')
		sonde_buf_printf(out, "%s/sonde", cache);
	else if (home && home[0] == '/')
		sonde_buf_printf(out, "%s/.cache/sonde", home);
	return out->n && !out->failed;
}

bool sonde_calibration_path(struct sonde_buf *out, const char *uuid)
{
	if (!uuid[0] || strchr(uuid, '/') || !name_directory(out))
		return false;
	sonde_buf_printf(out, "/clock-%s", uuid);
	return !out->failed;
}

/* `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  …` */
void sonde_calibration_name_driver(char *out, size_t size)
{
	struct sonde_buf text = {0};
	struct sonde_str rest, word;

	out[0] = '\0';
	if (sonde_file_slurp(&text, "/proc/driver/nvidia/version")) {
		rest = sonde_str_cut(sonde_buf_view(&text), '\n', &word);
		while (rest.n && !out[0]) {
			word = sonde_str_cut(rest, ' ', &rest);
			if (word.n > 2 && word.p[0] >= '0' && word.p[0] <= '9' &&
				sonde_str_find(word, '.') < word.n)
				snprintf(out, size, "%.*s", SONDE_STR_ARG(word));
		}
	}
	sonde_buf_release(&text);
}

static int write_file(const char *path, struct sonde_str text, struct sonde_err *err)
{
	struct sonde_buf fresh = {0};
	int fd, rc = 0;

	sonde_buf_printf(&fresh, "%s.%ld", path, (long)getpid());
	fd = fresh.failed ? -1 : open(fresh.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n || close(fd) < 0 ||
		rename(fresh.p, path) < 0)
		rc = sonde_err_system(err, errno, "%s: the calibration cannot be kept", path);
	sonde_buf_release(&fresh);
	return rc;
}

int sonde_calibration_keep(const struct sonde_calibration *c, struct sonde_err *err)
{
	struct sonde_buf dir = {0}, path = {0}, text = {0};
	int rc;

	if (!name_directory(&dir) || !sonde_calibration_path(&path, c->uuid))
		rc = sonde_err_set(err, SONDE_ERR_IO,
			"there is no place to keep the calibration: set HOME or XDG_CACHE_HOME");
	else
		rc = sonde_dir_make(dir.p, err);
	sonde_buf_printf(&text, "driver=%s\noffset_ns=%.1f\nerror_ns=%.1f\n", c->driver,
		c->offset_ns, c->error_ns);
	if (rc == 0)
		rc = text.failed ? sonde_err_nomem(err) : write_file(path.p, sonde_buf_view(&text), err);
	sonde_buf_release(&dir);
	sonde_buf_release(&path);
	sonde_buf_release(&text);
	return rc;
}

/* Every line counts: a file that was cut or is of something else is none. */
static bool read_lines(struct sonde_calibration *c, struct sonde_str rest)
{
	int nr = 0;

	while (rest.n) {
		struct sonde_str line = sonde_str_cut(rest, '\n', &rest), value;
		struct sonde_str key = sonde_str_cut(line, '=', &value);
		char text[32];

		if (value.n >= sizeof(text))
			return false;
		snprintf(text, sizeof(text), "%.*s", SONDE_STR_ARG(value));
		nr++;
		if (sonde_str_is(key, "driver"))
			memcpy(c->driver, text, sizeof(text));
		else if (sonde_str_is(key, "offset_ns"))
			c->offset_ns = strtod(text, NULL);
		else if (sonde_str_is(key, "error_ns"))
			c->error_ns = strtod(text, NULL);
		else
			nr = 100;
	}
	return nr == 3 && fabs(c->offset_ns) <= MOST_OFFSET_NS && c->error_ns > 0 &&
	       c->error_ns <= MOST_OFFSET_NS;
}

bool sonde_calibration_find(struct sonde_calibration *out, const char *uuid)
{
	struct sonde_buf path = {0}, text = {0};
	char driver[sizeof(out->driver)];
	bool is_good;

	memset(out, 0, sizeof(*out));
	sonde_calibration_name_driver(driver, sizeof(driver));
	is_good = sonde_calibration_path(&path, uuid) && sonde_file_slurp(&text, path.p) &&
		  read_lines(out, sonde_buf_view(&text)) && strcmp(out->driver, driver) == 0;
	snprintf(out->uuid, sizeof(out->uuid), "%s", uuid);
	sonde_buf_release(&path);
	sonde_buf_release(&text);
	return is_good;
}
