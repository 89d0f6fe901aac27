/*
 * Sampled counters: the counters of launches, computed from samples of their device,
 * in one run, without replay.
 *
 * `unmix` gives each class of launches its share of the counts, with errors that are
 * correlated. So `unmix` also computes sums over cells; errors must never be added up
 * here. The table below has the figures of a region: sums under the names of Nsight
 * Compute, and percentages made from sums.
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
	SONDE_OVER_DRAM,    /* bytes that the memory can move in the time the launches ran */
	SONDE_OVER_TIME,    /* the time the launches ran: gives the clock of an SM */
	SONDE_OVER_RUNNING, /* the time the launches ran, as divisor of GPM's busy nanoseconds */
	SONDE_OVER_BUSY,    /* GPM's nanoseconds of SMs with a warp resident */
};

struct sonde_sampled_metric {
	const char *name;
	const char *roles[2]; /* the counters that are added up (see sample/roles.c); NULL = none */
	uint8_t over;	      /* enum sonde_sampled_over */
	double most; /* the ratio that is 100 %; 0 = use the device's peak, if known */
};
extern const struct sonde_sampled_metric sonde_sampled_metrics[];

/*
 * All possible metrics: those of the table, then a sum for each other counter, with the name of its role
 * (`l1.read_sectors`) or, without a role, NVIDIA's name. The sums are not verified against Nsight Compute.
 */
size_t sonde_sampled_nr_metrics(const struct sonde_cells *c);
struct sonde_sampled_metric sonde_sampled_metric_of(const struct sonde_cells *c, size_t metric);

/* The counters of one device, split among the cells of its scopes. */
struct sonde_sampled {
	struct sonde_sampled_set { /* counters that were sampled together */
		struct sonde_unmixed *unmixed;
		SONDE_VEC(struct sonde_str) roles; /* by counter: its role, or NVIDIA's name if it has none */
		SONDE_VEC(double) peaks; /* by counter: the most it counts in one SM cycle; 0 = unknown */
	} * sets;
	size_t nr_sets;
	double cycles_per_ns; /* cycles of all SMs together while they worked; NaN = unknown */
	double bytes_per_ns;  /* the most that its memory can move; NaN = unknown */
	double nr_sms;	      /* NaN = unknown */
	double *elapsed;      /* by class: cycles of all SMs while its launches ran; NULL = not sampled */
};
void sonde_sampled_free(struct sonde_sampled *s);

/* Whether the samples of some device give this metric. */
bool sonde_sampled_is_there(const struct sonde_cells *c, size_t metric);
/* A metric over the cells with these numbers. */
struct sonde_unmix_figure sonde_sampled_figure_of(
	const struct sonde_cells *c, const uint32_t *cells, size_t nr, size_t metric);

#endif
