/* Lines on standard error: `sonde: …`. */
#ifndef SONDE_CLI_MESSAGES_H
#define SONDE_CLI_MESSAGES_H

#include "base/note.h"
#include "catalogue/advice.h"

void sonde_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line of a capture's progress (capture/progress.h); a live one has no line end. */
void sonde_say_progress(const char *line, bool is_live);
/* Prints text that is not ours (labels, names), made harmless for a terminal. */
void sonde_say_text(struct sonde_str text);
/* Says what the situation means and, on a line of its own, what to do next. */
void sonde_say_advice(enum sonde_situation s, const char *detail);
/* Says every finding of ncu's log in the same way, then where the log is. */
struct sonde_ncu_log;
void sonde_say_log(const struct sonde_ncu_log *log, const char *path);
/* Says "WHAT DIR", or that the directory is gone: a program may remove the directory it is captured to. */
void sonde_say_where(const char *what, const char *dir);
void sonde_say_notes(const struct sonde_notes *notes); /* one line each */

#endif
