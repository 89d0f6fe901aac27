/*
 * PC samples → lines of source.
 *
 * A capture with PC samples keeps the code that ran, each cubin once: as a file in cubins/ beside the capture, named by
 * its checksum. The line tables are read here, so that a capture can be reported on any machine. Samples in code that
 * was not kept, or has no line information, have no lines, but still their instructions.
 */
#include "base/file.h"
#include "base/keysort.h"
#include "catalogue/stall_reasons.h"
#include "read/cubin.h"
#include "read/native/native_int.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TAR	    ".tar" /* archive of the captures of a node (capture/local.h) */
#define MAX_INLINED 64u /* inlined calls around one instruction; more are left out */

/* The state while the batches of one cubin are looked up. */
struct lining {
	struct native *n;
	struct sonde_map *keys; /* keys of pc_lines from number first_line on: file, line and caller */
	uint32_t first_line;
	const struct sonde_cubin *cubin;
	uint32_t *line_of; /* by row: number in pc_lines + 1, 0 = not looked up yet */
	struct sonde_arena *scratch;
};

/* The path of a row's file. */
static uint32_t file_of(struct lining *l, const struct sonde_cubin_row *row)
{
	struct sonde_buf path = {0};
	uint32_t file;

	if (row->folder.n && !sonde_str_starts(row->file, "/")) {
		sonde_buf_str(&path, row->folder);
		sonde_buf_putc(&path, '/');
	}
	sonde_buf_str(&path, row->file);
	l->n->r->arena.failed |= path.failed;
	file = sonde_records__copied(l->n->r, sonde_buf_view(&path));
	sonde_buf_release(&path);
	return file;
}

/* Enters one row whose caller's line is known; returns its number in pc_lines + 1. 0: no memory, which the arena remembers. */
static uint32_t enter_row(struct lining *l, uint32_t at, uint32_t caller)
{
	const struct sonde_cubin_row row = sonde_cubin_row(l->cubin, at);
	const struct sonde_pc_line line = {file_of(l, &row), row.line, caller};
	bool is_new = false;
	uint32_t number = sonde_intern_copy(l->scratch, l->keys, SONDE_BYTES(line), &is_new);

	if (is_new)
		sonde_put(&l->n->r->arena, &l->n->r->pc_lines, line);
	if (number >= l->n->r->pc_lines.nr - l->first_line)
		return 0;
	return l->line_of[at] = l->first_line + number + 1;
}

/* Enters the rows of all callers, outermost first, then the row; returns its number + 1. */
static uint32_t line_of(struct lining *l, uint32_t at)
{
	uint32_t chain[MAX_INLINED], nr = 0, known = 0;

	for (; at != SONDE_CUBIN_NONE && nr < MAX_INLINED && !(known = l->line_of[at]);
		at = sonde_cubin_row(l->cubin, at).caller)
		chain[nr++] = at;
	while (nr) {
		known = enter_row(l, chain[--nr], known ? known - 1 : SONDE_NONE);
		if (!known)
			return 0;
	}
	return known;
}

static void find_lines(struct lining *l, const struct sonde_pc_batch *b)
{
	struct sonde_records *r = l->n->r;
	const struct sonde_str symbol = sonde_records_str(r, b->symbol);
	uint32_t i, at;

	for (i = 0; i < b->nr; i++) {
		struct sonde_pc_sample *s = &r->pc_samples.at[b->first + i];

		at = sonde_cubin_find(l->cubin, symbol, s->pc);
		if (at != SONDE_CUBIN_NONE)
			s->line = line_of(l, at);
	}
}

/*
 * The length of the path of the folder that contains cubins/, 0 = the current one. It is the folder of the capture, or
 * of the archive that the capture is in: ranks of a node share an archive and the code beside it.
 */
static size_t folder_of(const char *path)
{
	const char *end = path + strlen(path), *tar = NULL, *at;
	char archive[4096];
	struct stat st;

	for (at = strstr(path, TAR "/"); at; at = strstr(at + 1, TAR "/"))
		tar = at + strlen(TAR);
	if (tar && snprintf(archive, sizeof(archive), "%.*s", (int)(tar - path), path) < (int)sizeof(archive) &&
		stat(archive, &st) == 0 && S_ISREG(st.st_mode))
		end = tar;
	at = memrchr(path, '/', (size_t)(end - path));
	return at ? (size_t)(at + 1 - path) : 0;
}

/* How many cubins with line tables and PC samples there are, and how many of them give no lines. */
struct tally {
	uint64_t all, missing, damaged;
};

/* Looks up the batches of one cubin. False when it is missing or cannot be read. `*has_rows`: its line table has some. */
static bool read_cubin(struct lining *l, const char *path, const struct sonde_keyed *batches, size_t nr, bool *has_rows)
{
	struct sonde_mapping file = {0};
	struct sonde_cubin *cubin = NULL;
	struct sonde_err err = {0};
	bool ok = sonde_mapping_open(&file, path, &err) == 0 && sonde_cubin_open(&cubin, file.data, &err) == 0;
	size_t i;

	if (ok) {
		l->cubin = cubin;
		*has_rows = sonde_cubin_nr_rows(cubin);
		l->line_of = sonde_arena_calloc(l->scratch, sonde_cubin_nr_rows(cubin) + 1, sizeof(*l->line_of));
		for (i = 0; i < nr && l->line_of; i++)
			find_lines(l, &l->n->r->pc_batches.at[batches[i].index]);
	}
	sonde_cubin_free(cubin);
	sonde_mapping_release(&file);
	return ok;
}

static void note_tally(const struct native *n, const struct tally *t)
{
	if (t->missing)
		sonde_note(&n->r->notes,
			"%s: %llu of %llu cubins with line tables and PC samples cannot be read in the folder cubins/ beside it: their "
			"kernels have no source lines; copy that folder with the capture",
			n->src->path, (unsigned long long)t->missing, (unsigned long long)t->all);
	if (t->damaged)
		sonde_note(&n->r->notes, "%s: %llu of %llu cubins with PC samples " SONDE_HAS_BAD_LINES ": their kernels have no source lines",
			n->src->path, (unsigned long long)t->damaged, (unsigned long long)t->all);
}

static bool was_kept(const struct sonde_records *r, const struct sonde_keyed *batches, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && !r->pc_batches.at[batches[i].index].has_code; i++)
		;
	return i < nr;
}

static void look_up(struct lining *l, const char *path, const struct sonde_keyed *batches, size_t nr, struct tally *t)
{
	bool has_rows = false, is_there = read_cubin(l, path, batches, nr, &has_rows);

	if (!was_kept(l->n->r, batches, nr))
		return;
	t->all++;
	t->missing += !is_there;
	t->damaged += is_there && !has_rows;
}

void sonde_native__lines(struct native *n)
{
	struct sonde_records *r = n->r;
	const size_t nr = r->pc_batches.nr - n->first_batch;
	struct sonde_arena scratch = {0};
	struct sonde_map keys = {0};
	struct lining l = {.n = n, .keys = &keys, .first_line = (uint32_t)r->pc_lines.nr, .scratch = &scratch};
	struct sonde_keyed *batches = nr ? sonde_arena_alloc(&scratch, nr * sizeof(*batches)) : NULL;
	struct tally tally = {0};
	size_t i, k;
	char path[4096];

	for (i = 0; i < nr && batches; i++)
		batches[i] = (struct sonde_keyed){r->pc_batches.at[n->first_batch + i].cubin, (uint32_t)(n->first_batch + i)};
	if (batches && sonde_keysort(batches, nr))
		for (i = 0; i < nr; i = k) {
			for (k = i + 1; k < nr && batches[k].key == batches[i].key; k++)
				;
			snprintf(path, sizeof(path), "%.*scubins/%016llx.cubin", (int)folder_of(n->src->path), n->src->path,
				(unsigned long long)batches[i].key);
			look_up(&l, path, &batches[i], k - i, &tally);
		}
	note_tally(n, &tally);
	r->arena.failed |= scratch.failed;
	sonde_arena_release(&scratch);
}
