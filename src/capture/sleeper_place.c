/*
 * Where a sleeper writes its capture. It writes as its own user, and sees its own file systems: a directory of
 * ours serves where both are ours too. Else it gets one below its own /tmp, which we reach by
 * /proc/PID/root, and its files are moved to us at the end.
 *
 * What is in there is the sleeper's: no link of its own leads us elsewhere, and only captures are taken.
 */
#include "base/file.h"
#include "capture/sleeper_int.h"
#include "format/attach.h"
#include "format/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COPY_BYTES (1u << 20)

/* Whether the sleeper finds our directory where we find it. */
static bool sees(const struct sonde_sleeper *s, const char *dir)
{
	char path[PATH_MAX + 64];
	struct stat mine, its;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)s->pid, dir);
	return stat(dir, &mine) == 0 && stat(path, &its) == 0 && mine.st_dev == its.st_dev && mine.st_ino == its.st_ino;
}

/* Opens a directory as the sleeper would: its links lead to places below its own root. */
static int open_inside(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Makes a directory of that name, which nobody but us may enter yet; -1 with errno. */
static int make_inside(int parent, const char *name)
{
	int fd = mkdirat(parent, name, 0700) == 0 ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid())) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

static int make_place(struct sonde_sleeper *s, struct sonde_err *err)
{
	static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm"};
	char path[64], name[64];
	int root, parent, error = ENOENT;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)s->pid);
	snprintf(name, sizeof(name), "sonde-attach-%d-%d", (int)s->pid, (int)getpid());
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	error = root < 0 ? errno : error;
	for (i = 0; root >= 0 && s->dir_fd < 0 && i < sizeof(places) / sizeof(*places); i++) {
		parent = open_inside(root, places[i] + 1);
		s->dir_fd = parent < 0 ? -1 : make_inside(parent, name);
		error = s->dir_fd < 0 ? errno : 0;
		if (parent >= 0)
			close(parent);
		snprintf(s->there, sizeof(s->there), "%s/%s", places[i], name);
	}
	if (root >= 0)
		close(root);
	if (s->dir_fd < 0)
		return sonde_err_set(err, SONDE_ERR_IO,
			"process %d has no place for its capture (%s): it sees another file system than you, and there is "
			"no /tmp, /var/tmp or /dev/shm in it that can be written to: mount one",
			(int)s->pid, strerror(error));
	snprintf(s->here, sizeof(s->here), "/proc/self/fd/%d", s->dir_fd);
	return 0;
}

int sonde_sleeper_place(struct sonde_sleeper *s, const char *dir, struct sonde_err *err)
{
	char whole[PATH_MAX];

	s->here[0] = '\0';
	if (!realpath(dir, whole))
		return sonde_err_io(err, dir, errno);
	if (s->uid != geteuid() || strlen(whole) >= sizeof(s->there) || !sees(s, whole))
		return make_place(s, err);
	memcpy(s->there, whole, strlen(whole) + 1);
	return 0;
}

bool sonde_sleeper__hand_over(const struct sonde_sleeper *s)
{
	static const char *const files[] = {"inject.conf", SONDE_ATTACH_NAME};
	struct stat st;
	char path[64];
	size_t i;

	if (s->dir_fd < 0 || s->uid == geteuid())
		return true;
	snprintf(path, sizeof(path), "/proc/%d", (int)s->pid);
	if (stat(path, &st) < 0)
		return false;
	for (i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (fchownat(s->dir_fd, files[i], s->uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
			return false;
	return fchown(s->dir_fd, s->uid, st.st_gid) == 0; /* last: nobody else was in it until now */
}

/* --- taking captures out ------------------------------------------------------------------------- */

static bool is_capture(const char *name)
{
	return name[0] >= '0' && name[0] <= '9' && strstr(name, SONDE_CAPTURE_SUFFIX) && !strchr(name, '/');
}

static bool copy_bytes(int from, int to)
{
	char *buf = malloc(COPY_BYTES);
	ssize_t n = buf ? 1 : -1, at, wrote = 0;

	while (n > 0 && (n = read(from, buf, COPY_BYTES)) > 0)
		for (at = 0; at < n; at += wrote) {
			wrote = write(to, buf + at, (size_t)(n - at));
			if (wrote <= 0) {
				free(buf);
				return false;
			}
		}
	free(buf);
	return n == 0;
}

/* Another container's process may have had the same number: then it gets a further one, as the library does. */
static int make_copy(int dir, const char *name)
{
	char other[NAME_MAX + 16];
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), i;

	for (i = 1; fd < 0 && errno == EEXIST && i < 1000; i++) {
		snprintf(other, sizeof(other), "%ld.%d" SONDE_CAPTURE_SUFFIX, strtol(name, NULL, 10), i);
		fd = openat(dir, other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	return fd;
}

static bool fetch_file(const struct sonde_sleeper *s, int dir, const char *name)
{
	int from = openat(s->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), to = -1;
	struct stat st;
	bool ok = from >= 0 && fstat(from, &st) == 0 && S_ISREG(st.st_mode);

	if (ok)
		to = make_copy(dir, name);
	ok = ok && to >= 0 && copy_bytes(from, to);
	if (to >= 0)
		ok = close(to) == 0 && ok;
	if (from >= 0)
		close(from);
	return ok;
}

/* Removes the place if it is empty: what else the sleeper put there is its own. */
static void remove_place(const struct sonde_sleeper *s)
{
	int parent = openat(s->dir_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *name = strrchr(s->there, '/') + 1;

	if (parent >= 0) {
		unlinkat(parent, name, AT_REMOVEDIR);
		close(parent);
	}
}

int sonde_sleeper_fetch(struct sonde_sleeper *s, const char *dir, struct sonde_err *err)
{
	int copy = -1, to = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;
	const struct dirent *e;
	DIR *d = NULL;

	if (s->dir_fd < 0) {
		if (to >= 0)
			close(to);
		return 0;
	}
	copy = to < 0 ? -1 : openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = copy < 0 ? NULL : fdopendir(copy);
	error = d ? 0 : errno;
	while (d && (e = readdir(d))) {
		if (is_capture(e->d_name) && !fetch_file(s, to, e->d_name))
			error = errno ? errno : EIO;
		else if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(s->dir_fd, e->d_name, 0);
	}
	if (d)
		closedir(d);
	if (to >= 0)
		close(to);
	if (error)
		return sonde_err_set(err, SONDE_ERR_IO,
			"the capture of process %d could not be fetched (%s): it is in %s, as that process sees it", (int)s->pid,
			strerror(error), s->there);
	remove_place(s);
	close(s->dir_fd);
	s->dir_fd = -1;
	return 0;
}
