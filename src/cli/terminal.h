/* Standard output, and what the terminal there can show. */
#ifndef SONDE_CLI_TERMINAL_H
#define SONDE_CLI_TERMINAL_H

#include "base/sink.h"

enum sonde_colour { SONDE_COLOUR_AUTO, SONDE_COLOUR_ALWAYS, SONDE_COLOUR_NEVER };

size_t sonde_terminal_width(void); /* $COLUMNS, the terminal's own, or 100 */
bool sonde_terminal_is_coloured(int colour);
bool sonde_terminal_is_utf8(void);

/* A command's result: the file `path`, or NULL = standard output. */
int sonde_output_open(struct sonde_sink *out, const char *path, struct sonde_err *err);

#endif
