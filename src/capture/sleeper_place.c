/*
 * Where a sleeper writes its capture. It writes as its own user and sees its own file systems: a directory of ours
 * serves if user and file system are also ours. Else the sleeper gets a directory below its own /tmp, which we reach by
 * /proc/PID/root, and its files are moved to us at the end.
 *
 * Everything in there belongs to the sleeper, and so may the file systems: its user can mount there what he likes, and
 * change links at any moment. So root does all of it as that user, who could have done it himself. No link and no mount
 * in the place is followed, only new files are made, and only captures are taken.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "capture/sleeper.h"
#include "format/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COPY_BYTES (1u << 20)

/* --- as the sleeper's user ----------------------------------------------------------------------- */

/* Our own identity, kept while this thread opens files as somebody else. */
struct myself {
	bool is_other; /* we act as the sleeper's user now */
	gid_t *groups;
	int nr_groups;
};

/* Ends be_sleeper. setfsuid took away root's rights to files; with our own user all of them return. errno stays. */
static void be_myself(struct myself *m)
{
	int was = errno;

	if (m->is_other) {
		setfsuid(geteuid());
		setfsgid(getegid());
		syscall(SYS_setgroups, m->nr_groups, m->groups);
	}
	sonde_free(m->groups);
	*m = (struct myself){0};
	errno = was;
}

/*
 * Acts as the sleeper's user until be_myself. False with errno: nothing has changed. setgroups is the kernel's call:
 * libc's function would change the groups of all threads.
 */
static bool be_sleeper(struct myself *m, const struct sonde_sleeper *s)
{
	const uid_t ask = (uid_t)-1; /* no user: the call changes nothing and returns the current one */

	*m = (struct myself){0};
	if (s->uid == geteuid())
		return true;
	m->nr_groups = getgroups(0, NULL);
	m->groups = sonde_calloc((size_t)m->nr_groups + 1, sizeof(*m->groups));
	if (!m->groups || getgroups(m->nr_groups, m->groups) != m->nr_groups || syscall(SYS_setgroups, 0, NULL) < 0) {
		be_myself(m);
		return false;
	}
	m->is_other = true;
	setfsgid(s->gid);
	setfsuid(s->uid);
	if ((uid_t)setfsuid(ask) == s->uid && (gid_t)setfsgid((gid_t)ask) == s->gid)
		return true;
	be_myself(m);
	errno = EPERM;
	return false;
}

/* --- the place ----------------------------------------------------------------------------------- */

/* Whether the sleeper finds our directory under the same path. */
static bool sees_directory(const struct sonde_sleeper *s, const char *dir)
{
	char path[PATH_MAX + 64];
	struct stat mine, its;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)s->pid, dir);
	return stat(dir, &mine) == 0 && stat(path, &its) == 0 && mine.st_dev == its.st_dev && mine.st_ino == its.st_ino;
}

/* Opens a directory as the sleeper would: links in the path lead to places below its own root. */
static int open_inside(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Opens an entry of a directory itself: fails if it is a link or a mount. */
static int open_beneath(int dir, const char *name, int flags)
{
	struct open_how how = {.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/* Makes a directory `name` that belongs to user `uid`; -1 with errno. */
static int make_inside(int parent, const char *name, uid_t uid)
{
	int fd, error;
	struct stat st;

	if (mkdirat(parent, name, 0700) < 0)
		return -1;
	fd = open_beneath(parent, name, O_RDONLY | O_DIRECTORY);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == uid)
		return fd;
	error = fd < 0 ? errno : EPERM;
	if (fd >= 0)
		close(fd);
	unlinkat(parent, name, AT_REMOVEDIR);
	errno = error;
	return -1;
}

/* Makes the place; call it as the sleeper's user. -1 with errno. */
static int make_below(struct sonde_sleeper *s, int root)
{
	static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm"};
	char name[64];
	int parent, fd = -1, error = ENOENT;
	size_t i;

	snprintf(name, sizeof(name), "sonde-attach-%d-%d", (int)s->pid, (int)getpid());
	for (i = 0; fd < 0 && i < sizeof(places) / sizeof(*places); i++) {
		parent = open_inside(root, places[i] + 1);
		fd = parent < 0 ? -1 : make_inside(parent, name, s->uid);
		error = fd < 0 ? errno : 0;
		if (parent >= 0)
			close(parent);
		snprintf(s->there, sizeof(s->there), "%s/%s", places[i], name);
	}
	errno = error;
	return fd;
}

static int make_place(struct sonde_sleeper *s, const struct sonde_native_request *q, struct sonde_err *err)
{
	struct myself m;
	char path[64];
	int root, error, rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)s->pid);
	/* before be_sleeper: that user may not look there if the program is not dumpable */
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0 && sonde_sleeper_is_gone(s)) { /* the number may belong to another process by now */
		close(root);
		root = -1;
		errno = ESRCH;
	}
	error = errno;
	if (root >= 0 && !be_sleeper(&m, s)) {
		error = errno;
		close(root);
		return sonde_err_set(err, SONDE_ERR_IO,
			"process %d belongs to another user, and sonde may not make its capture as that user (%s): in a container "
			"that needs the capabilities SETUID and SETGID",
			(int)s->pid, strerror(error));
	}
	if (root >= 0) {
		s->dir_fd = make_below(s, root);
		error = errno;
		if (s->dir_fd >= 0)
			rc = sonde_native_prepare_at(s->dir_fd, s->there, q, err);
		be_myself(&m);
		close(root);
	}
	if (s->dir_fd < 0)
		return sonde_err_set(err, SONDE_ERR_IO,
			"process %d has no place for its capture (%s): it sees another file system than you, and there is "
			"no /tmp, /var/tmp or /dev/shm in it that its user can write to: mount one",
			(int)s->pid, strerror(error));
	snprintf(s->here, sizeof(s->here), "/proc/self/fd/%d", s->dir_fd);
	return rc;
}

int sonde_sleeper_place(struct sonde_sleeper *s, const struct sonde_native_request *q, struct sonde_err *err)
{
	char whole[PATH_MAX];

	s->here[0] = '\0';
	if (!realpath(q->dir, whole))
		return sonde_err_io(err, q->dir, errno);
	if (s->uid != geteuid() || strlen(whole) >= sizeof(s->there) || !sees_directory(s, whole))
		return make_place(s, q, err);
	memcpy(s->there, whole, strlen(whole) + 1);
	return sonde_native_prepare(whole, q, err);
}

bool sonde_sleeper_fault(const struct sonde_sleeper *s, char *text, size_t size)
{
	struct myself m;
	bool has_fault;

	if (s->dir_fd < 0 || !be_sleeper(&m, s))
		return false;
	has_fault = sonde_native_fault(text, size, s->here, NULL);
	be_myself(&m);
	return has_fault;
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

/*
 * A process of another container may have had the same number: the copy then gets the next free name, as from the
 * library.
 */
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
	struct myself m;
	int from = -1, to = -1;
	struct stat st;
	bool ok;

	if (be_sleeper(&m, s)) {
		from = open_beneath(s->dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		be_myself(&m);
	}
	ok = from >= 0 && fstat(from, &st) == 0 && S_ISREG(st.st_mode);
	if (ok)
		to = make_copy(dir, name);
	ok = ok && to >= 0 && copy_bytes(from, to);
	if (to >= 0)
		ok = close(to) == 0 && ok;
	if (from >= 0)
		close(from);
	return ok;
}

static void remove_file(const struct sonde_sleeper *s, const char *name)
{
	struct myself m;

	if (!be_sleeper(&m, s))
		return;
	unlinkat(s->dir_fd, name, 0);
	be_myself(&m);
}

/* Removes the place if it is empty: anything else in it was put there by the sleeper and stays. */
static void remove_place(const struct sonde_sleeper *s)
{
	const char *name = strrchr(s->there, '/') + 1;
	struct myself m;
	int parent;

	if (!be_sleeper(&m, s))
		return;
	parent = openat(s->dir_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent >= 0) {
		unlinkat(parent, name, AT_REMOVEDIR);
		close(parent);
	}
	be_myself(&m);
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
			remove_file(s, e->d_name);
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
