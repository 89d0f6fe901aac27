/* What the terminal at standard output can show. */
#ifndef SONDE_CLI_TERMINAL_H
#define SONDE_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum sonde_colour { SONDE_COLOUR_AUTO, SONDE_COLOUR_ALWAYS, SONDE_COLOUR_NEVER };

size_t sonde_terminal_width(void); /* $COLUMNS, the terminal's own, or 100 */
bool sonde_terminal_is_coloured(int colour);
bool sonde_terminal_is_utf8(void);

#endif
