/* Private to the SQLite exporter: one open database and its prepared inserts. */
#ifndef SONDE_EXPORT_SQLITE_INT_H
#define SONDE_EXPORT_SQLITE_INT_H

#include "export/field.h"

#include <sqlite3.h>

enum sonde_db_insert {
	SONDE_DB_INFO,
	SONDE_DB_NOTE,
	SONDE_DB_SCOPE,
	SONDE_DB_REGION,
	SONDE_DB_STREAM,
	SONDE_DB_ENTRY,
	SONDE_DB_KERNEL,
	SONDE_DB_NAME,
	SONDE_DB_METRIC,
	SONDE_DB_LAUNCH,
	SONDE_DB_LAUNCH_REGION,
	SONDE_DB_NR,
};

#define SONDE_DB_NR_WORDS 11 /* values of `regions` before those of the column table */

struct sonde_db {
	sqlite3 *db;
	sqlite3_stmt *insert[SONDE_DB_NR];
	const struct sonde_tree *tree;
	struct sonde_figures figures;
	const char *path;
	uint64_t first_ns; /* when the first range was entered */
	int64_t nr_regions, nr_kernels; /* written so far: the last id */
	int rc; /* of what failed first, with `err` filled in; nothing is inserted from then on */
	struct sonde_err *err;
};

/* A value of a row: NULL where there is no id (0), number (NaN) or text (p NULL). */
struct sonde_db_value {
	int type; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT */
	int64_t i;
	double v;
	struct sonde_str text; /* borrowed until it is inserted */
	bool is_null;
};
#define SONDE_DB_ID(id)	    ((struct sonde_db_value){.type = SQLITE_INTEGER, .i = (id), .is_null = !(id)})
#define SONDE_DB_INT(n)	    ((struct sonde_db_value){.type = SQLITE_INTEGER, .i = (int64_t)(n)})
#define SONDE_DB_REAL(x)    ((struct sonde_db_value){.type = SQLITE_FLOAT, .v = (x)})
#define SONDE_DB_TEXT(s)    ((struct sonde_db_value){.type = SQLITE_TEXT, .text = (s)})
#define SONDE_DB_WORD(z)    SONDE_DB_TEXT(sonde_str_from(z))

void sonde_db__insert(struct sonde_db *d, enum sonde_db_insert into, const struct sonde_db_value *values, size_t nr);
/* The same with the values one by one. */
#define SONDE_DB_ROW(d, into, ...)                                                                 \
	sonde_db__insert(d, into, (const struct sonde_db_value[]){__VA_ARGS__},                    \
		sizeof((const struct sonde_db_value[]){__VA_ARGS__}) / sizeof(struct sonde_db_value))

void sonde_db__put_reports(struct sonde_db *d, const struct sonde_export_options *o);
void sonde_db__put_launches(struct sonde_db *d);

#endif
