/* The NVTX cells of ncu's CSV → range entries and the set of open ranges. */
#ifndef SONDE_READ_NCU_CSV_NVTX_H
#define SONDE_READ_NCU_CSV_NVTX_H

#include "read/ncu/ncu_entries.h"

/* One range in a cell. */
struct csv_item {
	uint32_t domain, label;
	uint64_t id; /* of a start/end range */
	bool is_handled; /* of a push/pop range: its stack was read */
};

/* The ranges that are open according to the rows so far. */
struct csv_nvtx {
	struct ncu_entries entries;
	SONDE_VEC(struct csv_item) items; /* scratch: ranges of the current cell, in order */
	uint64_t nr_doubtful;		  /* labels where the end of the domain is a guess */
	uint64_t nr_lost;		  /* parts of NVTX cells that make no sense */
};

/* A row while it is being read. */
struct csv_result {
	struct sonde_record rec; /* its caller is filled in last */
	uint32_t process;
	uint64_t thread;
};

/* Sets rec.open and, if the push/pop cell has it, the thread. */
void csv_read_nvtx(struct csv_nvtx *n, struct sonde_records *r, struct csv_result *res,
	const struct sonde_str cells[2]);
/* The same for a row that only has the name of its range; each row is an entry of its own. */
void csv_read_range(struct csv_nvtx *n, struct sonde_records *r, struct csv_result *res, struct sonde_str label);

#endif
