/* Lines on standard error: `sonde: …`. */
#ifndef SONDE_CLI_SAY_H
#define SONDE_CLI_SAY_H

#include "base/note.h"

void sonde_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Text that is not ours (labels, names): made inert for a terminal. */
void sonde_say_text(struct sonde_str text);
void sonde_say_notes(const struct sonde_notes *notes); /* one by one */

#endif
