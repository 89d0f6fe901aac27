/*
 * Inside the .ncu-rep reader: the state of one report during and after reading.
 *
 *   ncu_rep.c      blocks, string table, session: the frame of the file
 *   ncu_result.c   one result: its fields, sections and metric values
 *   ncu_rep_nvtx.c the NVTX state of a result → range entries and the set of open ranges
 *   ncu_entries.c  decides which frames continue an entry of the result before; shared with the CSV reader
 *
 * Every function that reads returns 0, SONDE_ERR_FORMAT with the byte in `err`,
 * or SONDE_ERR_NOMEM.
 */
#ifndef SONDE_READ_NCU_INT_H
#define SONDE_READ_NCU_INT_H

#include "read/ncu/ncu_entries.h"
#include "read/ncu/wire.h"

/* A domain as listed in the current NVTX state. */
struct ncu_domain {
	uint64_t id;
	struct sonde_str name, msg;
};

/* Frames nested deeper count in their ancestor at this depth, because ids grow with the square of the depth. */
#define NCU_MAX_DEPTH 512

struct ncu_report {
	struct sonde_source *src;
	struct sonde_records *r;
	SONDE_VEC(struct sonde_str) strings; /* the file's string table, all blocks so far */
	SONDE_VEC(uint32_t) metric_of;	     /* by string number of the file: metric number or SONDE_NONE */
	uint32_t device_string;		     /* string number, in the file, of `launch__device_id`; SONDE_NONE = not in the file */
	uint32_t process;		     /* process of the current block */
	uint64_t bad_strings;		     /* number of metrics that named a string beyond the table */
	struct sonde_map section_keys;	     /* sections already taken, by identifier */
	/* NVTX */
	struct ncu_entries entries;
	SONDE_VEC(struct ncu_domain) domains; /* scratch: domains of the current state, sorted by id */
	bool too_deep;			      /* a stack was cut at NCU_MAX_DEPTH */
	struct sonde_str last_state;	      /* bytes of the previous NVTX state … */
	uint64_t last_thread;
	uint32_t last_process, last_set; /* … and the results from it */
	uint32_t last_lent;
	uint8_t last_origin_kind;
};

/* A result while it is being read. */
struct ncu_result {
	struct sonde_record rec; /* its caller and queue are filled in last */
	struct sonde_queue queue;
	uint64_t thread;
};

/* The field numbers of a result's message, which differ by kind. */
struct ncu_layout {
	uint32_t kind; /* enum sonde_result */
	uint32_t metrics, sections, nvtx, context, stream;
	const char *name; /* for results without a name of their own */
};

#define NCU_LENGTH_BYTES 4 /* length in front of each message, which ncu_u32 reads */
uint32_t ncu_u32(const char *p);
int ncu_damage(const struct ncu_report *n, const struct sonde_wire *w, struct sonde_err *err);
uint64_t ncu_offset(const struct sonde_source *src, const void *p);

int ncu_read_result(struct ncu_report *n, struct sonde_str msg, const struct ncu_layout *layout,
	struct sonde_err *err);
int ncu_read_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err);

/* Sets rec.open from the NVTX state `msg`; thread and kind are known. */
int ncu_read_nvtx(struct ncu_report *n, struct sonde_str msg, struct ncu_result *res,
	struct sonde_err *err);

/* The number in a metric's value message; NaN when it holds text (then in `*text`) or nothing. */
double ncu_value(struct sonde_str msg, struct sonde_str *text);

#endif
