/*
 * Each block is twice as large as the one before, up to a megabyte: a large arena needs few mallocs,
 * a small one wastes little. In the sanitizer build every allocation is a block of its own.
 */
#include "base/arena.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ALIGN 16u

struct sonde_arena_block {
	struct sonde_arena_block *next;
	size_t used, cap;
	size_t pad; /* keeps `data` 16-byte aligned */
	char data[];
};

#ifdef SONDE_ARENA_MALLOC
static size_t block_size(const struct sonde_arena *a, size_t size)
{
	(void)a;
	return size;
}
#else
static size_t block_size(const struct sonde_arena *a, size_t size)
{
	size_t cap = a->head ? a->head->cap * 2 : 4096;

	if (cap > (1u << 20))
		cap = 1u << 20;
	return cap < size ? size : cap;
}
#endif

static struct sonde_arena_block *add_block(struct sonde_arena *a, size_t size)
{
	size_t cap = block_size(a, size);
	struct sonde_arena_block *b = sonde_malloc(sizeof(*b) + cap);

	if (!b)
		return NULL;
	b->next = a->head;
	b->used = 0;
	b->cap = cap;
	a->head = b;
	return b;
}

void *sonde_arena_alloc(struct sonde_arena *a, size_t size)
{
	struct sonde_arena_block *b = a->head;
	void *p;

	if (size > SIZE_MAX / 2)
		goto fail;
	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!b || size > b->cap - b->used) {
		b = add_block(a, size);
		if (!b)
			goto fail;
	}
	p = b->data + b->used;
	b->used += size;
	a->nr_bytes += size;
	return p;
fail:
	a->failed = true;
	return NULL;
}

void *sonde_arena_calloc(struct sonde_arena *a, size_t nr, size_t size)
{
	void *p;

	if (size && nr > SIZE_MAX / 2 / size) {
		a->failed = true;
		return NULL;
	}
	p = sonde_arena_alloc(a, nr * size);
	if (p)
		memset(p, 0, nr * size);
	return p;
}

struct sonde_str sonde_arena_dup(struct sonde_arena *a, struct sonde_str s)
{
	char *p = sonde_arena_z(a, s);

	return p ? (struct sonde_str){p, s.n} : (struct sonde_str){NULL, 0};
}

char *sonde_arena_z(struct sonde_arena *a, struct sonde_str s)
{
	char *p = sonde_arena_alloc(a, s.n < SIZE_MAX ? s.n + 1 : s.n);

	if (!p)
		return NULL;
	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return p;
}

char *sonde_arena_take(struct sonde_arena *a, struct sonde_buf *b)
{
	char *z = b->failed ? NULL : sonde_arena_z(a, sonde_buf_view(b));

	a->failed |= b->failed;
	sonde_buf_release(b);
	return z;
}

struct sonde_str sonde_arena_printf(struct sonde_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	p = sonde_arena_alloc(a, n < 0 ? SIZE_MAX : (size_t)n + 1);
	if (p)
		vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p ? (struct sonde_str){p, (size_t)n} : (struct sonde_str){NULL, 0};
}

int sonde_arena_status(const struct sonde_arena *a, struct sonde_err *err)
{
	return a->failed ? sonde_err_nomem(err) : 0;
}

void sonde_arena_release(struct sonde_arena *a)
{
	sonde_vec_drop_all(a);
	while (a->head) {
		struct sonde_arena_block *b = a->head;

		a->head = b->next;
		sonde_free(b);
	}
	*a = (struct sonde_arena){0};
}
