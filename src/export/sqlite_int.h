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

struct sonde_db {
	sqlite3 *db;
	sqlite3_stmt *insert[SONDE_DB_NR];
	const struct sonde_tree *tree;
	struct sonde_figures figures;
	const char *path;
	uint64_t first_ns; /* when the first range was entered */
	int64_t nr_regions, nr_kernels; /* written so far: the last id */
	struct sonde_err *err;
};

/* Binding: NULL text and NaN become NULL; text is borrowed until the step. */
void sonde_db__text(sqlite3_stmt *s, int at, struct sonde_str text);
void sonde_db__z(sqlite3_stmt *s, int at, const char *z);
void sonde_db__number(sqlite3_stmt *s, int at, double v);
/* Inserts what is bound and unbinds it. */
int sonde_db__step(struct sonde_db *d, sqlite3_stmt *s);

int sonde_db__reports(struct sonde_db *d, const struct sonde_export_options *o);
int sonde_db__launches(struct sonde_db *d);

#endif
