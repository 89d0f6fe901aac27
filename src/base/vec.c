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

void *sonde_vec_clear_at(void *p, size_t size)
{
	return memset(p, 0, size);
}

void sonde_vec_drop(void *at)
{
	sonde_free(at);
}
