/* Private to sentences: what the sentences on regions of one side (fates.c) share with the others.
 */
#ifndef SONDE_COMPARE_SENTENCES_INT_H
#define SONDE_COMPARE_SENTENCES_INT_H

#include "base/number.h"
#include "compare/diff_int.h"

static inline void sonde_diff__put_time(struct sonde_buf *b, double ns)
{
	sonde_number_human(b, ns, "ns");
}

/* "a/b is", "a/b and 3 regions beside it are". */
void sonde_diff__put_subject(
	struct sonde_buf *b, const struct sonde_diff_region *r, size_t nr_beside);
/* What became of a region that one side alone has, and of as many beside it. */
void sonde_diff__say_lone(struct sonde_buf *b, const struct sonde_diff *d,
	const struct sonde_diff_region *r, size_t nr_beside);
/* Whether that is the same for two siblings, so that one sentence says both. */
bool sonde_diff__share_fate(const struct sonde_diff_region *a, const struct sonde_diff_region *b);

#endif
