/*
 * The names that the installed Nsight Compute knows: its sections, sets and metrics.
 * A wrong name is refused before a long run instead of after it.
 */
#ifndef SONDE_CAPTURE_NCU_NAMES_H
#define SONDE_CAPTURE_NCU_NAMES_H

#include "base/map.h"
#include "base/note.h"
#include "capture/ncu_args.h"

struct sonde_ncu_names {
	struct sonde_map sections, sets, metrics; /* empty = not asked, or no answer */
	struct sonde_arena arena;
};

/*
 * Asks `ncu --list-sections` and `--list-sets` when the request names one that not every ncu has, and `--query-metrics`
 * when `with_metrics` (`chip` NULL = the GPU here). A list that was not asked for or not answered stays empty, and
 * names are then not checked against it.
 */
void sonde_ncu_names_open(struct sonde_ncu_names *out, const struct sonde_tool *ncu,
	const struct sonde_ncu_request *q, const char *chip, bool with_metrics);
void sonde_ncu_names_release(struct sonde_ncu_names *o);

/*
 * SONDE_ERR_USAGE, with the nearest name, for the first section, set or metric that ncu does not have.
 * SONDE_ERR_NOTFOUND if that is a metric and no known name is near; `*metric` is its index.
 */
int sonde_ncu_names_check(const struct sonde_ncu_names *o, const struct sonde_ncu_request *q, size_t *metric,
	struct sonde_err *err);

#endif
