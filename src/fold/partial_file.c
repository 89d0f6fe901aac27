/* The frame of a partial report: head, sections with their checksums, an end that counts. */
#include "fold/partial.h"

#include "base/alloc.h"
#include "fold/partial_int.h"

struct framing {
	struct sonde_parts *out;
	struct sonde_str bytes;
	size_t at;
	const char *path;
	struct sonde_err *err;
	struct sonde_cells *part; /* in the making */
	uint32_t expected;	  /* kind of the next section of a part */
};

bool sonde_partial_knows(struct sonde_str bytes)
{
	return sonde_str_starts(bytes, SONDE_PARTIAL_MAGIC);
}

static int refuse_damaged(struct framing *f, const char *what)
{
	return sonde_err_at(f->err, SONDE_ERR_FORMAT, f->path, f->at,
		"%s; the partial report is damaged or cut off: copy it again, or make it again", what);
}

static int read_head(struct framing *f)
{
	struct sonde_partial_head head;

	if (f->bytes.n < sizeof(head) || !sonde_partial_knows(f->bytes))
		return refuse_damaged(f, "no room for the head");
	memcpy(&head, f->bytes.p, sizeof(head));
	if (head.version != SONDE_PARTIAL_VERSION || head.rules != SONDE_RULES_VERSION)
		return sonde_err_set(f->err, SONDE_ERR_FORMAT,
			"%s: a partial report of another version (%u, rules %u; this sonde reads "
			"%u, rules %u): make it again from the captures",
			f->path, head.version, head.rules, SONDE_PARTIAL_VERSION,
			SONDE_RULES_VERSION);
	f->at = sizeof(head);
	return 0;
}

/* Begins, continues or ends a part. */
static int read_part(struct framing *f, uint32_t kind, struct sonde_cursor *in)
{
	static bool (*const readers[])(struct sonde_cursor *, struct sonde_cells *, bool *) = {
		[SONDE_PARTIAL_TABLES] = sonde_partial__tables,
		[SONDE_PARTIAL_VISITS] = sonde_partial__visits,
		[SONDE_PARTIAL_CELLS] = sonde_partial__cells};
	struct sonde_cells **slot;
	bool is_nomem = false;

	if (kind != f->expected)
		return refuse_damaged(f, "a section is missing");
	if (kind == SONDE_PARTIAL_TABLES)
		f->part = sonde_calloc(1, sizeof(*f->part));
	if (!f->part)
		return sonde_err_nomem(f->err);
	if (!readers[kind](in, f->part, &is_nomem))
		return is_nomem ? sonde_err_nomem(f->err)
				: refuse_damaged(f, "a section has impossible contents");
	f->expected = kind + 1;
	if (kind != SONDE_PARTIAL_CELLS)
		return 0;
	slot = sonde_vec_push(&f->out->at);
	if (!slot)
		return sonde_err_nomem(f->err);
	*slot = f->part;
	f->part = NULL;
	f->expected = SONDE_PARTIAL_TABLES;
	return 0;
}

/* Comes after the cells of its part, once. */
static int read_sampled(struct framing *f, size_t nr_before, struct sonde_cursor *in)
{
	struct sonde_cells *part = f->out->at.nr > nr_before ? f->out->at.at[f->out->at.nr - 1] : NULL;
	bool is_nomem = false;

	if (!part || f->expected != SONDE_PARTIAL_TABLES || part->sampled.nr)
		return refuse_damaged(f, "sampled counters of no cells");
	if (sonde_partial__sampled(in, part, &is_nomem))
		return 0;
	return is_nomem ? sonde_err_nomem(f->err) : refuse_damaged(f, "a section holds what cannot be");
}

/* One section; `*is_end` after the last. */
static int read_section(struct framing *f, size_t nr_before, bool *is_end)
{
	struct sonde_partial_section s;
	const char *payload;
	struct sonde_cursor in = {0};
	int rc = 0;

	if (f->bytes.n - f->at < sizeof(s))
		return refuse_damaged(f, "no room for a section");
	memcpy(&s, f->bytes.p + f->at, sizeof(s));
	if (s.nr_bytes > f->bytes.n - f->at - sizeof(s))
		return refuse_damaged(f, "a section is longer than the file");
	payload = f->bytes.p + f->at + sizeof(s);
	if (s.zero || s.check != sonde_partial__check(&s, payload))
		return refuse_damaged(f, "a checksum does not match");
	in.p = (const uint8_t *)payload;
	in.end = in.p + s.nr_bytes;
	*is_end = s.kind == SONDE_PARTIAL_END;
	if (*is_end && (f->expected != SONDE_PARTIAL_TABLES ||
			       sonde_get_u(&in) != f->out->at.nr - nr_before))
		return refuse_damaged(f, "a part is missing");
	if (s.kind > SONDE_PARTIAL_CELLS && s.kind < SONDE_PARTIAL_OPTIONAL)
		return refuse_damaged(f, "a section of a kind that is not known");
	if (!*is_end && s.kind <= SONDE_PARTIAL_CELLS)
		rc = read_part(f, s.kind, &in);
	if (s.kind == SONDE_PARTIAL_SAMPLED)
		rc = read_sampled(f, nr_before, &in);
	f->at += sizeof(s) + s.nr_bytes;
	return rc;
}

int sonde_partial_read(struct sonde_parts *out, struct sonde_str bytes, const char *path,
	struct sonde_err *err)
{
	struct framing f = {.out = out,
		.bytes = bytes,
		.path = path,
		.err = err,
		.expected = SONDE_PARTIAL_TABLES};
	size_t nr_before = out->at.nr;
	bool is_end = false;
	int rc = read_head(&f);

	while (rc == 0 && !is_end)
		rc = read_section(&f, nr_before, &is_end);
	if (rc == 0 && f.at != bytes.n)
		rc = refuse_damaged(&f, "bytes after the end");
	sonde_cells_free(f.part);
	while (rc && out->at.nr > nr_before)
		sonde_cells_free(out->at.at[--out->at.nr]);
	return rc;
}
