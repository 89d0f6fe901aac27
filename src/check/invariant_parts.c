/* Quantities without an exclusive part: the regions inside one have at most what it has. */
#include "check/validate_int.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *group, *key; /* group NULL: of the region itself */
} parts[] = {
	{NULL, "adopted_launches"},
	{"memory", "allocated_bytes"},
	{"memory", "freed_bytes"},
};

static double number(const json_t *region, size_t part)
{
	const json_t *of =
		parts[part].group ? json_object_get(region, parts[part].group) : region;

	return sonde_invariant__number(of, parts[part].key);
}

static int fail(struct sonde_validation *v, size_t region, size_t part)
{
	sonde_validation__index(v, region);
	if (parts[part].group)
		sonde_validation__key(v, parts[part].group);
	return sonde_invariant__fail(v, parts[part].key, "is less than that of the regions inside");
}

int sonde_invariant__check_parts(
	struct sonde_validation *v, const json_t *const *regions, const size_t *parent, size_t nr)
{
	double *inside = sonde_calloc(nr + 1, sizeof(*inside)), own;
	size_t i, k;
	int rc = inside ? 0 : sonde_err_nomem(v->err);

	for (k = 0; k < sizeof(parts) / sizeof(*parts) && rc == 0; k++) {
		memset(inside, 0, nr * sizeof(*inside));
		for (i = 0; i < nr; i++) {
			own = number(regions[i], k);
			if (parent[i] != SIZE_MAX && !isnan(own))
				inside[parent[i]] += own;
		}
		for (i = 0; i < nr && rc == 0; i++) {
			own = number(regions[i], k);
			if (sonde_invariant__exceeds(inside[i], isnan(own) ? 0 : own))
				rc = fail(v, i, k);
		}
	}
	sonde_free(inside);
	return rc;
}
