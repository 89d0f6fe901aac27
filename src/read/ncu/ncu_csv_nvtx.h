/* The NVTX cells of ncu's CSV → range entries and the set of open ranges. */
#ifndef SONDE_READ_NCU_CSV_NVTX_H
#define SONDE_READ_NCU_CSV_NVTX_H

#include "read/ncu/ncu_entries.h"

/* One range as a cell has it. */
struct csv_item {
	uint32_t domain, label;
	uint64_t id; /* start/end; for push/pop: whether it was dealt with */
};

/* NVTX: the ranges that are open, as the rows so far say. */
struct csv_nvtx {
	struct ncu_entries entries;
	SONDE_VEC(struct csv_item) items; /* scratch: of the current cell, in order */
	uint64_t nr_doubtful;		  /* labels whose border with the domain is a guess */
	uint64_t nr_lost;		  /* pieces of NVTX cells that make no sense */
};

/* A row while it is read. */
struct csv_result {
	struct sonde_record rec; /* its caller comes last */
	uint32_t process;
	uint64_t thread;
};

/* Sets rec.open and, where the push/pop cell has it, the thread. */
void csv_read_nvtx(struct csv_nvtx *n, struct sonde_records *r, struct csv_result *res,
	const struct sonde_str cells[2]);
/* The same where a row names its range and nothing else; each row is an entry. */
void csv_read_range(struct csv_nvtx *n, struct sonde_records *r, struct csv_result *res, struct sonde_str label);

#endif
