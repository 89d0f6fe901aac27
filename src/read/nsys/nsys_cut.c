/*
 * An export that was not copied whole. Its header says how many pages there were; SQLite refuses
 * to look at fewer, so it gets a copy of the file whose header says how many there are. Tables then
 * give the rows before the first page that is missing.
 */
#include "read/nsys/nsys_int.h"

#define PAGE_SIZE  16 /* where the header has it: two bytes, 1 means 65536 */
#define PAGE_COUNT 28 /* four bytes */

static uint32_t number_at(struct sonde_str data, size_t at, size_t n)
{
	uint32_t v = 0;
	size_t i;

	for (i = 0; i < n; i++)
		v = v << 8 | (unsigned char)data.p[at + i];
	return v;
}

int sonde_nsys__mend(struct nsys *n)
{
	struct sonde_source *src = n->src;
	struct sonde_str data = src->file.data;
	uint32_t size = number_at(data, PAGE_SIZE, 2), there;
	uint64_t whole;
	size_t i;

	size = size == 1 ? 65536 : size;
	whole = (uint64_t)number_at(data, PAGE_COUNT, 4) * size;
	if (size < 512 || size & (size - 1) || whole <= data.n)
		return 0;
	there = (uint32_t)(data.n / size);
	n->cut_pct = (double)data.n * 100 / (double)whole;
	sonde_buf_add(&n->mended, data.p, (size_t)there * size);
	if (n->mended.failed)
		return sonde_err_nomem(n->err);
	for (i = 0; i < 4 && there; i++)
		n->mended.p[PAGE_COUNT + i] = (char)(there >> (24 - 8 * i));
	return 0;
}

int sonde_nsys__say_cut(struct nsys *n, int rc)
{
	if (!n->cut_pct || (rc && rc != SONDE_ERR_FORMAT))
		return rc;
	n->src->says_cut = true;
	if (rc)
		return sonde_err_set(n->err, rc, "%s: truncated after %.0f %%; copy it again",
			n->src->path, n->cut_pct);
	sonde_note_loss(&n->r->notes, "%s: truncated after %.0f %%; copy it again", n->src->path,
		n->cut_pct);
	return 0;
}
