/*
 * Cubins: the machine code of kernels, and which line of source each instruction comes from.
 *
 * A cubin is an ELF file. Its line table (DWARF's `.debug_line`, versions 2 to 4) is there when the code was compiled
 * with line information: Triton does that by default, nvcc with -lineinfo or -G. NVIDIA's compiler adds where inlined
 * code was called from: a row names the row of its call. Nothing but the bytes is needed, no CUDA and no GPU.
 *
 * Every byte is hostile. The bytes are borrowed: they live as long as the cubin.
 */
#ifndef SONDE_READ_CUBIN_H
#define SONDE_READ_CUBIN_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

#define SONDE_CUBIN_NONE UINT32_MAX

struct sonde_cubin;

/* A row of the line table: code of one line, until the next row. */
struct sonde_cubin_row {
	struct sonde_str folder; /* "" when the file's name contains it, or when it is not known */
	struct sonde_str file;
	uint32_t line;
	uint32_t caller; /* row of the call that it was inlined at, smaller than its own number; SONDE_CUBIN_NONE = not inlined */
};

/*
 * Reads the tables. Damage in a line table ends that table; the finished sequences of rows before it are kept. The
 * only errors are bytes that are not a cubin, and lack of memory.
 */
int sonde_cubin_open(struct sonde_cubin **out, struct sonde_str bytes, struct sonde_err *err);
void sonde_cubin_free(struct sonde_cubin *c);

/* The number of rows, which are numbered from 0; 0 = there is no line information. */
uint32_t sonde_cubin_nr_rows(const struct sonde_cubin *c);
/* The row of the instruction `pc` bytes after the first one of a function; SONDE_CUBIN_NONE when there is none. */
uint32_t sonde_cubin_find(const struct sonde_cubin *c, struct sonde_str function, uint64_t pc);
struct sonde_cubin_row sonde_cubin_row(const struct sonde_cubin *c, uint32_t number);

#endif
