/*
 * Where a header must be, everything else is skipped block by block until there is one: a flipped bit in a header then
 * costs that member only, not all members after it.
 */
#include "read/tar.h"

#include "base/tar_head.h"
#include "read/folder_in.h"

#include <stdio.h>
#include <string.h>

#define BLOCK	  SONDE_TAR_BLOCK
#define MAX_EXTRA (64u * 1024u) /* bytes of a long name or a pax header */
#define MAX_NAME  4096u		/* bytes of a name: no system allows longer ones */

/* Reads a number of a header: octal, or base 256 if the first bit is set. */
static uint64_t header_number(const char *p, size_t n)
{
	uint64_t v = 0;
	size_t i;

	if ((unsigned char)p[0] == 0x80) {
		for (i = n - 8; i < n; i++)
			v = v << 8 | (unsigned char)p[i];
		return v;
	}
	for (i = 0; i < n && p[i] == ' '; i++)
		;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	return v;
}

/* A block without a header's checksum is not a header; other bytes do not match it by chance. */
static bool is_header(const struct sonde_tar_head *h)
{
	return h->name[0] && memcmp(h->magic, "ustar", 5) == 0 &&
	       header_number(h->checksum, sizeof(h->checksum)) == sonde_tar_checksum(h);
}

/* Recognises a first header that is damaged: its signature contains NULs, which no text does. */
static bool has_signature(const struct sonde_tar_head *h)
{
	return memcmp(h->magic, "ustar\0" "00", 8) == 0 || memcmp(h->magic, "ustar  ", 8) == 0;
}

bool sonde_is_tar(struct sonde_str data)
{
	struct sonde_tar_head h;

	if (data.n < BLOCK)
		return false;
	memcpy(&h, data.p, BLOCK);
	return is_header(&h) || has_signature(&h);
}

void sonde_tar_init(struct sonde_tar *t, struct sonde_stream *from)
{
	*t = (struct sonde_tar){.from = from, .size = UINT64_MAX};
}

void sonde_tar_release(struct sonde_tar *t)
{
	sonde_stream_release(&t->member);
	sonde_buf_release(&t->name);
	sonde_buf_release(&t->sparse.first);
	sonde_buf_release(&t->links.first);
	sonde_buf_release(&t->cut_in);
	*t = (struct sonde_tar){0};
}

/* Returns how many of the bytes are missing. */
static uint64_t skip_bytes(struct sonde_stream *s, uint64_t n)
{
	while (n) {
		size_t got = sonde_stream_read(s, NULL, n > BLOCK ? BLOCK : (size_t)n);

		if (!got)
			break;
		n -= got;
	}
	return n;
}

static void add_field(struct sonde_buf *b, const char *p, size_t n)
{
	sonde_buf_add(b, p, strnlen(p, n));
}

/* --- what cannot be read ---------------------------------------------------------------------- */

static void count_gap(struct sonde_tar_gap *g, uint64_t at, uint64_t nr_bytes)
{
	if (!g->nr++)
		g->at = at;
	g->nr_bytes += nr_bytes;
}

static void count_left(struct sonde_tar_left *l, const struct sonde_buf *name)
{
	if (!l->nr++)
		sonde_buf_str(&l->first, sonde_buf_view(name));
}

/* Counts the empty blocks that were skipped. They end an archive, so they are a hole if a header follows, else damage. */
static void count_empty(struct sonde_tar *t, bool is_before_header)
{
	if (t->is_lost)
		t->damage.nr_bytes += t->nr_empty;
	else if (t->nr_empty && is_before_header)
		count_gap(&t->holes, t->empty_at, t->nr_empty);
	else if (t->nr_empty)
		count_gap(&t->damage, t->empty_at, t->nr_empty);
	t->is_lost |= t->nr_empty && !is_before_header;
	t->nr_empty = 0;
}

static void count_damage(struct sonde_tar *t, uint64_t at, uint64_t nr_bytes)
{
	count_empty(t, false);
	if (t->is_lost)
		t->damage.nr_bytes += nr_bytes;
	else
		count_gap(&t->damage, at, nr_bytes);
	t->is_lost = true;
}

static void mark_cut(struct sonde_tar *t, const struct sonde_buf *in)
{
	if (t->is_cut)
		return;
	t->is_cut = true;
	t->cut_at = sonde_stream_at(t->from);
	if (in)
		sonde_buf_str(&t->cut_in, sonde_buf_view(in));
}

static void note_gaps(const struct sonde_tar_gap *g, struct sonde_notes *out)
{
	char where[64] = "";

	if (g->nr > 1)
		snprintf(where, sizeof(where), "in %llu places, the first ", (unsigned long long)g->nr);
	if (g->nr)
		sonde_note_loss(out,
			"damaged %sat byte %llu: %llu bytes belong to no file of the archive and are skipped, with the "
			"files that were in them; copy it again",
			where, (unsigned long long)g->at, (unsigned long long)g->nr_bytes);
}

void sonde_tar_losses(const struct sonde_tar *t, struct sonde_notes *out)
{
	const unsigned long long holes = t->holes.nr_bytes, sparse = t->sparse.nr, links = t->links.nr;

	note_gaps(&t->damage, out);
	if (t->is_cut && t->cut_in.n)
		sonde_note_loss(out,
			"truncated after %llu bytes, inside %s; how many files are missing after it is not "
			"known; copy it again",
			(unsigned long long)t->cut_at, t->cut_in.p);
	else if (t->is_cut)
		sonde_note_loss(out,
			"truncated after %llu bytes, where another file or the end of the archive should be; "
			"how many files are missing is not known; copy it again",
			(unsigned long long)t->cut_at);
	if (holes)
		sonde_note(out,
			"%llu zero bytes, the first at byte %llu, come before another file of the archive: a hole in the "
			"archive, or several archives in one; `tar -tif` lists what is in it",
			holes, (unsigned long long)t->holes.at);
	if (sparse)
		sonde_note_loss(out,
			"%llu file%s stored with holes %s left out, the first is %s; make the archive without "
			"the option -S",
			sparse, sparse == 1 ? "" : "s", sparse == 1 ? "is" : "are",
			t->sparse.first.p ? t->sparse.first.p : "");
	if (links)
		sonde_note(out,
			"%llu link%s to captures %s not followed, the first is %s: only captures that are in the archive "
			"themselves are read; `tar -h` puts files in place of links",
			links, links == 1 ? "" : "s", links == 1 ? "is" : "are",
			t->links.first.p ? t->links.first.p : "");
}

/* --- members ---------------------------------------------------------------------------------- */

static void take_name(struct sonde_tar *t, const struct sonde_tar_head *h)
{
	if (h->prefix[0] && memcmp(h->version, "00", 2) == 0) {
		add_field(&t->name, h->prefix, sizeof(h->prefix));
		sonde_buf_putc(&t->name, '/');
	}
	add_field(&t->name, h->name, sizeof(h->name));
}

static void set_name(struct sonde_tar *t, struct sonde_str name)
{
	sonde_buf_clear(&t->name);
	add_field(&t->name, name.p, name.n < MAX_NAME ? name.n : MAX_NAME);
}

/* A pax header is lines of `LENGTH KEY=VALUE`. */
static void take_pax(struct sonde_tar *t, struct sonde_str text)
{
	struct sonde_str rest = text, line, value;

	while (rest.n) {
		line = sonde_str_cut(rest, '\n', &rest);
		sonde_str_cut(line, ' ', &line);
		sonde_str_cut(line, '=', &value);
		if (sonde_str_starts(line, "GNU.sparse.name=") ||
			(sonde_str_starts(line, "path=") && !t->is_sparse))
			set_name(t, value);
		if (sonde_str_starts(line, "size="))
			sonde_str_u64(value, &t->size);
		t->is_sparse |= sonde_str_starts(line, "GNU.sparse.");
	}
}

/* Reads a header that describes the next member: a long name, or a pax header. */
static void take_extra(struct sonde_tar *t, const struct sonde_tar_head *h)
{
	uint64_t n = header_number(h->size, sizeof(h->size)), pad = (BLOCK - n % BLOCK) % BLOCK;
	uint64_t at = sonde_stream_at(t->from);
	struct sonde_buf text = {0};

	if (n > MAX_EXTRA) {
		count_gap(&t->damage, at, n);
	} else if (sonde_buf_reserve(&text, (size_t)n)) {
		text.n = sonde_stream_read(t->from, text.p, (size_t)n);
		if (h->type == 'L')
			set_name(t, sonde_buf_view(&text));
		else if (h->type == 'x')
			take_pax(t, sonde_buf_view(&text));
	}
	t->name.failed |= text.failed;
	if (skip_bytes(t->from, n - text.n + pad))
		mark_cut(t, NULL);
	sonde_buf_release(&text);
}

/* If the list of holes is too long for the header, it continues in blocks before the member's bytes. */
static void skip_sparse_map(struct sonde_tar *t, const struct sonde_tar_head *h)
{
	char block[BLOCK];
	bool is_more = ((const char *)h)[482];

	while (is_more && sonde_stream_read(t->from, block, BLOCK) == BLOCK)
		is_more = block[504];
}

static void open_member(struct sonde_tar *t, const struct sonde_tar_head *h)
{
	if (!t->name.n)
		take_name(t, h);
	if (h->type == 'S')
		skip_sparse_map(t, h);
	if (t->size == UINT64_MAX)
		t->size = header_number(h->size, sizeof(h->size));
	if (t->size > INT64_MAX)
		t->size = INT64_MAX;
	sonde_stream_from_part(&t->member, t->from, t->size);
	t->padding = (BLOCK - t->size % BLOCK) % BLOCK;
}

static void leave_member(struct sonde_tar *t)
{
	if (t->member.from && skip_bytes(t->from, t->member.size - t->member.nr_read + t->padding))
		mark_cut(t, &t->name);
	sonde_stream_release(&t->member);
	sonde_buf_clear(&t->name);
	t->size = UINT64_MAX;
	t->is_sparse = false;
}

static bool is_empty(const struct sonde_tar_head *h)
{
	static const struct sonde_tar_head empty;

	return memcmp(h, &empty, sizeof(empty)) == 0;
}

/* Moves to the next header, past everything else; false at the end. */
static bool next_header(struct sonde_tar *t, struct sonde_tar_head *h)
{
	uint64_t at;

	while (at = sonde_stream_at(t->from), sonde_stream_read(t->from, (char *)h, BLOCK) == BLOCK) {
		if (is_header(h)) {
			count_empty(t, true);
			t->is_lost = false;
			return !t->name.failed;
		}
		if (!is_empty(h)) {
			count_damage(t, at, BLOCK);
			leave_member(t); /* forgets the name and size that earlier headers gave */
			continue;
		}
		if (!t->nr_empty)
			t->empty_at = at;
		t->nr_empty += BLOCK;
	}
	if (!t->nr_empty && !t->is_lost)
		mark_cut(t, NULL);
	return false;
}

/* Skips a member that is not a plain file. It is counted if it might have been a capture. */
static void pass_over(struct sonde_tar *t, const struct sonde_tar_head *h)
{
	if (h->type == 'S' || t->is_sparse) {
		count_left(&t->sparse, &t->name);
	} else if ((h->type == '1' || h->type == '2') && sonde_folder_is_capture(sonde_buf_view(&t->name))) {
		sonde_buf_puts(&t->name, " to ");
		add_field(&t->name, h->link, sizeof(h->link));
		count_left(&t->links, &t->name);
	}
	if (h->type == '1') /* a hard link has no bytes; its size is that of the file it points to */
		t->member.size = t->padding = 0;
}

bool sonde_tar_next(struct sonde_tar *t)
{
	struct sonde_tar_head h;

	leave_member(t);
	while (next_header(t, &h)) {
		if (h.type == 'L' || h.type == 'x' || h.type == 'K' || h.type == 'g') {
			take_extra(t, &h);
			continue;
		}
		open_member(t, &h);
		if ((h.type == '0' || h.type == '\0') && !t->is_sparse)
			return true;
		pass_over(t, &h);
		leave_member(t);
	}
	return false;
}
