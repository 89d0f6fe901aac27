/* Standard output, and what the terminal there can show. */
#ifndef SONDE_CLI_TERMINAL_H
#define SONDE_CLI_TERMINAL_H

#include "base/sink.h"

enum sonde_colour { SONDE_COLOUR_AUTO, SONDE_COLOUR_ALWAYS, SONDE_COLOUR_NEVER };

size_t sonde_terminal_width(void); /* $COLUMNS, the terminal's own, or 100 */
bool sonde_terminal_is_coloured(int colour);
bool sonde_terminal_is_utf8(void);

/*
 * Opens the output of a command: the file `path`, or standard output for NULL. The output is compressed if the name
 * ends in `.gz`.
 */
int sonde_output_open(struct sonde_sink *out, const char *path, struct sonde_err *err);
/* Refuses a format that nobody reads on a terminal (SONDE_FORMAT_NO_TEXT), where standard output is one. */
int sonde_output_refuse_terminal(const char *command, const char *format, struct sonde_err *err);
/* The name without `.gz`: its ending says the format. */
struct sonde_str sonde_output_stem(const char *path);
/* Refuses a file whose ending is none of `endings` (".txt|.json"): it would get another format than the user meant. */
int sonde_output_check(const char *command, const char *path, const char *endings, struct sonde_err *err);

#endif
