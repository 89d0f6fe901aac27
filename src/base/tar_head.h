/* The header of a member of a tar archive (ustar), as on disk. */
#ifndef SONDE_BASE_TAR_HEAD_H
#define SONDE_BASE_TAR_HEAD_H

#include <stddef.h>

#define SONDE_TAR_BLOCK 512u

struct sonde_tar_head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], owner[32], group[32], major[8], minor[8];
	char prefix[155], pad[12];
};
_Static_assert(sizeof(struct sonde_tar_head) == SONDE_TAR_BLOCK, "a header is a block");

/* The sum of all bytes of the header, with blanks in place of the checksum itself. */
static inline unsigned sonde_tar_checksum(const struct sonde_tar_head *h)
{
	const unsigned char *p = (const unsigned char *)h;
	size_t at = offsetof(struct sonde_tar_head, checksum), i;
	unsigned sum = 0;

	for (i = 0; i < SONDE_TAR_BLOCK; i++)
		sum += i >= at && i < at + sizeof(h->checksum) ? ' ' : p[i];
	return sum;
}

#endif
