/*
 * The inventory of a program's ranges as bytes: a table for people, JSON for
 * programs (`sonde.regions/1`, docs/sonde-regions.md). Labels are hostile text
 * here as everywhere: see escape.h.
 */
#ifndef SONDE_EXPORT_INVENTORY_OUT_H
#define SONDE_EXPORT_INVENTORY_OUT_H

#include "fold/inventory.h"
#include "base/sink.h"

/* All zero = the defaults. */
struct sonde_inventory_options {
	size_t width;	 /* width of the terminal; 0 = 100 */
	size_t max_rows; /* most rows of the table; 0 = all */
	bool is_coloured, is_utf8;
};

int sonde_export_inventory_text(const struct sonde_inventory *v,
	const struct sonde_inventory_options *o, struct sonde_sink *to, struct sonde_err *err);
void sonde_export_inventory_json(const struct sonde_inventory *v, struct sonde_sink *to);

#endif
