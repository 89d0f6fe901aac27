/*
 * Inside the reading room: a source, which reads one format, and the helpers with which all sources append to
 * the records.
 *
 * A source recognises its files by their first bytes, appends to the records, and later decodes the values
 * of the records it appended. docs/extending.md shows how to add one.
 */
#ifndef SONDE_READ_SOURCE_H
#define SONDE_READ_SOURCE_H

#include "base/file.h"
#include "read/records.h"

struct sonde_stream;

struct sonde_source_ops {
	const char *name;   /* name in reports (`capture.source`) */
	size_t state_bytes; /* size of `state`, which `values` needs; 0 = it needs none */
	bool reads_streams; /* compressed files are given as `stream`, because they may be larger than memory */
	bool (*knows)(struct sonde_str data); /* whether these are the first bytes of a file of this source */
	/*
	 * Appends everything in `src->file` to `r`. On damage: what was read stays, `err` says
	 * where it stopped, and the code is SONDE_ERR_FORMAT; the caller decides what that means.
	 */
	int (*read)(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err);
	int (*values)(const struct sonde_source *src, const struct sonde_record *rec,
		struct sonde_values *v, struct sonde_err *err);
	void (*release)(struct sonde_source *src); /* frees what `state` owns outside the records' arena; may be NULL */
};

struct sonde_source {
	const struct sonde_source_ops *ops;
	struct sonde_mapping file;
	const char *path; /* in the records' arena */
	uint32_t input;
	struct sonde_stream *stream; /* instead of `file`, only while reading, and only with ops->reads_streams */
	void *state;		     /* private to the reader, all zero at first */
	struct sonde_arena work; /* the reader's working memory, freed when it returns; lack of memory is an error as in the records' arena */
	bool says_cut;		     /* the reader has reported that the file ends too early */
};

/* Whether memory ran out for the records or for the reader's work: returns 0, or SONDE_ERR_NOMEM with `err` filled in. */
static inline int sonde_source__status(
	const struct sonde_source *src, const struct sonde_records *r, struct sonde_err *err)
{
	return sonde_arena_status(r->arena.failed ? &r->arena : &src->work, err);
}

/*
 * All sources: `sonde_source_NAME` is defined in its folder. A file belongs to the first source that knows it, so
 * sources that look only at the first bytes come first, and those that search the text come last.
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
 * Makes the error for bytes that end, at `end`, inside `what` ("a row"), which begins at `at`. It cannot say how
 * many bytes are missing. Returns SONDE_ERR_FORMAT.
 */
int sonde_source__truncated(struct sonde_source *src, const char *what, uint64_t at, uint64_t end,
	struct sonde_err *err);

/* Adds a note: "PATH: 3 MANY" or "PATH: 1 ONE"; nothing for 0. */
void sonde_source__note(const struct sonde_source *src, struct sonde_records *r, uint64_t nr,
	const char *one, const char *many);
void sonde_source__note_loss(const struct sonde_source *src, struct sonde_records *r, uint64_t nr,
	const char *one, const char *many);

/*
 * For readers of large mapped files: call it after reading `size` bytes at `at`. From time to time it gives back the
 * memory of everything before them.
 */
void sonde_source__passed(const struct sonde_source *src, uint64_t at, uint64_t size);

/*
 * How sources append to the records. When memory runs out, the records' arena remembers it (base/vec.h): a number
 * returned is then SONDE_NONE, a set is the empty one, and callers need not check. A reader asks
 * `sonde_source__status` before it uses such a number as an index, and in loops that are as long as the file; it
 * returns the error at its end.
 */
/* `text` must live as long as the records. */
uint32_t sonde_records__string(struct sonde_records *r, struct sonde_str text);
/* The same for text that does not live as long: a copy is made if the text is new. */
uint32_t sonde_records__copied(struct sonde_records *r, struct sonde_str text);
uint32_t sonde_records__metric(struct sonde_records *r, struct sonde_str name);
/* The numbers of what records have in common. More than a record has bits for counts as lack of memory. */
uint32_t sonde_records__caller(struct sonde_records *r, uint32_t process, uint64_t thread);
uint32_t sonde_records__queue(
	struct sonde_records *r, uint32_t device, uint32_t context, uint64_t stream);
uint32_t sonde_records__function(struct sonde_records *r, uint32_t name, uint32_t full_name);
/* Adds a note if `ns`, the profiler's own time, is a large part of the time from the first record to the last. */
void sonde_records__note_overhead(struct sonde_records *r, const char *path, uint64_t ns);
/* The process with this pid and input, appended when new. */
uint32_t sonde_records__process(struct sonde_records *r, uint32_t input, uint64_t pid,
	struct sonde_str host, struct sonde_str name);
/* The number of the process that was appended with this pid and input and without a host; or SONDE_NONE. */
uint32_t sonde_records__find_process(const struct sonde_records *r, uint32_t input, uint64_t pid);
/* Makes a process rank number `rank` of `size` (texts of a launcher), unless the job has only one rank. */
void sonde_process__set_rank(
	struct sonde_process *p, struct sonde_str rank, struct sonde_str size);
/* Appends a device unless its process has one with that id. */
void sonde_records__device(struct sonde_records *r, const struct sonde_device *device);
/* Makes a set of `members` (as in struct sonde_set), reusing the last set when equal. */
uint32_t sonde_records__set(struct sonde_records *r, const uint32_t *members, size_t nr);
/* Appends a text value to `v`; false when memory is short. */
bool sonde_values__text(struct sonde_values *v, uint32_t metric, struct sonde_str text);

/* Leaves out impossible times, finds out whether there are times, and ends ranges that were never closed with their process. */
bool sonde_records__complete_times(struct sonde_records *r);
/* Moves the times of samples to the axis of the records. */
void sonde_records__place_series(struct sonde_records *r);
/* Fills in the number and hash of each process's launches, and the time in which it ran. */
void sonde_records__follow(struct sonde_records *r);

#endif
