/*
 * The file of a capture: its blocks → strings, clocks, texts, and the pieces of each stream. Good blocks follow
 * each other; after damage the next good block is searched for byte by byte.
 *
 * A capture may continue in further files: PATH, then PATH.1, PATH.2, … are mapped side by side and read as
 * one. Files that the runner has folded are gone (PATH says which file is the first that remains), and a file may
 * disappear while it is being opened. PATH is replaced before files are removed, so a reader that misses a file
 * reads PATH again.
 */
#include "format/checksum.h"
#include "format/varint.h"
#include "read/native/native_int.h"
#include "read/rolled.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The search for blocks reads at most this many times the bytes of the file. */
#define MAX_VAIN 16u
#define MAX_PAGE 65536u
#define MAX_TRIES 100 /* attempts; each fails because the runner was faster */

/* --- blocks, one after the other ------------------------------------------------------------------- */

struct walk {
	const uint8_t *base, *end;
	const uint8_t *at;
	uint64_t next_seq;
	uint64_t nr_vain; /* bytes that were hashed but turned out not to be a block */
	uint32_t nr_files; /* number of files that have begun, the first one included */
	bool is_cut;	  /* the bytes skipped last began like a block that reaches past the end */
};

static bool block_at(struct walk *w, const uint8_t *p, struct sonde_block_head *h)
{
	if ((size_t)(w->end - p) < sizeof(*h))
		return false;
	memcpy(h, p, sizeof(*h));
	if (h->magic != SONDE_BLOCK_MAGIC || h->reserved0 || h->reserved1 ||
		h->nr_bytes > SONDE_BLOCK_LIMIT || h->nr_bytes > (size_t)(w->end - p) - sizeof(*h))
		return false;
	if (sonde_block_check(h, p + sizeof(*h)) == h->check)
		return true;
	w->nr_vain += h->nr_bytes;
	return false;
}

/* Whether the file ends in the block at p, according to the block's head. */
static bool is_cut_at(const struct walk *w, const uint8_t *p)
{
	struct sonde_block_head h;
	size_t left = (size_t)(w->end - p);

	if (left < sizeof(h))
		return true;
	memcpy(&h, p, sizeof(h));
	return h.magic == SONDE_BLOCK_MAGIC && h.nr_bytes <= SONDE_BLOCK_LIMIT &&
	       h.nr_bytes > left - sizeof(h);
}

/*
 * Returns where the blocks of the next file begin, NULL when no file begins at p. Up to `nr_zeros` zeros may come before
 * the file, as they fill the last page of the one before.
 */
static const uint8_t *file_at(const struct walk *w, const uint8_t *p, size_t nr_zeros)
{
	struct sonde_capture_head h;
	const uint8_t *most = (size_t)(w->end - p) > nr_zeros ? p + nr_zeros : w->end;

	while (p < most && !*p)
		p++;
	if ((size_t)(w->end - p) < sizeof(h) || memcmp(p, SONDE_CAPTURE_MAGIC, sizeof(h.magic)) != 0)
		return NULL;
	memcpy(&h, p, sizeof(h));
	return h.check == sonde_capture_check(&h) && h.nr_bytes <= (size_t)(w->end - p)
		       ? p + h.nr_bytes
		       : NULL;
}

/* Moves to the next good block; NULL at the end. `*skipped`: bytes before it had to be skipped. */
static const uint8_t *block_next(struct walk *w, struct sonde_block_head *h, bool *skipped)
{
	const uint32_t magic = SONDE_BLOCK_MAGIC;
	const size_t head = sizeof(struct sonde_capture_head);
	const uint64_t max_vain = (uint64_t)(w->end - w->base) * MAX_VAIN;

	*skipped = false;
	while (w->at < w->end) {
		const uint8_t *p = w->at, *next = file_at(w, p, *skipped ? 0 : MAX_PAGE);

		if (next) {
			w->nr_files++;
			w->at = next;
			w->next_seq = 0;
			continue;
		}
		if (block_at(w, p, h)) {
			w->at = p + sizeof(*h) + h->nr_bytes;
			return p + sizeof(*h);
		}
		if (!*skipped)
			w->is_cut = is_cut_at(w, p);
		*skipped = true;
		/*
		 * Damage looks like a block only a few times; a file made to look like blocks everywhere is not worth
		 * the search.
		 */
		p = w->nr_vain > max_vain
			    ? NULL
			    : memmem(p + 1, (size_t)(w->end - p - 1), &magic, sizeof(magic));
		if (p && (size_t)(p - w->at) > head && file_at(w, p - head, 0))
			p -= head; /* the first block of the next file */
		w->at = p ? p : w->end;
	}
	return NULL;
}

/* --- further files --------------------------------------------------------------------------------- */

/* The number of the first further file that exists. */
static uint32_t first_part(struct sonde_str data)
{
	uint32_t next = sonde_rolled_next(data.p, data.n);

	return next ? next : 1;
}

/* Lists PATH and all files from number `part` on. Returns SONDE_ERR_NOMEM, or 0. */
static int find_parts(const struct native *n, uint32_t part, struct sonde_word_list *out)
{
	uint32_t nr_files = sonde_native__options(n).nr_files, max = nr_files ? nr_files - 1 : UINT32_MAX, i;

	if (!sonde_word_list_add(out, n->src->path))
		return SONDE_ERR_NOMEM;
	for (i = 0; i < max; i++) {
		const char *path =
			sonde_arena_printf(&n->r->arena, "%s.%u", n->src->path, part + i).p;

		if (path && access(path, F_OK) != 0)
			return 0;
		if (!path || !sonde_word_list_add(out, path))
			return SONDE_ERR_NOMEM;
	}
	return 0;
}

/* Tries once to map all files; returns 1 if PATH was replaced meanwhile. */
static int try_map_files(struct native *n, struct sonde_mapping *out, struct sonde_err *err)
{
	uint32_t part = first_part(n->src->file.data);
	struct sonde_word_list all = {0};
	struct sonde_err gone = {0};
	int rc = find_parts(n, part, &all);

	n->is_written = rc == 0 && !sonde_native__options(n).nr_files && sonde_file_is_locked(all.at[all.nr - 1]);
	if (rc)
		sonde_err_nomem(err);
	else
		rc = sonde_mapping_open_all(out, all.at, all.nr, &gone);
	if (rc == 0 && first_part(out->data) != part)
		rc = 1;
	else if (rc == SONDE_ERR_IO)
		rc = access(n->src->path, F_OK) == 0 ? 1 : sonde_err_set(err, rc, "%s", gone.msg);
	sonde_vec_release(&all);
	return rc;
}

int sonde_native__map_files(struct native *n, struct sonde_err *err)
{
	struct sonde_mapping all = {0};
	unsigned i;
	int rc = 1;

	if (!n->src->file.base) /* it was unpacked from an archive: no further files are beside it */
		return 0;
	for (i = 0; i < MAX_TRIES && rc == 1; i++) {
		rc = try_map_files(n, &all, err);
		if (rc < 0)
			return rc;
		sonde_mapping_release(&n->src->file);
		n->src->file = all;
	}
	return rc ? sonde_err_set(err, SONDE_ERR_IO,
			    "%s: its files change too fast to be read: report when the program has ended",
			    n->src->path)
		  : 0;
}

uint32_t sonde_capture_next(const char *path)
{
	struct sonde_mapping file;
	uint32_t next = 0;

	if (sonde_mapping_open(&file, path, NULL))
		return 0;
	if (sonde_str_starts(file.data, SONDE_CAPTURE_MAGIC))
		next = sonde_rolled_next(file.data.p, file.data.n);
	sonde_mapping_release(&file);
	return next;
}

uint64_t sonde_capture_began(const char *path)
{
	struct sonde_mapping file;
	struct sonde_block_head h;
	struct sonde_clock c = {0};
	struct walk w = {0};
	const uint8_t *p;
	bool skipped;

	if (sonde_mapping_open(&file, path, NULL))
		return 0;
	w.base = w.at = (const uint8_t *)file.data.p;
	w.end = w.base + file.data.n;
	while ((p = block_next(&w, &h, &skipped)) && !c.real_ns)
		if (h.type == SONDE_BLOCK_CLOCK && h.nr_bytes >= sizeof(c))
			memcpy(&c, p, sizeof(c));
	sonde_mapping_release(&file);
	return c.real_ns;
}

uint64_t sonde_capture_oldest(const char *path)
{
	uint32_t next = sonde_capture_next(path);
	char name[4096];

	snprintf(name, sizeof(name), "%s.%u", path, next ? next : 1);
	if (access(name, F_OK) != 0)
		return UINT64_MAX;
	return sonde_capture_began(next ? name : path);
}

/* --- texts: META lines, labels and their domains --------------------------------------------------- */

struct sonde_str sonde_native__meta(const struct native *n, const char *key)
{
	struct sonde_str rest = n->meta, line, value;

	while (rest.n) {
		line = sonde_str_cut(rest, '\n', &rest);
		if (sonde_str_is(sonde_str_cut(line, '=', &value), key))
			return value;
	}
	return (struct sonde_str){NULL, 0};
}

struct sonde_str sonde_native__program(const struct native *n)
{
	return sonde_str_base(sonde_native__meta(n, "exe"));
}

uint32_t sonde_native__domain(const struct native *n, uint64_t number)
{
	return number < n->strings.nr && n->strings.at[number].text.p ? n->strings.at[number].domain
								      : NATIVE_NO_DOMAIN;
}

uint32_t sonde_native__string(struct native *n, uint64_t number)
{
	struct native_string *s = number < n->strings.nr ? &n->strings.at[number] : NULL;

	if (!s || !s->text.p) {
		n->current_counts->no_label++;
		return sonde_records__string(n->r, SONDE_STR("(label not written)"));
	}
	if (s->string == SONDE_NONE)
		s->string = sonde_records__string(n->r, s->text);
	return s->string;
}

/* --- what blocks say ------------------------------------------------------------------------------- */

static void define_string(struct native *n, const uint64_t *field, struct sonde_str text)
{
	uint64_t number = field[0];

	if (field[1] == SONDE_STRING_DOMAIN) {
		if (field[2] < NATIVE_MAX_DOMAINS && field[2])
			n->domains[field[2]] = sonde_records__string(n->r, text);
		return;
	}
	/* Every string takes bytes of the file, so a number larger than the file is damage. */
	if (number > n->src->file.data.n || number >= SONDE_STRING_LIMIT ||
		field[2] >= NATIVE_MAX_DOMAINS || !sonde_fill(&n->src->work, &n->strings, number + 1))
		return;
	n->strings.at[number] = (struct native_string){.text = text,
		.string = SONDE_NONE,
		.domain = (uint32_t)field[2],
		.kind = (uint8_t)field[1]};
}

static void read_strings(struct native *n, const uint8_t *p, const uint8_t *end)
{
	uint64_t field[4];
	unsigned i;

	while (p < end) {
		for (i = 0; i < 4 && p; i++)
			p = sonde_varint_get(p, end, &field[i]);
		if (!p || field[3] > (size_t)(end - p))
			return;
		define_string(n, field, sonde_native__text(p, field[3]));
		p += field[3];
	}
}

/* Whether some files of a capture were counted before. The folded files of a sampler are only dropped: nothing in them was counted. */
static bool is_rolled_capture(const struct native *n)
{
	return n->rolled.next && !sonde_native__is_sampler(n);
}

static void read_clock(struct native *n, const uint8_t *p, size_t nr)
{
	struct sonde_clock c;
	uint64_t ns;

	if (nr < sizeof(c))
		return;
	memcpy(&c, p, sizeof(c));
	/* Real time may be changed while the program runs, so the first offset is used for the whole capture. */
	if (!n->host.points.nr)
		n->epoch_ns = c.real_ns - c.mono_ns;
	ns = c.mono_ns + n->epoch_ns;
	sonde_put(&n->r->arena, &n->host.points, (struct sonde_clock_point){.from = c.ticks, .to_ns = ns});
	if (n->is_begun) {
		n->last_ns = ns;
		if (is_rolled_capture(n) && n->nr_begun == NATIVE_NR_BEFORE)
			n->r->whole_ns = ns;
		if (is_rolled_capture(n) && n->nr_begun == NATIVE_NR_BEFORE + 1)
			n->r->from_ns = ns;
	}
	n->is_begun = false;
}

static void read_piece(struct native *n, const uint8_t *p, size_t nr)
{
	struct sonde_events e;

	if (nr < sizeof(e))
		return;
	memcpy(&e, p, sizeof(e));
	if (e.nr_bytes && e.nr_bytes <= nr - sizeof(e))
		sonde_put(&n->src->work, &n->pieces,
			(struct native_piece){.stream = e.stream,
				.chunk = e.chunk,
				.offset = e.offset,
				.nr_bytes = e.nr_bytes,
				.tid = e.tid,
				.data = p + sizeof(e)});
}

static void read_thread(struct native *n, const uint8_t *p, const uint8_t *end)
{
	uint64_t stream, tid;

	p = sonde_varint_get(p, end, &stream);
	p = p ? sonde_varint_get(p, end, &tid) : NULL;
	if (p)
		sonde_native__name_thread(n, tid, sonde_native__text(p, (uint64_t)(end - p)));
}

static void read_mark(struct native *n, const uint8_t *p, size_t nr)
{
	struct native_window_mark *m;

	if (nr < sizeof(m->mark))
		return;
	m = sonde_push(&n->src->work, &n->marks);
	memcpy(&m->mark, p, sizeof(m->mark));
	m->when = n->current_counts == &n->counts ? SONDE_NOW : n->ahead < SIZE_MAX ? SONDE_AHEAD : SONDE_BEFORE;
}

static void read_block(struct native *n, const struct sonde_block_head *h, const uint8_t *p)
{
	struct sonde_str text = {(const char *)p, h->nr_bytes};

	switch (h->type) {
	case SONDE_BLOCK_META:
		n->meta = n->meta.n ? n->meta : text; /* further files repeat it, with their own number */
		break;
	case SONDE_BLOCK_NOTE:
		sonde_note(&n->r->notes, "%s: %.*s", n->src->path, SONDE_STR_ARG(text));
		break;
	case SONDE_BLOCK_LOSS:
		n->says_loss = true;
		sonde_note_loss(&n->r->notes, "%s: %.*s", n->src->path, SONDE_STR_ARG(text));
		break;
	case SONDE_BLOCK_CLOCK:
		read_clock(n, p, h->nr_bytes);
		break;
	case SONDE_BLOCK_STRINGS:
		read_strings(n, p, p + h->nr_bytes);
		break;
	case SONDE_BLOCK_THREAD:
		read_thread(n, p, p + h->nr_bytes);
		break;
	case SONDE_BLOCK_EVENTS:
		read_piece(n, p, h->nr_bytes);
		break;
	case SONDE_BLOCK_BUDGET:
		if (h->nr_bytes >= sizeof(n->budget))
			memcpy(&n->budget, p, sizeof(n->budget));
		break;
	case SONDE_BLOCK_WINDOW:
		read_mark(n, p, h->nr_bytes);
		break;
	case SONDE_BLOCK_STATUS:
		if (h->nr_bytes >= offsetof(struct sonde_status, nr_owed))
			memcpy(&n->status, p,
				h->nr_bytes < sizeof(n->status) ? h->nr_bytes : sizeof(n->status));
		break;
	case SONDE_BLOCK_END:
		n->ended = true;
		n->end = h->nr_bytes ? *p : SONDE_END_EXIT;
		break;
	case SONDE_BLOCK_ROLLED:
		if (n->head_bytes)
			break;
		memcpy(&n->rolled, p, h->nr_bytes < sizeof(n->rolled) ? h->nr_bytes : sizeof(n->rolled));
		n->current_counts = n->rolled.next ? &n->uncounted : &n->counts;
		break;
	case SONDE_BLOCK_CELLS:
		sonde_buf_add(&n->cells, p, h->nr_bytes);
		n->src->work.failed |= n->cells.failed;
		break;
	case SONDE_BLOCK_COUNTERS:
		sonde_native__counters(n, text);
		break;
	case SONDE_BLOCK_SAMPLES:
		sonde_native__samples(n, text);
		break;
	case SONDE_BLOCK_SAMPLER:
		if (h->nr_bytes >= sizeof(n->sampler))
			memcpy(&n->sampler, p, sizeof(n->sampler));
		break;
	default: /* block type of a later version: skipped */
		break;
	}
}

/*
 * Sorts the pieces of a chunk by their place in the files. A later file may begin with bytes that an earlier one
 * ends with, and an event counts with the file in which its bytes come first.
 */
static int by_place(const void *a, const void *b)
{
	const struct native_piece *x = a, *y = b;
	int c = sonde_cmp(x->stream, y->stream);

	c = c ? c : sonde_cmp(x->chunk, y->chunk);
	return c ? c : sonde_cmp(x->data, y->data);
}

static int read_head(struct native *n, struct sonde_err *err)
{
	struct sonde_str data = n->src->file.data;

	if (data.n < sizeof(n->head))
		return sonde_err_at(
			err, SONDE_ERR_FORMAT, n->src->path, data.n, 
			"the file ends in its header: copy it again");
	memcpy(&n->head, data.p, sizeof(n->head));
	if (n->head.version > SONDE_CAPTURE_VERSION)
		return sonde_err_at(err, SONDE_ERR_FORMAT, n->src->path, 8,
			"capture version %u is newer than this sonde's (%u): update sonde", n->head.version,
			SONDE_CAPTURE_VERSION);
	if (n->head.check != sonde_capture_check(&n->head) || n->head.nr_bytes > data.n)
		return sonde_err_at(err, SONDE_ERR_FORMAT, n->src->path, 0, 
			"damaged header: copy it again");
	return 0;
}

void sonde_native__each_block(const struct native *n,
	void (*take)(void *of, const struct sonde_block_head *h, const uint8_t *p), void *of)
{
	struct sonde_str data = n->src->file.data;
	struct walk w = {.base = (const uint8_t *)data.p,
		.end = (const uint8_t *)data.p + data.n,
		.at = (const uint8_t *)data.p + n->head.nr_bytes};
	struct sonde_block_head h;
	const uint8_t *p;
	bool skipped;

	while ((p = block_next(&w, &h, &skipped)))
		take(of, &h, p);
}

/*
 * If some files were folded, everything up to the end of the first further file was counted already; struct sonde_rolled
 * says why that file still exists. `nr` files have begun by now; the last of them begins at `offset`.
 */
static void begin_file(struct native *n, uint32_t nr, size_t offset)
{
	bool is_before = n->rolled.next && nr <= NATIVE_NR_BEFORE;

	n->is_begun = true;
	n->nr_begun = nr;
	if (nr == 2)
		n->head_bytes = offset;
	if (n->rolled.next && nr == NATIVE_NR_BEFORE + 1)
		n->from = offset;
	if (sonde_native__options(n).looks_ahead && nr == n->r->options.nr_files)
		n->ahead = offset;
	n->current_counts = is_before || n->ahead < SIZE_MAX ? &n->uncounted : &n->counts;
	if (nr > 1)
		sonde_put(&n->src->work, &n->files, offset);
}

int sonde_native__read_blocks(struct native *n, struct sonde_err *err)
{
	struct sonde_str data = n->src->file.data;
	struct sonde_block_head h;
	const uint8_t *p;
	struct walk w;
	uint32_t nr_files = 0;
	bool skipped;
	int rc = read_head(n, err);

	if (rc)
		return rc;
	w.base = (const uint8_t *)data.p;
	w.end = w.base + data.n;
	w.at = w.base + n->head.nr_bytes;
	w.next_seq = w.nr_vain = 0;
	w.nr_files = 1;
	w.is_cut = false;
	n->ahead = SIZE_MAX;
	n->domains[0] = SONDE_NONE;
	for (size_t i = 1; i < NATIVE_NR_DOMAINS; i++)
		n->domains[i] = SONDE_NONE;
	while ((p = block_next(&w, &h, &skipped))) {
		for (; nr_files < w.nr_files; nr_files++)
			begin_file(n, nr_files + 1, (size_t)(p - w.base));
		n->current_counts->bad_blocks += skipped;
		if (h.seq > w.next_seq)
			n->current_counts->missing_blocks += h.seq - w.next_seq;
		w.next_seq = (uint64_t)h.seq + 1;
		read_block(n, &h, p);
		if (sonde_native__failed(n))
			return sonde_err_nomem(err);
	}
	if (n->rolled.next && !n->from)
		n->from = data.n;
	if (is_rolled_capture(n) && !n->r->from_ns)
		n->r->from_ns = UINT64_MAX;
	if (n->is_begun && n->host.points.nr)
		n->last_ns = n->host.points.at[n->host.points.nr - 1].to_ns;
	if (n->rolled.next && n->rolled.rules != SONDE_ROLLED_RULES)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: an earlier version of sonde folded its oldest files in a way that this version cannot continue: report "
			"with the version that made the capture",
			n->src->path);
	if (sonde_native__options(n).looks_ahead && n->ahead == SIZE_MAX)
		return sonde_err_set(err, SONDE_ERR_USAGE, "%s: the capture has fewer than %u files; are all of them there?", n->src->path,
			n->r->options.nr_files);
	if (sonde_native__meta(n, "part").n)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: this is a later file of a capture: name the capture's first file, which has no number after " SONDE_CAPTURE_SUFFIX,
			n->src->path);
	n->r->inputs.at[n->src->input].is_running = n->is_written && !n->ended && !sonde_native__is_sampler(n);
	n->is_cut = n->src->says_cut = skipped && w.is_cut && !n->ended;
	n->current_counts->bad_blocks += skipped && !n->is_cut;
	sonde_vec_sort(&n->pieces, by_place);
	n->host.hz = (double)n->head.tick_hz;
	n->gpu.hz = 1e9;
	sonde_clock_map__init(&n->host);
	return sonde_native__read_windows(n, err);
}
