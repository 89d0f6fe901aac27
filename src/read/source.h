/*
 * Inside the reading room: a source, which is one format, and the helpers that all sources use to append to
 * the records.
 *
 * A source recognises its files by their first bytes, appends to the records, and later decodes the values
 * of the records it appended. docs/extending.md adds one.
 */
#ifndef SONDE_READ_SOURCE_H
#define SONDE_READ_SOURCE_H

#include "base/file.h"
#include "read/records.h"

struct sonde_stream;

struct sonde_source_ops {
	const char *name;   /* as reports have it in `capture.source` */
	size_t state_bytes; /* of `state`, which `values` needs; 0 = it needs none */
	bool reads_streams; /* compressed files come as `stream`, as they may be larger than memory */
	bool (*knows)(struct sonde_str data); /* whether these are the first bytes of such a file */
	/*
	 * Appends everything in `src->file` to `r`. On damage: what was read stays, `err` says
	 * where it stopped, and the code is SONDE_ERR_FORMAT; the caller decides what that means.
	 */
	int (*read)(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err);
	int (*values)(const struct sonde_source *src, const struct sonde_record *rec,
		struct sonde_values *v, struct sonde_err *err);
	void (*release)(struct sonde_source *src); /* what `state` owns beside the records' arena; may be NULL */
};

struct sonde_source {
	const struct sonde_source_ops *ops;
	struct sonde_mapping file;
	const char *path; /* in the records' arena */
	uint32_t input;
	struct sonde_stream *stream; /* while reading, instead of `file`: only where ops->reads_streams */
	void *state;		     /* the reader's own, all zero at first */
	struct sonde_arena work; /* of the reader, until it returns; short memory is an error as in the records' arena */
	bool says_cut;		     /* the reader has reported that the file ends too early */
};

/* Whether memory was short for the records or for the reader's work: 0, or SONDE_ERR_NOMEM with `err` filled in. */
static inline int sonde_source__status(
	const struct sonde_source *src, const struct sonde_records *r, struct sonde_err *err)
{
	return sonde_arena_status(r->arena.failed ? &r->arena : &src->work, err);
}

/*
 * Every source: `sonde_source_NAME` is defined in its folder. A file belongs to the first that knows it, so
 * those that look at the first bytes only come first, and those that search the text last.
 */
#define SONDE_SOURCES(X) \
	X(native)        \
	X(ncu_rep)       \
	X(nsys_sqlite)   \
	X(snapshot)      \
	X(hatchet)       \
	X(kineto)        \
	X(ncu_csv)

#define SONDE_DECLARE_SOURCE(name) extern const struct sonde_source_ops sonde_source_##name;
SONDE_SOURCES(SONDE_DECLARE_SOURCE)
#undef SONDE_DECLARE_SOURCE

/* Whether these are the first bytes of a report or comparison that sonde wrote: no capture. */
bool sonde_source__is_report(struct sonde_str data);
/*
 * The error that the bytes end, at `end`, inside `what` ("a row"), which begins at `at`. Nobody knows how
 * many bytes are missing. SONDE_ERR_FORMAT.
 */
int sonde_source__truncated(struct sonde_source *src, const char *what, uint64_t at, uint64_t end,
	struct sonde_err *err);

/* "PATH: 3 MANY", "PATH: 1 ONE"; nothing for 0. */
void sonde_source__note(const struct sonde_source *src, struct sonde_records *r, uint64_t nr,
	const char *one, const char *many);
void sonde_source__note_loss(const struct sonde_source *src, struct sonde_records *r, uint64_t nr,
	const char *one, const char *many);

/*
 * For readers of large mapped files, after `size` bytes at `at` were read: gives back the memory of
 * what is before, now and then.
 */
void sonde_source__passed(const struct sonde_source *src, uint64_t at, uint64_t size);

/*
 * How sources append to the records. Whatever memory is short for, the records' arena remembers it (base/vec.h):
 * a number is then SONDE_NONE, a set is the empty one, and nobody checks. A reader asks `sonde_source__status`
 * before it uses such a number as an index, and in loops as long as the file; the error is made when it returns.
 */
/* `text` must live as long as the records. */
uint32_t sonde_records__string(struct sonde_records *r, struct sonde_str text);
/* The same for text that does not live: a copy is kept where it is new. */
uint32_t sonde_records__copied(struct sonde_records *r, struct sonde_str text);
uint32_t sonde_records__metric(struct sonde_records *r, struct sonde_str name);
/* The numbers of what records have in common. More than there is room for in a record is short memory too. */
uint32_t sonde_records__caller(struct sonde_records *r, uint32_t process, uint64_t thread);
uint32_t sonde_records__queue(
	struct sonde_records *r, uint32_t device, uint32_t context, uint64_t stream);
uint32_t sonde_records__function(struct sonde_records *r, uint32_t name, uint32_t full_name);
/* A note where the profiler's own `ns` are a good part of the time between the records. */
void sonde_records__note_overhead(struct sonde_records *r, const char *path, uint64_t ns);
/* The process with this pid and input, appended when new. */
uint32_t sonde_records__process(struct sonde_records *r, uint32_t input, uint64_t pid,
	struct sonde_str host, struct sonde_str name);
/* The number of the process that was appended with this pid and input and no host; or SONDE_NONE. */
uint32_t sonde_records__find_process(const struct sonde_records *r, uint32_t input, uint64_t pid);
/* Makes a process rank number `rank` of `size` (texts of a launcher), unless the job has but one. */
void sonde_process__set_rank(
	struct sonde_process *p, struct sonde_str rank, struct sonde_str size);
/* Appends a device unless its process has one with that id. */
void sonde_records__device(struct sonde_records *r, const struct sonde_device *device);
/* Makes a set of `members` (as in struct sonde_set), reusing the last set when equal. */
uint32_t sonde_records__set(struct sonde_records *r, const uint32_t *members, size_t nr);
/* Appends a text value to `v`; false when memory is short. */
bool sonde_values__text(struct sonde_values *v, uint32_t metric, struct sonde_str text);

/* Leaves out impossible times, finds out what has times; ranges never closed end with their process. */
bool sonde_records__complete_times(struct sonde_records *r);
/* Puts samples on the axis of the records. */
void sonde_records__place_series(struct sonde_records *r);
/* Fills in what each process launched. */
void sonde_records__follow(struct sonde_records *r);

#endif
