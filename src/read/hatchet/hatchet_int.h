/*
 * Inside the reader of Hatchet literals.
 *
 *   hatchet_nodes.c    the text → nodes
 *   hatchet_in.c       nodes → ranges and records
 *   hatchet_device.c   the devices that Proton lists behind them
 */
#ifndef SONDE_READ_HATCHET_INT_H
#define SONDE_READ_HATCHET_INT_H

#include "read/json_scan.h"
#include "read/source_int.h"

struct hatchet_node {
	uint32_t parent; /* SONDE_NONE = a root */
	uint32_t name;	 /* string number */
	uint32_t range;	 /* its region, SONDE_NONE = it is none */
	struct sonde_str metrics; /* the object's text */
	bool has_children, is_region; /* is_region: it says so itself */
};

struct hatchet_figure {
	uint32_t metric;
	double value;
};

struct hatchet_state {
	SONDE_VEC(struct hatchet_figure) figures; /* of one record behind the other, each with an end:
						     metric SONDE_NONE */
};

struct hatchet {
	struct sonde_source *src;
	struct sonde_records *r;
	struct sonde_err *err;
	struct hatchet_state *state;
	struct sonde_scan scan;
	const char *begin; /* of the last node that began */
	struct sonde_str devices; /* the text of the object that lists them */
	uint32_t process, caller;
	SONDE_VEC(struct hatchet_node) nodes;
	struct sonde_buf scratch;
	bool has_time, has_plain_time;
	uint64_t nr_bad_counts; /* that no launches can have */
	uint64_t nr_no_numbers; /* NaN, Infinity, 1e999 */
};

/* The nodes of a list, behind its bracket; what came before damage stays. */
int sonde_hatchet__read_nodes(struct hatchet *h, uint32_t parent, unsigned depth);
/* Adds the devices; false when memory is short. What cannot be read of them is left out. */
bool sonde_hatchet__devices(struct hatchet *h);

#endif
