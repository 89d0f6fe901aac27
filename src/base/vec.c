/*
 * Arrays grow by half. The macros know the element type; the functions here handle bytes. A header in front of the
 * first element links the arrays of one arena: when growing moves an array, its links are updated, and the arena
 * never needs the address of a vector.
 */
#include "base/vec.h"

#include "base/alloc.h"
#include "base/arena.h"

struct sonde_vec_head {
	struct sonde_vec_head *next;
	struct sonde_vec_head **link; /* the pointer that points to this header; NULL: no arena owns the array */
};

_Static_assert(sizeof(struct sonde_vec_head) % _Alignof(max_align_t) == 0, "elements are aligned");

static struct sonde_vec_head *head_of(void *at)
{
	return at ? (struct sonde_vec_head *)at - 1 : NULL;
}

void *sonde_vec_resize(struct sonde_arena *a, void *at, size_t nr_bytes)
{
	struct sonde_vec_head *head = head_of(at);

	head = nr_bytes < SIZE_MAX / 2 ? sonde_realloc(head, sizeof(*head) + nr_bytes) : NULL;
	if (!head) {
		if (a)
			a->failed = true;
		return NULL;
	}
	if (!at)
		*head = (struct sonde_vec_head){0};
	if (a && !head->link) {
		head->next = a->vecs;
		head->link = &a->vecs;
	}
	if (head->link)
		*head->link = head;
	if (head->next)
		head->next->link = &head->next;
	return head + 1;
}

bool sonde_vec_grow(struct sonde_arena *a, void **at, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap;
	void *p;

	if (want <= n)
		return true;
	while (n < want && n <= SIZE_MAX / 4 / size)
		n = n ? n + n / 2 + 1 : 8;
	p = sonde_vec_resize(a, *at, n < want ? SIZE_MAX : n * size);
	if (!p)
		return false;
	*at = p;
	*cap = n;
	return true;
}

bool sonde_vec_add(
	void **at, size_t *nr, size_t *cap, const void *from, size_t nr_more, size_t size)
{
	if (!sonde_vec_grow(NULL, at, cap, *nr + nr_more + 1, size))
		return false;
	if (nr_more)
		memcpy((char *)*at + *nr * size, from, nr_more * size);
	*nr += nr_more;
	return true;
}

void sonde_vec_drop(void *at)
{
	struct sonde_vec_head *head = head_of(at);

	if (head && head->link)
		*head->link = head->next;
	if (head && head->next)
		head->next->link = head->link;
	sonde_free(head);
}

void sonde_vec_drop_all(struct sonde_arena *a)
{
	while (a->vecs)
		sonde_vec_drop(a->vecs + 1);
}
