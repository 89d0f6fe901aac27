/*
 * A page before somebody's eyes: in the browser of this machine, or served to one elsewhere.
 */
#ifndef SONDE_CLI_BROWSER_H
#define SONDE_CLI_BROWSER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct sonde_look {
	const char *page;
	bool is_made;  /* for this look alone: removed when it is over, where sonde knows when that is */
	bool is_served; /* even where there is a browser */
	size_t port;   /* to serve it on; 0 = any */
};

/*
 * Opens the page with $BROWSER, or xdg-open where there is a display. Where neither is there or
 * does well, serves it until Ctrl-C and says how to come by ssh.
 */
int sonde_look_at(const struct sonde_look *l, struct sonde_err *err);

#define SONDE_PAGE_PATH 1024
/* Names a file for a page that is made to be looked at, in a directory of the user's alone. */
int sonde_look_place(char path[SONDE_PAGE_PATH], struct sonde_err *err);
/* Removes the page if it was made for this look. */
void sonde_look_forget(const struct sonde_look *l);

#endif
