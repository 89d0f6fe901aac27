/* Files are recognised by their first bytes, never by their names, which people change. */
#include "read/unpack.h"

#include "base/alloc.h"
#include "read/folder_in.h"
#include "read/source.h"
#include "read/tar.h"

#include <string.h>
#include <sys/stat.h>

#define REPORT_HEAD 256 /* bytes in which a report says what it is */
#define RECOGNISED_BY (2u << 20) /* bytes: ncu's table may come after a MiB of the program's own output */
#define MAX_LAYERS  4 /* a gzip file in an archive in a gzip file, and one more */

#define SOURCE(name) &sonde_source_##name,
static const struct sonde_source_ops *const sources[] = {SONDE_SOURCES(SOURCE)};
#undef SOURCE

static const struct sonde_source_ops *recognise(struct sonde_str data)
{
	size_t i;

	for (i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (sources[i]->knows(data))
			return sources[i];
	return NULL;
}

bool sonde_source__is_report(struct sonde_str data)
{
	size_t n = data.n < REPORT_HEAD ? data.n : REPORT_HEAD;

	return n && (memmem(data.p, n, "\"sonde.report/", 14) || memmem(data.p, n, "\"sonde.diff/", 12) ||
		     memmem(data.p, n, "\"sonde.region", 13));
}

/* The error for a file that is not a capture. It names the formats that people mistake for captures. */
static int refuse_file(const char *path, struct sonde_str data, struct sonde_err *err)
{
	struct sonde_str name = sonde_str_from(path);

	if (sonde_source__is_report(data))
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: a report or comparison that sonde wrote, not a capture: sonde diff compares "
			"reports, sonde validate checks them",
			path);
	if (sonde_str_ends(name, ".nsys-rep") || sonde_str_ends(name, ".qdrep"))
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: Nsight Systems reads its reports itself; export it and report on that: nsys "
			"export --type sqlite -o trace.sqlite %s (with --export, sonde report does it)",
			path, path);
	return sonde_err_at(err, SONDE_ERR_FORMAT, path, 0,
		"not a capture sonde can read: it reads native captures, Nsight Compute reports, the "
		"output of 'ncu --csv --page raw', Nsight Systems SQLite exports, torch.profiler "
		"traces, Proton profiles and memory snapshots of PyTorch");
}

int sonde_source__truncated(struct sonde_source *src, const char *what, uint64_t at, uint64_t end,
	struct sonde_err *err)
{
	src->says_cut = true;
	sonde_err_set(err, SONDE_ERR_FORMAT,
		"%s: truncated after %llu bytes, inside %s that begins at byte %llu; how much is missing "
		"is not known; copy it again",
		src->path, (unsigned long long)end, what, (unsigned long long)at);
	if (err)
		err->pos = at;
	return SONDE_ERR_FORMAT;
}

void sonde_source__note(const struct sonde_source *src, struct sonde_records *r, uint64_t nr,
	const char *one, const char *many)
{
	if (nr)
		sonde_note(&r->notes, "%s: %llu %s", src->path, (unsigned long long)nr,
			nr == 1 ? one : many);
}

void sonde_source__note_loss(const struct sonde_source *src, struct sonde_records *r, uint64_t nr,
	const char *one, const char *many)
{
	if (nr)
		sonde_note_loss(&r->notes, "%s: %llu %s", src->path, (unsigned long long)nr,
			nr == 1 ? one : many);
}

static struct sonde_source *add_source(struct sonde_records *r, const char *path)
{
	struct sonde_source *src = sonde_arena_calloc(&r->arena, 1, sizeof(*src));
	struct sonde_input *in = sonde_push(&r->arena, &r->inputs);

	in->path = sonde_arena_dup(&r->arena, sonde_str_from(path));
	if (r->arena.failed)
		return NULL;
	src->path = in->path.p;
	src->input = (uint32_t)(r->inputs.nr - 1);
	sonde_put(&r->arena, &r->sources, src);
	return r->arena.failed ? NULL : src;
}

/* Reads `src`, whose bytes are at hand. If something was read before damage, the damage is only a note. */
static int read_source(struct sonde_records *r, struct sonde_source *src, struct sonde_err *err)
{
	size_t records = r->records.nr, ranges = r->ranges.nr;
	int rc;

	r->inputs.at[src->input].source = sonde_str_from(src->ops->name);
	if (src->ops->state_bytes)
		src->state = sonde_arena_calloc(&r->arena, 1, src->ops->state_bytes);
	rc = r->arena.failed ? 0 : src->ops->read(src, r, err);
	r->arena.failed |= src->work.failed;
	sonde_arena_release(&src->work);
	if (r->arena.failed)
		return sonde_err_nomem(err);
	if (rc != SONDE_ERR_FORMAT || (r->records.nr == records && r->ranges.nr == ranges))
		return rc;
	if (r->records.nr > records)
		sonde_note_loss(&r->notes, "%s; the %zu results before it are reported", err->msg,
			r->records.nr - records);
	else
		sonde_note_loss(&r->notes, "%s; the %zu ranges before it are reported, without GPU work", err->msg,
			r->ranges.nr - ranges);
	return 0;
}

/* --- compressed files and archives ------------------------------------------------------------ */

/* Reads a source that needs all of its bytes in memory. */
static int read_inflated(struct sonde_records *r, const char *path, struct sonde_stream *stream,
	struct sonde_err *err)
{
	struct sonde_source *src = add_source(r, path);
	struct sonde_buf *text, why = {0};
	int rc;

	if (!src)
		return sonde_err_nomem(err);
	text = &src->file.inflated;
	/* The beginning decides what it is, before everything is unpacked, which may be gigabytes. */
	while (sonde_stream_some(stream, text, RECOGNISED_BY))
		;
	src->ops = text->n ? recognise(sonde_buf_view(text)) : NULL;
	rc = src->ops || text->failed ? sonde_stream_all(stream, text, path, err) : 0;
	if (rc)
		return rc;
	src->file.data = sonde_buf_view(text);
	rc = src->ops ? read_source(r, src, err) : refuse_file(path, src->file.data, err);
	if (src->says_cut || !sonde_stream_damage(stream, &why).p)
		;
	else if (rc == SONDE_ERR_FORMAT)
		rc = sonde_err_set(err, rc, "%s: %s", path, why.p);
	else if (rc == 0)
		sonde_note_loss(&r->notes, "%s: %s", path, why.p);
	sonde_buf_release(&why);
	return rc;
}

static int read_streamed(struct sonde_records *r, const char *path, struct sonde_stream *stream,
	const struct sonde_source_ops *ops, struct sonde_err *err)
{
	struct sonde_source *src = add_source(r, path);
	int rc;

	if (!src)
		return sonde_err_nomem(err);
	src->ops = ops;
	src->stream = stream;
	rc = read_source(r, src, err);
	src->stream = NULL;
	return rc;
}

static int read_stream(struct sonde_records *r, const char *path, struct sonde_stream *stream,
	unsigned layers, struct sonde_err *err);

/* Notes the parts of an archive that are missing. An archive without any capture is an error that gives the first reason. */
static int note_losses(struct sonde_records *r, const char *path, struct sonde_tar *tar,
	size_t nr_read, struct sonde_err *err)
{
	struct sonde_notes lost = {0};
	struct sonde_buf why = {0};
	size_t i;
	int rc = 0;

	if (sonde_stream_damage(tar->from, &why).p) {
		sonde_note_loss(&lost, "%s", why.p);
		tar->is_cut = false; /* damage of the stream explains the cut */
	}
	sonde_tar_losses(tar, &lost);
	for (i = 0; i < lost.texts.nr; i++)
		(sonde_notes_is_loss(&lost, i) ? sonde_note_loss : sonde_note)(
			&r->notes, "%s: %.*s", path, SONDE_STR_ARG(lost.texts.keys[i]));
	if (!nr_read && lost.texts.nr)
		rc = sonde_err_set(err, SONDE_ERR_FORMAT, "%s: an archive without captures: %.*s", path,
			SONDE_STR_ARG(lost.texts.keys[0]));
	else if (!nr_read)
		rc = sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: an archive without captures; `tar t` lists what is in it", path);
	sonde_notes_release(&lost);
	sonde_buf_release(&why);
	return rc;
}

/* Reads the captures of an archive; other files in it are skipped. */
static int read_archive(struct sonde_records *r, const char *path, struct sonde_stream *stream,
	unsigned layers, struct sonde_err *err)
{
	struct sonde_tar tar;
	struct sonde_buf name = {0};
	size_t nr_read = 0;
	int rc = 0;

	sonde_tar_init(&tar, stream);
	while (rc == 0 && sonde_tar_next(&tar)) {
		struct sonde_str head = sonde_stream_peek(&tar.member);

		sonde_buf_clear(&name);
		sonde_buf_printf(&name, "%s/%s", path, tar.name.p ? tar.name.p : "");
		if (name.failed || !head.p)
			rc = sonde_err_nomem(err);
		else if (recognise(head) || sonde_is_gzip(head) || sonde_is_tar(head))
			rc = read_stream(r, name.p, &tar.member, layers + 1, err);
		else
			continue;
		nr_read += rc == 0;
		if (rc == SONDE_ERR_FORMAT) {
			sonde_note_loss(&r->notes, "%s; it is left out", err->msg);
			rc = 0;
		}
	}
	if (rc == 0)
		rc = note_losses(r, path, &tar, nr_read, err);
	sonde_tar_release(&tar);
	sonde_buf_release(&name);
	return rc;
}

static int read_stream(struct sonde_records *r, const char *path, struct sonde_stream *stream,
	unsigned layers, struct sonde_err *err)
{
	struct sonde_str head = sonde_stream_peek(stream);
	const struct sonde_source_ops *ops;
	struct sonde_stream inside;
	int rc;

	if (!head.p)
		return sonde_err_nomem(err);
	if (layers > MAX_LAYERS)
		return sonde_err_set(err, SONDE_ERR_FORMAT, 
			"%s: packed more than %d times: unpack it first", path, MAX_LAYERS);
	if (sonde_is_tar(head))
		return read_archive(r, path, stream, layers, err);
	if (!sonde_is_gzip(head)) {
		ops = recognise(head);
		return ops && ops->reads_streams ? read_streamed(r, path, stream, ops, err)
						 : read_inflated(r, path, stream, err);
	}
	rc = sonde_stream_from_gzip(&inside, stream, err);
	if (rc == 0)
		rc = read_stream(r, path, &inside, layers + 1, err);
	sonde_stream_release(&inside);
	return rc;
}

static int read_packed(
	struct sonde_records *r, const char *path, struct sonde_mapping *file, struct sonde_err *err)
{
	struct sonde_stream stream;
	int rc;

	sonde_stream_from_slice(&stream, file->data);
	rc = read_stream(r, path, &stream, 0, err);
	sonde_stream_release(&stream);
	sonde_mapping_release(file);
	return rc;
}

bool sonde_is_trace(const char *path)
{
	static const char *const keys[] = {"\"traceEvents\"", "\"deviceProperties\"",
		"\"baseTimeNanoseconds\"", "\"distributedInfo\"", "\"ph\"", "\"frame\""};
	struct sonde_buf head = {0};
	bool is = false;
	size_t i;

	if (sonde_file_head(&head, path))
		for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			is |= memmem(head.p, head.n, keys[i], strlen(keys[i])) != NULL;
	sonde_buf_release(&head);
	return is;
}

/* --- files and directories -------------------------------------------------------------------- */

static int read_file(struct sonde_records *r, const char *path, struct sonde_err *err)
{
	struct sonde_mapping file;
	struct sonde_source *src;
	int rc = sonde_mapping_open(&file, path, err);

	if (rc)
		return rc;
	if (sonde_is_gzip(file.data) || sonde_is_tar(file.data))
		return read_packed(r, path, &file, err);
	src = add_source(r, path);
	if (!src) {
		sonde_mapping_release(&file);
		return sonde_err_nomem(err);
	}
	src->file = file;
	if (file.data.n == 0)
		return sonde_err_set(err, SONDE_ERR_FORMAT, 
			"%s: the file is empty: its writer was stopped, or the disk was full; make it again", path);
	src->ops = recognise(file.data);
	return src->ops ? read_source(r, src, err) : refuse_file(path, file.data, err);
}

/* Reads the captures of a directory. One that cannot be read is a note, unless none can be read. */
static int read_directory(struct sonde_records *r, const char *path, struct sonde_err *err)
{
	struct sonde_folder f = {.dir = path, .together = r->options.together};
	size_t i, nr_read = 0, first = r->processes.nr;
	int rc = sonde_folder_expand(&f, &r->arena, &r->notes, err), one = 0;

	for (i = 0; i < f.files.nr && rc == 0; i++) {
		one = read_file(r, f.files.at[i], err);
		nr_read += one == 0;
		if (one == SONDE_ERR_FORMAT || one == SONDE_ERR_IO)
			sonde_note_loss(&r->notes, "%s; it is left out", err->msg);
		else
			rc = one;
	}
	/* Checked later, when the times of all processes are known: do they belong to one job? */
	if (rc == 0 && !f.is_run && !f.together) {
		sonde_put(&r->arena, &r->folders, (struct sonde_read_folder){path, first, r->processes.nr});
		rc = sonde_arena_status(&r->arena, err);
	}
	sonde_vec_release(&f.files);
	return rc ? rc : nr_read ? 0 : one;
}

int sonde_records__read(struct sonde_records *r, const char *path, struct sonde_err *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return read_directory(r, path, err);
	return read_file(r, path, err);
}
