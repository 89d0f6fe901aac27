/*
 * Sampled counters: the counters of launches, found from samples of their device,
 * in one run, without replay.
 *
 * `unmix` gives each class of launches (here: each cell) its share of the
 * counts, with errors that know of each other. Sums over cells are made by it,
 * never by adding up errors. The table below has the figures of a region: sums
 * as Nsight Compute names them, and percentages made from sums.
 */
#ifndef SONDE_FOLD_SAMPLED_H
#define SONDE_FOLD_SAMPLED_H

#include "fold/cells.h"
#include "unmix/unmix.h"

/* The divisor of a sum, for a percentage. */
enum sonde_sampled_over {
	SONDE_OVER_NOTHING,
	SONDE_OVER_ELAPSED, /* cycles of all SMs while the launches ran */
	SONDE_OVER_ACTIVE,  /* cycles of SMs with a warp resident */
	SONDE_OVER_DRAM,    /* what the memory could move while the launches ran */
	SONDE_OVER_TIME,    /* the time they ran: the clock of an SM */
	SONDE_OVER_RUNNING, /* the time they ran: of GPM's busy nanoseconds */
	SONDE_OVER_BUSY,    /* GPM's nanoseconds of SMs with a warp resident */
};

struct sonde_sampled_metric {
	const char *name;
	const char *roles[2]; /* counters added up; see sample/roles.c for what they are */
	uint8_t over;	      /* enum sonde_sampled_over */
	double most; /* the largest ratio there can be: 100 %; 0 = the device's peak, if known */
};
extern const struct sonde_sampled_metric sonde_sampled_metrics[];

/*
 * The metrics there may be: those of the table, then a sum for each other counter, which is named as its role is
 * (`l1.read_sectors`) or, without one, as NVIDIA names it. They are not verified against Nsight Compute.
 */
size_t sonde_sampled_nr_metrics(const struct sonde_cells *c);
struct sonde_sampled_metric sonde_sampled_metric_of(const struct sonde_cells *c, size_t metric);

/* The counters of one device, split among the cells of its scopes. */
struct sonde_sampled {
	struct sonde_sampled_set { /* counters that were sampled together */
		struct sonde_unmixed *unmixed;
		SONDE_VEC(struct sonde_str) roles; /* by counter; of one without, NVIDIA's name */
		SONDE_VEC(double) peaks; /* by counter: in a cycle of the SMs; 0 = unknown */
	} * sets;
	size_t nr_sets;
	double cycles_per_ns; /* of all SMs together while they worked; NaN when unknown */
	double bytes_per_ns;  /* what its memory moves at most; NaN when unknown */
	double nr_sms;	      /* NaN when unknown */
	double *elapsed;      /* by class: cycles of all SMs while it ran; NULL = not sampled */
};
void sonde_sampled_free(struct sonde_sampled *s);

/* Whether some cells have the metric. */
bool sonde_sampled_is_there(const struct sonde_cells *c, size_t metric);
/* A metric over cells, by their numbers. */
struct sonde_unmix_figure sonde_sampled_figure_of(
	const struct sonde_cells *c, const uint32_t *cells, size_t nr, size_t metric);

#endif
