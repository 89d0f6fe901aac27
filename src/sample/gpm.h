/*
 * GPM: NVML's performance metrics of one device. They are coarse (new values come every tenth of a second, in per cent of
 * the time), but need no permission. We use them where the driver refuses CUPTI's PM sampling, or another program has it.
 *
 * A reading compares two snapshots of the driver's counters. The driver has new values ten times a second. Between two
 * snapshots with the same values no time has passed: the result is zero, or a division by zero. So we ask often, always
 * against the last snapshot that had new values ("news"), and a row lasts from one piece of news to the next.
 *
 * Values are nanoseconds: the percentage times the row's length. So they can be added up, as counters can. They are never
 * cycles or bytes: GPM does not have these.
 */
#ifndef SONDE_SAMPLE_GPM_H
#define SONDE_SAMPLE_GPM_H

#include "base/err.h"
#include "sample/sampling.h"

#define SONDE_GPM_PERIOD_NS 100000000u /* time between new values; seen on an H200 with driver 580 */

struct sonde_gpm;

/*
 * Opens GPM on the device that `like` names; with `like` NULL on NVML's first device, to see whether there is GPM.
 * SONDE_ERR_NOTFOUND: there is no NVML, it has no GPM, or the GPU is older than Hopper or split (MIG); `err` says which.
 */
int sonde_gpm_open(struct sonde_gpm **out, const struct sonde_counter_set *like, struct sonde_err *err);
void sonde_gpm_close(struct sonde_gpm *g);

const struct sonde_counter_set *sonde_gpm_set(const struct sonde_gpm *g);

/*
 * Must be called every few milliseconds, with the time on the clock of samples. True: `*out` has a row, valid until the
 * next call.
 */
bool sonde_gpm_tick(struct sonde_gpm *g, uint64_t now_ns, struct sonde_sample_rows *out);

#endif
