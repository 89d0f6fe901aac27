/*
 * Inside the reader of `ncu --csv --page raw`:
 *
 *   ncu_csv.c        the table: rows and values
 *   ncu_csv_head.c   which column is what, in which unit
 *   csv_cell.c       cells, numbers, units: the text of it
 *   ncu_csv_nvtx.c   NVTX cells → range entries and the open set
 */
#ifndef SONDE_READ_NCU_CSV_INT_H
#define SONDE_READ_NCU_CSV_INT_H

#include "read/ncu/ncu_entries_int.h"

/* Walks the cells of rows. Nothing outside [p, end) is touched. */
struct csv_cursor {
	const char *p, *end;
	bool at_row_end; /* the cell just read was its row's last */
	bool is_cut;	 /* the file ends inside a quoted cell */
};

struct csv_cell {
	struct sonde_str raw; /* without the quotes around it */
	bool has_quotes;      /* quotes inside are doubled: see csv_text */
};

/* The next cell; false at the end of the data or when it is cut. */
bool csv_next(struct csv_cursor *c, struct csv_cell *cell);
/* The cell's text, copied to the arena only when it has quotes inside; p NULL: out of memory. */
struct sonde_str csv_text(struct sonde_arena *a, const struct csv_cell *cell);
/* The same, until `scratch` is used again. */
struct sonde_str csv_text_in(struct sonde_buf *scratch, const struct csv_cell *cell);
/* `1,980,000.00` → the number; NaN for anything else. */
double csv_number(struct sonde_str text);
/* Whether ncu means "there is no value". */
bool csv_is_missing(struct sonde_str text);
/* The factor to base units (`usecond` → 1000) and the base unit's name (`ns`), in the arena. */
double csv_unit(struct sonde_arena *a, struct sonde_str unit, struct sonde_str *base);

/* One range as a cell has it. */
struct csv_item {
	uint32_t domain, label;
	uint64_t id; /* start/end; for push/pop: whether it was dealt with */
};

/* NVTX: what is open, as the rows so far say. */
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

/* Sets rec.open and, where the push/pop cell tells it, the thread. */
int csv_read_nvtx(struct csv_nvtx *n, struct sonde_records *r, struct csv_result *res,
	const struct sonde_str cells[2], struct sonde_err *err);
/* The same where a row names its range and nothing else; each row is an entry. */
int csv_read_range(struct csv_nvtx *n, struct sonde_records *r, struct csv_result *res,
	struct sonde_str label, struct sonde_err *err);
void csv_nvtx_release(struct csv_nvtx *n);

/* What a column is; everything that is none of these is a metric. */
enum csv_role {
	CSV_ID,
	CSV_PID,
	CSV_PROCESS,
	CSV_HOST,
	CSV_PUSH_POP,
	CSV_START_END, /* right after push/pop: csv_read_nvtx takes the two */
	CSV_KERNEL,
	CSV_CONTEXT,
	CSV_STREAM,
	CSV_DEVICE,
	CSV_CC,
	/* Of tables by range, which scripts make of the raw page: a row is what ran in a range. */
	CSV_RANGE,
	CSV_CALLS,
	CSV_UNUSED,
	NR_CSV_ROLES,
	CSV_METRIC = NR_CSV_ROLES,
};

struct csv_column {
	uint32_t role;	 /* enum csv_role */
	uint32_t metric; /* SONDE_NONE unless a metric */
	double factor;	 /* to base units */
};

/* A text value with quotes inside, as it reads without the doubling. */
struct csv_quoted {
	uint64_t offset; /* in the file */
	struct sonde_str text;
};

struct csv_table {
	struct sonde_source *src;
	struct sonde_records *r;
	SONDE_VEC(struct csv_column) columns;
	SONDE_VEC(struct csv_quoted) quoted; /* by offset */
	struct csv_nvtx nvtx;
	struct sonde_buf ranges[2]; /* the ranges of the row at hand, without the CSV's quotes */
	uint32_t display_name; /* the column with the device's name, SONDE_NONE without */
	uint64_t nr_skipped;   /* lines in the table that are no rows … */
	uint64_t nr_broken;    /* … and rows with more or fewer cells than the head */
	bool has[NR_CSV_ROLES]; /* which columns there are */
	bool has_time;	       /* among the metrics: `Total Time` is not needed */
	uint32_t total_time;   /* the column `Total Time`, SONDE_NONE without … */
	bool is_unitless;      /* … and nothing says in which unit */
};

uint64_t csv_offset(const struct csv_table *t, const char *p);
/* The table ends inside of `what`, which begins at `begin`. */
int csv_truncated(
	const struct csv_table *t, const char *what, const char *begin, struct sonde_err *err);
void csv_skip_line(struct csv_cursor *c);
/* Puts `c` on the header row; false when there is none within reach. */
bool csv_find_header(struct csv_cursor *c);
/* Reads the header and, if there is one, the row of units. */
int csv_read_head(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err);

#endif
