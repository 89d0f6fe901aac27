#include "inject/raw_int.h"

size_t sonde_raw__slurp(const char *path, char *to, size_t cap)
{
	int fd = raw_open(path, O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : raw_read(fd, to, cap - 1);

	if (fd >= 0)
		raw_close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

void sonde_raw__text(struct raw_text *t, const char *text)
{
	for (; *text && t->n + 1 < t->cap; text++)
		t->p[t->n++] = *text;
	t->p[t->n] = '\0';
}

void sonde_raw__number(struct raw_text *t, uint64_t number)
{
	char digits[24], *at = digits + sizeof(digits);

	*--at = '\0';
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	sonde_raw__text(t, at);
}
