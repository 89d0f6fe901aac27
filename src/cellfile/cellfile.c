/* The frame of a partial report: the head, sections with their checksums, and an end with the number of parts. */
#include "cellfile/cellfile.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cellfile/cell_walks.h"

typedef void (*move_fn)(struct sonde_walk *w, struct sonde_cells *c);
static const move_fn sections[] = {
	[SONDE_CELLFILE_TABLES] = sonde_walk_tables,
	[SONDE_CELLFILE_VISITS] = sonde_walk_visits,
	[SONDE_CELLFILE_CELLS] = sonde_walk_cells,
	[SONDE_CELLFILE_SAMPLED] = sonde_walk_sampled,
	[SONDE_CELLFILE_STALLS] = sonde_walk_stalls,
};

/* --- reading ----------------------------------------------------------------------------------- */

struct framing {
	struct sonde_parts *out;
	struct sonde_str bytes;
	size_t at;
	const char *path;
	struct sonde_err *err;
	struct sonde_cells *part; /* the part that is being read, NULL between parts */
	uint32_t layout;	  /* version from the head */
	uint32_t expected;	  /* kind of the part's next section */
};

/* Whether these are the first bytes of a partial report. */
static bool knows(struct sonde_str bytes)
{
	return sonde_str_starts(bytes, SONDE_CELLFILE_MAGIC);
}

bool sonde_cellfile_is(const char *path)
{
	struct sonde_buf head = {0};
	bool is = sonde_file_head(&head, path) && knows(sonde_buf_view(&head));

	sonde_buf_release(&head);
	return is;
}

static int refuse_damaged(struct framing *f, const char *what)
{
	return sonde_err_at(f->err, SONDE_ERR_FORMAT, f->path, f->at,
		"the partial report is damaged or cut off (%s): copy it again, or make it again", what);
}

static int read_head(struct framing *f)
{
	struct sonde_cellfile_head head;

	if (f->bytes.n < sizeof(head) || !knows(f->bytes))
		return refuse_damaged(f, "the head is cut off");
	memcpy(&head, f->bytes.p, sizeof(head));
	if (head.version < SONDE_CELLFILE_OLDEST || head.version > SONDE_CELLFILE_VERSION ||
		head.rules != SONDE_RULES_VERSION)
		return sonde_err_set(f->err, SONDE_ERR_FORMAT,
			"%s: a partial report of another version (%u, rules %u; this sonde reads "
			"%u to %u, rules %u): make it again from the captures",
			f->path, head.version, head.rules, SONDE_CELLFILE_OLDEST, SONDE_CELLFILE_VERSION,
			SONDE_RULES_VERSION);
	f->layout = head.version;
	f->at = sizeof(head);
	return 0;
}

static int move_section(
	struct framing *f, uint32_t kind, struct sonde_str payload, struct sonde_cells *c)
{
	struct sonde_walk w = sonde_walk_reader(payload, &c->arena);

	w.layout = f->layout;
	sections[kind](&w, c);
	if (sonde_walk_is_done(&w))
		return 0;
	return w.is_nomem ? sonde_err_nomem(f->err)
			  : refuse_damaged(f, "a section has impossible contents");
}

/* Reads a section that begins, continues or ends a part. */
static int read_part(struct framing *f, uint32_t kind, struct sonde_str payload)
{
	int rc;

	if (kind != f->expected)
		return refuse_damaged(f, "a section is missing");
	if (kind == SONDE_CELLFILE_TABLES)
		f->part = sonde_calloc(1, sizeof(*f->part));
	if (!f->part)
		return sonde_err_nomem(f->err);
	rc = move_section(f, kind, payload, f->part);
	if (rc)
		return rc;
	f->expected = kind + 1;
	if (kind != SONDE_CELLFILE_CELLS)
		return 0;
	if (!sonde_vec_put(&f->out->at, f->part))
		return sonde_err_nomem(f->err);
	f->part = NULL;
	f->expected = SONDE_CELLFILE_TABLES;
	return 0;
}

/*
 * Whether a part has the contents of an optional section. Then a writer writes the section, and a reader refuses a
 * second one.
 */
static bool has_optional(const struct sonde_cells *c, uint32_t kind)
{
	return kind == SONDE_CELLFILE_SAMPLED ? c->sampled.nr : c->stall_sources.nr;
}

/* An optional section comes after the cells of its part, at most once. */
static int read_optional(struct framing *f, size_t nr_before, uint32_t kind, struct sonde_str payload)
{
	struct sonde_cells *part = f->out->at.nr > nr_before ? f->out->at.at[f->out->at.nr - 1] : NULL;

	if (!part || f->expected != SONDE_CELLFILE_TABLES || has_optional(part, kind))
		return refuse_damaged(f, "a section comes without its cells");
	return move_section(f, kind, payload, part);
}

static bool is_end_right(struct framing *f, size_t nr_before, struct sonde_str payload)
{
	struct sonde_walk w = sonde_walk_reader(payload, NULL);

	return f->expected == SONDE_CELLFILE_TABLES &&
	       sonde_walk_number(&w, 0) == f->out->at.nr - nr_before;
}

/* Reads one section. Sets `*is_end` after the last. */
static int read_section(struct framing *f, size_t nr_before, bool *is_end)
{
	struct sonde_cellfile_section s;
	struct sonde_str payload;
	int rc = 0;

	if (f->bytes.n - f->at < sizeof(s))
		return refuse_damaged(f, "the head of a section is cut off");
	memcpy(&s, f->bytes.p + f->at, sizeof(s));
	if (s.nr_bytes > f->bytes.n - f->at - sizeof(s))
		return refuse_damaged(f, "a section is longer than the file");
	payload = (struct sonde_str){f->bytes.p + f->at + sizeof(s), s.nr_bytes};
	if (s.zero || s.check != sonde_cellfile_check(&s, payload.p))
		return refuse_damaged(f, "a checksum does not match");
	*is_end = s.kind == SONDE_CELLFILE_END;
	if (*is_end && !is_end_right(f, nr_before, payload))
		return refuse_damaged(f, "a part is missing");
	if (s.kind > SONDE_CELLFILE_CELLS && s.kind < SONDE_CELLFILE_OPTIONAL)
		return refuse_damaged(f, "a section has an unknown kind");
	if (!*is_end && s.kind <= SONDE_CELLFILE_CELLS)
		rc = read_part(f, s.kind, payload);
	if (s.kind == SONDE_CELLFILE_SAMPLED || s.kind == SONDE_CELLFILE_STALLS)
		rc = read_optional(f, nr_before, s.kind, payload);
	f->at += sizeof(s) + s.nr_bytes;
	return rc;
}

int sonde_cellfile_read(struct sonde_parts *out, struct sonde_str bytes, const char *path,
	struct sonde_err *err)
{
	struct framing f = {.out = out,
		.bytes = bytes,
		.path = path,
		.err = err,
		.expected = SONDE_CELLFILE_TABLES};
	size_t nr_before = out->at.nr;
	bool is_end = false;
	int rc = read_head(&f);

	while (rc == 0 && !is_end)
		rc = read_section(&f, nr_before, &is_end);
	if (rc == 0 && f.at != bytes.n)
		rc = refuse_damaged(&f, "bytes follow the end");
	sonde_cells_free(f.part);
	while (rc && out->at.nr > nr_before)
		sonde_cells_free(out->at.at[--out->at.nr]);
	return rc;
}

/* --- writing ----------------------------------------------------------------------------------- */

static void write_section(struct sonde_sink *to, uint32_t kind, struct sonde_buf *b)
{
	struct sonde_cellfile_section s = {.kind = kind, .nr_bytes = b->n};

	s.check = sonde_cellfile_check(&s, b->p ? b->p : "");
	sonde_sink_write(to, &s, sizeof(s));
	sonde_sink_str(to, sonde_buf_view(b));
	to->buf.failed |= b->failed;
	sonde_buf_clear(b);
}

static int write_part(
	struct sonde_sink *to, struct sonde_cells *c, struct sonde_buf *b, struct sonde_err *err)
{
	static const uint32_t kinds[] = {SONDE_CELLFILE_TABLES, SONDE_CELLFILE_VISITS,
		SONDE_CELLFILE_CELLS, SONDE_CELLFILE_SAMPLED, SONDE_CELLFILE_STALLS};
	struct sonde_walk w = {.to = b};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds) && !w.is_nomem && !to->buf.failed; i++) {
		if (kinds[i] >= SONDE_CELLFILE_OPTIONAL && !has_optional(c, kinds[i]))
			continue;
		sections[kinds[i]](&w, c);
		write_section(to, kinds[i], b);
	}
	return w.is_nomem || to->buf.failed ? sonde_err_nomem(err) : 0;
}

/* Invariant 3. Writes only what comes from the inputs, so no time of day and no name of this machine. */
int sonde_cellfile_write(struct sonde_parts *parts, struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_cellfile_head head = {
		.version = SONDE_CELLFILE_VERSION, .rules = SONDE_RULES_VERSION};
	struct sonde_notes doubled = {0};
	struct sonde_buf b = {0};
	struct sonde_walk end = {.to = &b};
	size_t i;
	int rc = sonde_parts_check(parts->at.at, parts->at.nr, err);

	if (rc)
		return rc;
	memcpy(head.magic, SONDE_CELLFILE_MAGIC, sizeof(head.magic));
	sonde_parts_sort(parts->at.at, &parts->at.nr, &doubled);
	if (parts->at.nr)
		sonde_notes_add(&parts->at.at[parts->at.nr - 1]->notes, &doubled);
	sonde_sink_write(to, &head, sizeof(head));
	for (i = 0; i < parts->at.nr && rc == 0; i++)
		rc = write_part(to, parts->at.at[i], &b, err);
	sonde_walk_number(&end, parts->at.nr);
	write_section(to, SONDE_CELLFILE_END, &b);
	sonde_buf_release(&b);
	sonde_notes_release(&doubled);
	return rc;
}
