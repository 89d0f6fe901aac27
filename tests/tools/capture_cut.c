/*
 * Cuts a native capture into files of at least BYTES bytes, as the library does with capture.rotate,
 * but between any two blocks:
 *
 *     capture_cut CAPTURE OUT BYTES [flush]       writes OUT, OUT.1, OUT.2, …
 *
 * With `flush` it cuts only where the library may cut: behind all blocks of one flush.
 * Each file repeats the names, notes and totals of the files before it, and the earlier blocks of every chunk
 * that continues in it or later.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "base/vec.h"
#include "format/checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
	struct sonde_block_head head;
	const char *payload;
	struct sonde_events piece; /* the head of a block of events */
};

struct cut {
	struct sonde_capture_head head;
	SONDE_VEC(struct block) blocks;
	FILE *out;
	uint32_t seq;
	size_t nr_bytes;
};

static void put(struct cut *c, unsigned type, const void *payload, size_t nr)
{
	struct sonde_block_head h = {.magic = SONDE_BLOCK_MAGIC,
		.type = (uint16_t)type,
		.nr_bytes = (uint32_t)nr,
		.seq = c->seq++};

	h.check = sonde_block_check(&h, payload);
	fwrite(&h, sizeof(h), 1, c->out);
	fwrite(payload, nr, 1, c->out);
	c->nr_bytes += sizeof(h) + nr;
}

static bool is_same_chunk(const struct block *a, const struct block *b)
{
	return a->head.type == SONDE_BLOCK_EVENTS && b->head.type == SONDE_BLOCK_EVENTS &&
	       a->piece.stream == b->piece.stream && a->piece.chunk == b->piece.chunk;
}

/* Whether block `i`, which is before `at`, must be repeated in a file that begins at `at`. */
static bool is_again(const struct cut *c, size_t i, size_t at)
{
	const struct block *b = &c->blocks.at[i];
	size_t k;

	if (b->head.type == SONDE_BLOCK_STRINGS || b->head.type == SONDE_BLOCK_NOTE || b->head.type == SONDE_BLOCK_LOSS ||
		b->head.type == SONDE_BLOCK_STATUS || b->head.type == SONDE_BLOCK_THREAD)
		return true;
	for (k = at; b->head.type == SONDE_BLOCK_EVENTS && k < c->blocks.nr; k++)
		if (is_same_chunk(b, &c->blocks.at[k]))
			return true;
	return false;
}

static void begin(struct cut *c, const char *out, unsigned part, size_t at)
{
	char path[4096], meta[16384];
	size_t i;
	int n;

	snprintf(path, sizeof(path), part ? "%s.%u" : "%s", out, part);
	if (c->out)
		fclose(c->out);
	c->out = fopen(path, "wb");
	if (!c->out)
		exit(1);
	fwrite(&c->head, sizeof(c->head), 1, c->out);
	c->seq = 0;
	c->nr_bytes = sizeof(c->head);
	if (!part)
		return;
	n = snprintf(meta, sizeof(meta), "%.*spart=%u\n", (int)c->blocks.at[0].head.nr_bytes,
		c->blocks.at[0].payload, part);
	put(c, SONDE_BLOCK_META, meta, (size_t)n);
	for (i = 0; i < at; i++)
		if (is_again(c, i, at))
			put(c, c->blocks.at[i].head.type, c->blocks.at[i].payload,
				c->blocks.at[i].head.nr_bytes);
	c->nr_bytes = 0;
}

static void read_blocks(struct cut *c, struct sonde_str data)
{
	size_t at = sizeof(c->head);
	struct block *b;

	memcpy(&c->head, data.p, sizeof(c->head));
	while (at + sizeof(b->head) <= data.n) {
		b = sonde_vec_push(&c->blocks);
		if (!b)
			exit(1);
		memcpy(&b->head, data.p + at, sizeof(b->head));
		b->payload = data.p + at + sizeof(b->head);
		if (b->head.type == SONDE_BLOCK_EVENTS)
			memcpy(&b->piece, b->payload, sizeof(b->piece));
		at += sizeof(b->head) + b->head.nr_bytes;
	}
}

int main(int argc, char **argv)
{
	struct sonde_mapping file;
	struct cut c = {0};
	unsigned part = 0;
	size_t i, most;

	if (argc < 4 || sonde_mapping_open(&file, argv[1], NULL))
		return 2;
	most = strtoul(argv[3], NULL, 10);
	read_blocks(&c, file.data);
	begin(&c, argv[2], part, 0);
	for (i = 0; i < c.blocks.nr; i++) {
		if (i > 2 && c.nr_bytes >= most && (argc == 4 || c.blocks.at[i - 1].head.type == SONDE_BLOCK_STATUS))
			begin(&c, argv[2], ++part, i);
		put(&c, c.blocks.at[i].head.type, c.blocks.at[i].payload, c.blocks.at[i].head.nr_bytes);
	}
	sonde_vec_release(&c.blocks);
	sonde_mapping_release(&file);
	printf("%u\n", part + 1);
	return fclose(c.out) != 0;
}
