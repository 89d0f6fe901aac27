/* Arrays grow by half. The type is the macro's business; here are bytes. */
#include "base/vec.h"

#include "base/alloc.h"

#include <stdint.h>
#include <string.h>

bool sonde_vec_grow(void **at, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap;
	void *p;

	if (want <= n)
		return true;
	while (n < want) {
		if (n > SIZE_MAX / 4 / size)
			return false;
		n = n ? n + n / 2 + 1 : 8;
	}
	p = sonde_realloc(*at, n * size);
	if (!p)
		return false;
	*at = p;
	*cap = n;
	return true;
}

bool sonde_vec_add(
	void **at, size_t *nr, size_t *cap, const void *from, size_t nr_more, size_t size)
{
	if (!sonde_vec_grow(at, cap, *nr + nr_more + 1, size))
		return false;
	if (nr_more)
		memcpy((char *)*at + *nr * size, from, nr_more * size);
	*nr += nr_more;
	return true;
}

void sonde_vec_drop(void *at)
{
	sonde_free(at);
}
