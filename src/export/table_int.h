/* Private to tables on a terminal: printing (table.c) and the cutting of names (table_cut.c). */
#ifndef SONDE_EXPORT_TABLE_INT_H
#define SONDE_EXPORT_TABLE_INT_H

#include "export/table.h"

/* A name that does not fit: its begin, dots, and another part of it, which may end in dots too. */
struct sonde_cut_name {
	struct sonde_str begin, rest;
	bool is_rest_cut;
};
/* That of a cell, cut to `room` beside its dots so that names nearby stay different. */
struct sonde_cut_name sonde_table__cut_name(
	const struct sonde_table *t, size_t cell, size_t room, size_t nr_dots);

#endif
