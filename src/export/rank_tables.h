/* Private to the exporters: tables of ranks side by side, for text, Markdown and the HTML page. */
#ifndef SONDE_EXPORT_RANK_TABLES_H
#define SONDE_EXPORT_RANK_TABLES_H

#include "export/export.h"
#include "export/table.h"

enum sonde_rank_table {
	SONDE_RANKS_REGIONS, /* the slowest rank of each region */
	SONDE_RANKS_ROWS,    /* each rank: its work, communication and collectives */
	SONDE_RANKS_WHERE,   /* collectives by region */
	SONDE_RANKS_GROUPS,  /* … by communicator */
	SONDE_RANKS_WAITS,   /* the collectives with the longest waits */
};
#define SONDE_NR_RANK_TABLES 5

/* Fills in the columns and rows of a table; leaves it empty if there is nothing to show. */
void sonde_rank_table_fill(
	struct sonde_table *t, enum sonde_rank_table which, const struct sonde_tree *tree);

#endif
