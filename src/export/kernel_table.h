/* A table of kernels by the time they took, for people; names are hostile text, see escape.h. */
#ifndef SONDE_EXPORT_KERNEL_TABLE_H
#define SONDE_EXPORT_KERNEL_TABLE_H

#include "export/export.h"

struct sonde_kernel_row {
	struct sonde_str name;
	uint64_t calls;		  /* 0 = unknown */
	double time_ns, time_pct; /* NaN = unknown */
};

/*
 * The first o->max_kernels rows (0: the default), longest first. Short names are
 * distinct among all rows, shown or not. Of the options those of text count.
 */
int sonde_export_kernel_table(const struct sonde_kernel_row *rows, size_t nr,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err);

#endif
