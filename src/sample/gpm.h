/*
 * GPM: NVML's performance metrics of one device. Coarse (new values come every tenth of a second, in per cent of
 * the time) and without a permission: for where CUPTI's PM sampling is refused, or another program has it.
 *
 * A reading is two snapshots of the driver's counters. The driver takes new values ten times a second, so two
 * snapshots that are closer together have no time between them: nothing is counted, or a division by zero. So
 * the device is asked often, always against the last snapshot that had news, and a row goes from one piece of
 * news to the next.
 *
 * Values are nanoseconds: the percentage of the row's time. They add up as counters do; they are never cycles or
 * bytes, which GPM does not tell.
 */
#ifndef SONDE_SAMPLE_GPM_H
#define SONDE_SAMPLE_GPM_H

#include "base/err.h"
#include "sample/sampling.h"

#define SONDE_GPM_PERIOD_NS 100000000u /* between new values; seen on an H200, driver 580 */

struct sonde_gpm;

/*
 * Of the device that `like` is about. SONDE_ERR_NOTFOUND: no NVML, or one without GPM, a GPU older than Hopper, or
 * one that is split; `err` says which. `like` NULL: NVML's first device, to see whether there is GPM.
 */
int sonde_gpm_open(struct sonde_gpm **out, const struct sonde_counter_set *like, struct sonde_err *err);
void sonde_gpm_close(struct sonde_gpm *g);

const struct sonde_counter_set *sonde_gpm_set(const struct sonde_gpm *g);

/* To be called every few milliseconds, with the time. True: `*out` has a row, valid until the next call. */
bool sonde_gpm_tick(struct sonde_gpm *g, uint64_t now_ns, struct sonde_sample_rows *out);

#endif
