#include "capture/local.h"

#include "base/file.h"
#include "base/md5.h"
#include "base/sink.h"
#include "capture/archive.h"
#include "capture/native_env.h"
#include "format/checksum.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define OWNER	".owner"
#define ARCHIVE "archive"
#define SUFFIX	".sonde.tar"

/* The contents of the file `archive`: how much of the node's archive is whole, and its name. */
struct archive_state {
	uint64_t end;
	char name[256];
};

static int fail_on_file(struct sonde_err *err, const char *path)
{
	return sonde_err_set(err, SONDE_ERR_IO, "%s: %s", path, strerror(errno));
}

/* Others may write to `place`, so a directory that somebody else made there is refused. */
static bool make_private(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) == 0)
		return true;
	if (errno != EEXIST || lstat(path, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO)))
		return true;
	errno = EPERM;
	return false;
}

/* The name of a rank's directory; "alone" in a run without ranks. */
static const char *name_of(const struct sonde_rundir *d)
{
	return d->suffix[0] ? d->suffix + 1 : "alone";
}

/*
 * Makes the directories and takes the rank's lock. Meanwhile the last rank of the node may remove the directories, or
 * may take this one for an orphan: then it tries again.
 */
static bool lock_rank_directory(struct sonde_local *l, const char *owner)
{
	struct stat st;
	unsigned i;

	for (i = 0; i < 100; i++) {
		if (!make_private(l->root) || (!make_private(l->dir) && errno != ENOENT))
			return false;
		l->owner = open(owner, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (l->owner >= 0 && flock(l->owner, LOCK_EX) == 0 &&
			fstat(l->owner, &st) == 0 && st.st_nlink && access(l->dir, F_OK) == 0)
			return true;
		if (l->owner >= 0)
			close(l->owner);
		else if (errno != ENOENT)
			return false;
		l->owner = -1;
	}
	return false;
}

int sonde_local_open(struct sonde_local *l, const char *place, const struct sonde_rundir *d,
	struct sonde_err *err)
{
	char whole[4096], owner[1200], run[33];

	*l = (struct sonde_local){.owner = -1};
	if (strlen(place) > sizeof(l->root) - 100)
		return sonde_err_set(err, SONDE_ERR_IO, "%.60s…: the path is too long: choose a shorter one", place);
	if (!realpath(d->path, whole))
		return fail_on_file(err, d->path);
	sonde_md5(run, sonde_str_from(whole));
	snprintf(l->root, sizeof(l->root), "%s/sonde-%u-%s", place, (unsigned)geteuid(), run);
	snprintf(l->dir, sizeof(l->dir), "%s/%s", l->root, name_of(d));
	snprintf(l->mark, sizeof(l->mark), "SONDE_LOCAL=%s", l->root);
	snprintf(owner, sizeof(owner), "%s" OWNER, l->dir);
	return lock_rank_directory(l, owner) ? 0 : fail_on_file(err, l->dir);
}

/* --- the archive ------------------------------------------------------------------------------ */

/*
 * Identifies who writes to an archive: this boot of this machine, and this place on it. The name of the node is not
 * enough: containers may share one.
 */
static void identify_writer(char out[128], const struct sonde_local *l)
{
	struct sonde_buf boot = {0};
	struct stat st = {0};
	char place[sizeof(l->root)];

	snprintf(place, sizeof(place), "%s", l->root);
	*strrchr(place, '/') = '\0';
	if (stat(*place ? place : "/", &st) < 0 ||
		!sonde_file_slurp(&boot, "/proc/sys/kernel/random/boot_id"))
		st.st_ino = 0;
	snprintf(out, 128, "%.36s %llu:%llu\n", boot.p ? boot.p : "",
		(unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	sonde_buf_release(&boot);
}

/* Begins a new archive. Its first member says who writes to it. */
static bool begin_archive(struct archive_state *s, int fd, const struct sonde_local *l, const char *who)
{
	struct sonde_archive a = {.fd = fd, .path = ""};
	struct sonde_err err = {0};
	char path[1200];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/node.txt", l->root);
	f = fopen(path, "we");
	ok = f && fputs(who, f) >= 0;
	ok = f && fclose(f) == 0 && ok && sonde_archive_add(&a, "node.txt", path, 0, &err) == 0;
	unlink(path);
	s->end = a.end;
	return ok;
}

/* Continues an archive that an earlier rank of this node has left whole. */
static bool resume_archive(struct archive_state *s, int fd, const char *who)
{
	static const char empty[1024];
	char found[128] = "", end[sizeof(empty)];
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size < 2048 || st.st_size % 512 ||
		pread(fd, found, strlen(who), 512) != (ssize_t)strlen(who) ||
		strcmp(found, who) != 0)
		return false;
	/* An archive without the two empty blocks at its end was cut, perhaps inside a capture. */
	if (pread(fd, end, sizeof(end), st.st_size - (off_t)sizeof(end)) != (ssize_t)sizeof(end) ||
		memcmp(end, empty, sizeof(end)) != 0)
		return false;
	s->end = (uint64_t)st.st_size - 1024;
	return true;
}

/* Opens NODE.sonde.tar, or NODE-2.sonde.tar and so on if another node of that name has it; -1 with errno. */
static int find_archive(struct archive_state *s, const struct sonde_local *l, const char *dir)
{
	char path[4096], who[128];
	struct utsname u;
	unsigned i;
	int fd;

	if (uname(&u) < 0)
		return -1;
	identify_writer(who, l);
	for (i = 1; i < 10000; i++) {
		snprintf(s->name, sizeof(s->name), "%.200s", u.nodename);
		if (i > 1)
			snprintf(s->name, sizeof(s->name), "%.200s-%u", u.nodename, i);
		strcat(s->name, SUFFIX);
		snprintf(path, sizeof(path), "%s/%s", dir, s->name);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 && begin_archive(s, fd, l, who))
			return fd;
		if (fd >= 0)
			unlink(path);
		else if (errno == EEXIST)
			fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		else
			return -1;
		if (fd >= 0 && resume_archive(s, fd, who))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	errno = EEXIST;
	return -1;
}

/*
 * Waits for the node's lock and takes it; -1 with errno. The last rank removes the lock file: then it tries again with
 * a new one.
 */
static int open_lock(const char *path)
{
	struct stat st;
	unsigned i;
	int fd;

	for (i = 0; i < 1000; i++) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 || (flock(fd, LOCK_EX) == 0 && fstat(fd, &st) == 0 && st.st_nlink))
			return fd;
		close(fd);
	}
	return -1;
}

/* Opens the node's archive and fills in `s`; -1 with errno. */
static int open_archive(struct archive_state *s, int lock, const struct sonde_local *l, const char *dir)
{
	char path[4096];

	*s = (struct archive_state){0};
	if (pread(lock, s, sizeof(*s), 0) != (ssize_t)sizeof(*s) || !memchr(s->name, 0, sizeof(s->name)))
		*s = (struct archive_state){0};
	if (!s->name[0])
		return find_archive(s, l, dir);
	snprintf(path, sizeof(path), "%s/%s", dir, s->name);
	return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

static bool is_kept(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (strcmp(dot, ".sonde") == 0 || strcmp(dot, ".txt") == 0);
}

/*
 * Number of the first file that continues the capture `path`: those files are appended to it; 0 = `path` is no capture.
 */
static uint32_t first_further(const char *path)
{
	struct sonde_mapping file = {0};
	bool is_capture = sonde_str_ends(sonde_str_from(path), SONDE_CAPTURE_SUFFIX);
	uint32_t further = 0;

	if (is_capture && sonde_mapping_open(&file, path, NULL) == 0)
		further = sonde_rolled_next(file.data.p, file.data.n);
	sonde_mapping_release(&file);
	return further ? further : is_capture;
}

static int add_rank(
	struct sonde_archive *a, const char *dir, const char *rank, struct sonde_err *err)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	int rc = 0;

	while (d && rc == 0 && (e = readdir(d))) {
		char from[2048], name[400];

		if (!is_kept(e->d_name))
			continue;
		snprintf(from, sizeof(from), "%s/%s", dir, e->d_name);
		snprintf(name, sizeof(name), "%s/%s", rank, e->d_name);
		rc = strlen(name) < 100
			     ? sonde_archive_add(a, name, from, first_further(from), err)
			     : sonde_err_set(err, SONDE_ERR_IO, 
				       "%s: the name is too long for an archive (100 bytes), so the files stay where they are", name);
	}
	if (d)
		closedir(d);
	return rc;
}

/* Adds all captures of a rank, or none of them. */
static int add_whole(struct archive_state *s, const char *path, int fd, const char *dir, const char *rank,
	struct sonde_err *err)
{
	struct sonde_archive a = {.fd = fd, .path = path, .end = s->end};
	int rc = add_rank(&a, dir, rank, err);

	if (rc == 0 && fsync(fd) < 0)
		rc = fail_on_file(err, path);
	if (rc == 0) {
		s->end = a.end;
		return 0;
	}
	sonde_archive_cut(&a, s->end);
	return rc;
}

static int copy_cubin(const char *from, const char *to, struct sonde_err *err)
{
	struct sonde_mapping file = {0};
	int rc;

	if (access(to, F_OK) == 0)
		return 0; /* another rank had the same cubin */
	rc = sonde_mapping_open(&file, from, err);
	if (rc == 0)
		rc = sonde_file_write(to, file.data, err);
	sonde_mapping_release(&file);
	return rc;
}

/* Copies the code of kernels beside the archive, where one copy serves all ranks. */
static int copy_cubins(const char *dir, const char *to, struct sonde_err *err)
{
	char path[2048], from[4096], target[4096];
	const struct dirent *e;
	DIR *d;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/" SONDE_CUBINS_FOLDER, dir);
	d = opendir(path);
	if (!d)
		return 0; /* no cubins */
	snprintf(target, sizeof(target), "%s/" SONDE_CUBINS_FOLDER, to);
	rc = sonde_dir_make(target, err);
	while (rc == 0 && (e = readdir(d))) {
		if (!sonde_str_ends(sonde_str_from(e->d_name), ".cubin"))
			continue;
		snprintf(from, sizeof(from), "%s/%s", path, e->d_name);
		snprintf(target, sizeof(target), "%.3500s/" SONDE_CUBINS_FOLDER "/%s", to, e->d_name);
		rc = copy_cubin(from, target, err);
	}
	closedir(d);
	return rc;
}

static int move_rank(const struct sonde_local *l, const struct sonde_rundir *d, const char *rank,
	struct sonde_err *err)
{
	char lock[1200], to[3200], dir[1200], path[4096];
	struct archive_state s = {0};
	int lock_fd, fd, rc;

	snprintf(lock, sizeof(lock), "%s/" ARCHIVE, l->root);
	snprintf(to, sizeof(to), "%s/native", d->path);
	snprintf(dir, sizeof(dir), "%s/%.60s", l->root, rank);
	rc = sonde_dir_make(to, err);
	if (rc == 0)
		rc = copy_cubins(dir, to, err);
	if (rc)
		return rc;
	lock_fd = open_lock(lock);
	fd = lock_fd < 0 ? -1 : open_archive(&s, lock_fd, l, to);
	snprintf(path, sizeof(path), "%s/%s", to, s.name);
	rc = fd < 0 ? fail_on_file(err, lock_fd < 0 ? lock : path) : add_whole(&s, path, fd, dir, rank, err);
	if (rc == 0 && pwrite(lock_fd, &s, sizeof(s), 0) != (ssize_t)sizeof(s))
		rc = fail_on_file(err, lock);
	if (fd >= 0)
		close(fd);
	if (lock_fd >= 0)
		close(lock_fd);
	return rc;
}

/* --- what is left ------------------------------------------------------------------------------ */

static void remove_files(const char *path)
{
	const struct dirent *e;
	DIR *d = opendir(path);

	while (d && (e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
}

static void remove_rank(const struct sonde_local *l, const char *rank)
{
	char path[2048];

	snprintf(path, sizeof(path), "%s/%.60s/" SONDE_CUBINS_FOLDER, l->root, rank);
	remove_files(path);
	snprintf(path, sizeof(path), "%s/%.60s", l->root, rank);
	remove_files(path);
	snprintf(path, sizeof(path), "%s/%.60s" OWNER, l->root, rank);
	unlink(path);
}

/* Moves the captures of a rank whose sonde has ended, once nobody writes to them. */
static void take_orphan(
	const struct sonde_local *l, const struct sonde_rundir *d, int root, const char *owner)
{
	char rank[64], dir[1200];
	struct sonde_err err = {0};
	int fd = openat(root, owner, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	snprintf(rank, sizeof(rank), "%.*s", (int)(strlen(owner) - strlen(OWNER)), owner);
	snprintf(dir, sizeof(dir), "%s/%s", l->root, rank);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && access(dir, F_OK) == 0 &&
		sonde_native_settle(dir, NULL) && move_rank(l, d, rank, &err) == 0)
		remove_rank(l, rank);
	if (fd >= 0)
		close(fd);
}

static void take_orphans(const struct sonde_local *l, const struct sonde_rundir *d)
{
	DIR *root = opendir(l->root);
	const struct dirent *e;

	while (root && (e = readdir(root))) {
		size_t n = strlen(e->d_name);

		if (n > strlen(OWNER) && n < 64 + strlen(OWNER) &&
			strcmp(e->d_name + n - strlen(OWNER), OWNER) == 0)
			take_orphan(l, d, dirfd(root), e->d_name);
	}
	if (root)
		closedir(root);
}

/* The last rank removes the directory. While another rank's files are in it, it stays. */
static void remove_root(const struct sonde_local *l)
{
	const struct dirent *e;
	char path[1200];
	bool is_last;
	int lock;
	DIR *d;

	snprintf(path, sizeof(path), "%s/" ARCHIVE, l->root);
	lock = open_lock(path);
	d = opendir(l->root);
	is_last = d != NULL;
	while (is_last && (e = readdir(d)))
		is_last = e->d_name[0] == '.' || strcmp(e->d_name, ARCHIVE) == 0;
	if (lock >= 0 && is_last && unlink(path) == 0) {
		for (rewinddir(d); (e = readdir(d));) /* the locks of samplers, whose names begin with a dot */
			unlinkat(dirfd(d), e->d_name, 0);
		rmdir(l->root);
	}
	if (d)
		closedir(d);
	if (lock >= 0)
		close(lock);
}

int sonde_local_return(struct sonde_local *l, const struct sonde_rundir *d, struct sonde_err *err)
{
	int rc = move_rank(l, d, name_of(d), err);

	if (rc == 0)
		remove_rank(l, name_of(d));
	close(l->owner);
	l->owner = -1;
	if (rc == 0) {
		take_orphans(l, d);
		remove_root(l);
	}
	return rc;
}
