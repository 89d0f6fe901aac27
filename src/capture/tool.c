#include "capture/tool.h"

#include "capture/child.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 1024
#define MOST_MS	  600000 /* limit for reading a large report */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool find_in_path(char *path, const char *name)
{
	struct sonde_str rest = sonde_str_from(getenv("PATH"));

	while (rest.n) {
		struct sonde_str dir = sonde_str_cut(rest, ':', &rest);
		int n = snprintf(path, PATH_SIZE, "%.*s/%s", SONDE_STR_ARG(dir), name);

		if (dir.n && n > 0 && n < PATH_SIZE && is_program(path))
			return true;
	}
	return false;
}

/* Finds the newest of the versions that an installer left beside each other. */
static bool find_installed(char *path, const char *name)
{
	static const char *const places[] = {"/usr/local/cuda/bin/%s",
		"/opt/nvidia/nsight-compute/*/%s", "/opt/nvidia/nsight-systems/*/bin/%s",
		"/usr/local/cuda-*/bin/%s"};
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct sonde_str place = sonde_str_from(places[i]);
		char pattern[PATH_SIZE];
		glob_t found = {0};
		bool is_found = false;

		snprintf(pattern, sizeof(pattern), "%.*s%s", (int)(place.n - 2), place.p, name);
		if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc) {
			snprintf(path, PATH_SIZE, "%s", found.gl_pathv[found.gl_pathc - 1]);
			is_found = is_program(path);
		}
		globfree(&found);
		if (is_found)
			return true;
	}
	return false;
}

bool sonde_tool_find(char *path, const char *name)
{
	bool is_found;

	if (strchr(name, '/')) {
		is_found = snprintf(path, PATH_SIZE, "%s", name) < PATH_SIZE && is_program(path);
	} else {
		is_found = find_in_path(path, name) || find_installed(path, name);
	}
	if (!is_found)
		path[0] = '\0';
	return is_found;
}

int sonde_tool_refuse(const char *name, struct sonde_err *err)
{
	const char *here = strchr(name, '/') ? "" : "./";

	if (access(name, F_OK))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "%s: no such program%s: check its %s", name, *here ? " in PATH" : "",
			*here ? "name, or give its path" : "path");
	if (sonde_str_ends(sonde_str_from(name), ".py"))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "%s: not a program: name python3 in front of it: `python3 %s`", name, name);
	if (access(name, X_OK))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "%s: not executable: `chmod +x %s%s` makes it so", name, here, name);
	return sonde_err_set(err, SONDE_ERR_NOTFOUND, "%s: no such program%s: give its path%s%s", name, *here ? " in PATH" : "",
		*here ? ": ./" : "", *here ? name : "");
}

int sonde_tool_output(struct sonde_buf *out, int *status, char *const *argv, unsigned timeout_ms,
	struct sonde_err *err)
{
	int fd = memfd_create("sonde-tool", MFD_CLOEXEC);
	const struct sonde_child_spec spec = {
		.argv = argv, .is_helper = true, .out_fd = fd, .timeout_ms = timeout_ms};
	struct sonde_child_end end;
	int rc;

	if (fd < 0)
		return sonde_err_system(err, errno, "%s: cannot make a file for its output", argv[0]);
	rc = sonde_child_run(&end, &spec, err);
	if (rc == 0 && end.is_timed_out)
		rc = sonde_err_set(
			err, SONDE_ERR_IO, "%s: no answer within %u s: try it by hand", argv[0],
			timeout_ms / 1000);
	if (rc == 0 && end.is_interrupted)
		rc = sonde_err_set(err, SONDE_ERR_STOPPED, "interrupted");
	if (rc == 0) {
		*status = end.status;
		lseek(fd, 0, SEEK_SET);
		sonde_fd_slurp(out, fd);
		if (out->failed)
			rc = sonde_err_nomem(err);
	}
	close(fd);
	return rc;
}

int sonde_tool_text(struct sonde_buf *out, const struct sonde_argv *argv, struct sonde_err *err)
{
	size_t before = out->n;
	int status = 0, rc = argv->failed ? sonde_err_nomem(err)
					  : sonde_tool_output(out, &status, argv->words.at,
						    MOST_MS, err);

	if (rc || !status)
		return rc;
	return sonde_err_set(err, SONDE_ERR_IO, "%s ended with status %d: %.600s", argv->words.at[0],
		status, out->n > before ? out->p + before : "it printed nothing");
}

static bool is_version_char(char c)
{
	return (c >= '0' && c <= '9') || c == '.';
}

/* Takes the first thing that looks like 2025.3.1.0: digits with at least one dot in between. */
static void take_version(struct sonde_tool *t, struct sonde_str text)
{
	size_t i, n, end;

	for (i = 0; i < text.n; i += n + 1) {
		struct sonde_str rest = {text.p + i, text.n - i};
		const char *dot;

		for (n = 0; n < rest.n && is_version_char(rest.p[n]); n++)
			;
		for (end = n; end && rest.p[end - 1] == '.'; end--)
			; /* a dot at the end of a sentence */
		dot = end ? memchr(rest.p, '.', end) : NULL;
		if (!dot || dot == rest.p || end >= sizeof(t->version))
			continue; /* what does not fit is no version */
		snprintf(t->version, sizeof(t->version), "%.*s", (int)end, rest.p);
		t->major = (unsigned)strtoul(t->version, NULL, 10);
		return;
	}
}

int sonde_tool_open(struct sonde_tool *out, const char *name, struct sonde_err *err)
{
	struct sonde_buf text = {0};
	char option[] = "--version";
	char *argv[] = {out->path, option, NULL};
	struct sonde_str say, line;
	int status = 0, rc;

	*out = (struct sonde_tool){0};
	if (!sonde_tool_find(out->path, name))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "%s: not found%s", name,
			strchr(name, '/') ? "" : " in PATH nor where NVIDIA's installers put it");
	rc = sonde_tool_output(&text, &status, argv, 30000, err);
	say = sonde_buf_view(&text);
	while (rc == 0 && say.n && !out->version[0]) {
		line = sonde_str_cut(say, '\n', &say);
		if (!sonde_str_starts(sonde_str_trim(line), "Copyright"))
			take_version(out, line);
	}
	sonde_buf_release(&text);
	return rc;
}
