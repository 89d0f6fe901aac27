/*
 * One pass over a mapped file, which adds up its words: any reader of the whole file
 * must do at least this.
 *
 *     plainpass FILE
 */
#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct sonde_mapping m;
	struct sonde_err err = {0};
	uint64_t sum = 0, word;
	size_t i;

	if (argc != 2 || sonde_mapping_open(&m, argv[1], &err)) {
		fprintf(stderr, "plainpass: %s\n", argc == 2 ? err.msg : "usage: plainpass FILE");
		return 1;
	}
	for (i = 0; i + sizeof(word) <= m.data.n; i += sizeof(word)) {
		memcpy(&word, m.data.p + i, sizeof(word));
		sum += word;
	}
	for (; i < m.data.n; i++)
		sum += (unsigned char)m.data.p[i];
	printf("%" PRIu64 "\n", sum);
	sonde_mapping_release(&m);
	return 0;
}
