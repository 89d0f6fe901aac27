#include "sample/samples_file.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "format/checksum.h"
#include "format/varint.h"
#include "sample/calibration.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CLOCK_EVERY_NS 1000000000u
#define IDLE_BYTES     65536	  /* a sample in which less device memory was read and written may be idle */
#define IDLE_LIMIT_NS  100000000u /* longest stretch of idle samples that becomes one sample */
#define ROW_BYTES      ((SONDE_COUNTER_LIMIT + 2) * SONDE_VARINT_MAX) /* largest size of a sample */

struct sonde_samples_file {
	const struct sonde_sampling *s;
	char path[4096];
	struct sonde_samples_rotation rotation;
	unsigned part;	    /* number of the present file, 0 = the first */
	uint64_t nr_bytes, began_ns; /* its size, and when it was made */
	int fd, error; /* error: errno of the first failure */
	uint32_t seq;
	uint64_t clock_ns;		      /* when the last CLOCK block was written */
	uint64_t defined_ns[SONDE_SET_LIMIT]; /* interval in the last COUNTERS block of each set; 0 = it has none yet */
	const struct sonde_counter_set *set;  /* the current set */
	int active, read, write;	      /* indices of its counters that show whether the device is idle, -1 = none */
	struct sonde_buf block;		      /* the next SAMPLES block, incomplete */
	struct sonde_samples_out out;	      /* writes to `block` */
	uint64_t idle_start_ns, idle_end_ns;  /* a stretch of idle samples that is not yet written; end 0 = none */
	double idle[SONDE_COUNTER_LIMIT];     /* the sums of that stretch */
	unsigned nr_others;
};

static void write_all(struct sonde_samples_file *f, const void *p, size_t n)
{
	const char *at = p;

	while (n && !f->error) {
		ssize_t done = write(f->fd, at, n);

		if (done > 0) {
			at += done;
			n -= (size_t)done;
			f->nr_bytes += (uint64_t)done;
		} else if (done == 0 || errno != EINTR) {
			f->error = done == 0 ? EIO : errno;
		}
	}
}

static void put_block(struct sonde_samples_file *f, unsigned type, const void *p, size_t n)
{
	struct sonde_block_head h = {.magic = SONDE_BLOCK_MAGIC,
		.type = (uint16_t)type,
		.nr_bytes = (uint32_t)n,
		.seq = f->seq++};
	struct sonde_buf b = {0};

	h.check = sonde_block_check(&h, n ? p : "");
	sonde_buf_add(&b, &h, sizeof(h));
	sonde_buf_add(&b, p, n);
	if (b.failed)
		f->error = ENOMEM;
	else
		write_all(f, b.p, b.n); /* in one piece, so that a kill leaves no half block */
	sonde_buf_release(&b);
}

/* Writes the GPU's clock and the host's at one moment, from the quickest of a few readings. */
static void put_clock(struct sonde_samples_file *f)
{
	struct sonde_clock best = {0}, c;
	uint64_t least = UINT64_MAX, before, after;
	int i;

	for (i = 0; i < 5; i++) {
		before = sonde_clock_ns(CLOCK_MONOTONIC);
		c.ticks = sonde_sampling_now(f->s);
		after = sonde_clock_ns(CLOCK_MONOTONIC);
		c.mono_ns = before + (after - before) / 2;
		c.real_ns = sonde_clock_ns(CLOCK_REALTIME);
		if (after - before < least) {
			least = after - before;
			best = c;
		}
	}
	f->clock_ns = best.mono_ns;
	put_block(f, SONDE_BLOCK_CLOCK, &best, sizeof(best));
}

static void put_status(struct sonde_samples_file *f)
{
	struct sonde_sampler_status status = sonde_sampling_facts(f->s)->status;

	status.nr_others = f->nr_others;
	put_block(f, SONDE_BLOCK_SAMPLER, &status, sizeof(status));
}

static void put_head(struct sonde_samples_file *f)
{
	struct sonde_capture_head h = {.magic = SONDE_CAPTURE_MAGIC,
		.version = SONDE_CAPTURE_VERSION,
		.nr_bytes = sizeof(h),
		.pid = (uint64_t)getpid(),
		.start_ns = sonde_clock_ns(CLOCK_REALTIME),
		.tick_hz = 1000000000u};
	const struct sonde_counter_set *set = sonde_sampling_set(f->s, 0);
	struct sonde_calibration c;
	char text[1024], uuid[sizeof(c.uuid)];
	struct utsname u = {0};
	int n;

	uname(&u);
	h.check = sonde_capture_check(&h);
	write_all(f, &h, sizeof(h));
	n = snprintf(text, sizeof(text),
		"kind=samples\ntool=sonde %s\nhost=%s\npid=%ld\nticks=gpu\nchip=%s\n",
		SONDE_VERSION, u.nodename, (long)getpid(), sonde_sampling_facts(f->s)->chip);
	snprintf(uuid, sizeof(uuid), "%.*s", SONDE_STR_ARG(set->uuid));
	if (f->part)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "part=%u\n", f->part);
	if (sonde_calibration_find(&c, uuid))
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			"offset_ns=%.0f\noffset_error_ns=%.0f\n", c.offset_ns, c.error_ns);
	f->seq = 0;
	put_block(f, SONDE_BLOCK_META, text, (size_t)n);
	put_clock(f);
	f->began_ns = f->clock_ns;
}

/* Makes the file number f->part. -1: errno says why not. */
static int open_part(const struct sonde_samples_file *f)
{
	char name[4096 + 16];
	int fd;

	snprintf(name, sizeof(name), f->part ? "%s.%u" : "%s", f->path, f->part);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB); /* tells readers that the file is still being written */
	return fd;
}

static bool is_full(const struct sonde_samples_file *f)
{
	return (f->rotation.bytes && f->nr_bytes >= f->rotation.bytes) ||
	       (f->rotation.ns && f->clock_ns - f->began_ns >= f->rotation.ns);
}

/*
 * Goes on in the next file. It has no COUNTERS blocks for known sets: the first file has them and stays. If the next
 * file cannot be made, this one goes on.
 */
static void begin_next(struct sonde_samples_file *f)
{
	int fd;

	f->part++;
	fd = open_part(f);
	if (fd < 0) {
		f->part--;
		f->rotation = (struct sonde_samples_rotation){0};
		return;
	}
	close(f->fd);
	f->fd = fd;
	f->nr_bytes = 0;
	put_head(f);
}

int sonde_samples_file_open(struct sonde_samples_file **out, const char *path,
	const struct sonde_sampling *s, struct sonde_samples_rotation rotation, struct sonde_err *err)
{
	struct sonde_samples_file *f = sonde_calloc(1, sizeof(*f));

	*out = NULL;
	if (!f)
		return sonde_err_nomem(err);
	f->s = s;
	f->rotation = rotation;
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->fd = open_part(f);
	if (f->fd < 0) {
		int rc = sonde_err_io(err, path, errno);

		sonde_free(f);
		return rc;
	}
	put_head(f);
	*out = f;
	return 0;
}

static int find_role(const struct sonde_counter_set *set, const char *role)
{
	uint32_t i;

	for (i = 0; i < set->nr; i++)
		if (sonde_str_is(set->at[i].role, role))
			return (int)i;
	return -1;
}

static void begin_set(struct sonde_samples_file *f, const struct sonde_counter_set *set)
{
	f->set = set;
	f->active = find_role(set, "sm.active_cycles");
	f->read = find_role(set, "dram.read_bytes");
	f->write = find_role(set, "dram.write_bytes");
}

/* Writes the COUNTERS block of the current set, before its first samples: its peaks are known by then. */
static void put_set(struct sonde_samples_file *f)
{
	struct sonde_buf b = {0};

	if (f->defined_ns[f->set->set] == f->set->interval_ns)
		return;
	f->defined_ns[f->set->set] = f->set->interval_ns;
	sonde_counters_put(&b, f->set);
	if (b.failed)
		f->error = ENOMEM;
	else
		put_block(f, SONDE_BLOCK_COUNTERS, b.p, b.n);
	sonde_buf_release(&b);
}

static bool is_idle(const struct sonde_samples_file *f, const double *row)
{
	return f->active >= 0 && f->read >= 0 && f->write >= 0 && row[f->active] <= 0 &&
	       row[f->read] + row[f->write] < IDLE_BYTES;
}

static void flush(struct sonde_samples_file *f)
{
	if (f->block.failed)
		f->error = ENOMEM;
	else if (f->block.n)
		put_block(f, SONDE_BLOCK_SAMPLES, f->block.p, f->block.n);
	sonde_buf_clear(&f->block);
}

static void put_row(struct sonde_samples_file *f, uint64_t start, uint64_t end, const double *row)
{
	if (f->block.n + ROW_BYTES > SONDE_BLOCK_LIMIT) /* readers treat a longer block as damaged */
		flush(f);
	if (!f->block.n)
		sonde_samples_begin(&f->out, &f->block, f->set, start);
	sonde_samples_put(&f->out, start, end, row);
}

static void end_idle(struct sonde_samples_file *f)
{
	if (f->idle_end_ns)
		put_row(f, f->idle_start_ns, f->idle_end_ns, f->idle);
	f->idle_end_ns = 0;
}

/* Adds the row to a stretch of idle samples; false when it is not idle. */
static bool add_idle(struct sonde_samples_file *f, uint64_t start, uint64_t end, const double *row)
{
	uint32_t i;

	if (!is_idle(f, row))
		return false;
	if (f->idle_end_ns != start || end - f->idle_start_ns > IDLE_LIMIT_NS) {
		end_idle(f);
		f->idle_start_ns = start;
		memset(f->idle, 0, sizeof(f->idle));
	}
	for (i = 0; i < f->set->nr; i++)
		f->idle[i] += row[i];
	f->idle_end_ns = end;
	return true;
}

void sonde_samples_file_take(struct sonde_samples_file *f, const struct sonde_sample_rows *rows)
{
	size_t i;

	if (f->set != rows->set) { /* a stretch of idle samples may go on from call to call, but not across two sets */
		if (f->set)
			end_idle(f);
		flush(f);
		begin_set(f, rows->set);
	}
	put_set(f);
	for (i = 0; i < rows->nr; i++) {
		const double *row = &rows->values[i * rows->set->nr];

		if (add_idle(f, rows->start_ns[i], rows->end_ns[i], row))
			continue;
		end_idle(f);
		put_row(f, rows->start_ns[i], rows->end_ns[i], row);
	}
	flush(f);
}

void sonde_samples_file_note(struct sonde_samples_file *f, const char *text)
{
	put_block(f, SONDE_BLOCK_NOTE, text, strlen(text));
}

void sonde_samples_file_see_others(struct sonde_samples_file *f, unsigned nr)
{
	if (nr > f->nr_others)
		f->nr_others = nr;
}

bool sonde_samples_file_tick(struct sonde_samples_file *f)
{
	if (sonde_now_ns() - f->clock_ns > CLOCK_EVERY_NS) {
		put_clock(f);
		put_status(f);
		if (is_full(f))
			begin_next(f);
	}
	return !f->error;
}

int sonde_samples_file_close(struct sonde_samples_file *f, struct sonde_err *err)
{
	int rc = 0;

	if (!f)
		return 0;
	if (f->set)
		end_idle(f);
	flush(f);
	put_clock(f);
	put_status(f);
	put_block(f, SONDE_BLOCK_END, NULL, 0);
	if (close(f->fd) < 0 && !f->error)
		f->error = errno;
	if (f->error)
		rc = sonde_err_system(err, f->error, "%s: samples could not be written", f->path);
	sonde_buf_release(&f->block);
	sonde_free(f);
	return rc;
}
