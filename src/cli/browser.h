/* Shows a page: in the browser of this machine, or served to a browser elsewhere. */
#ifndef SONDE_CLI_BROWSER_H
#define SONDE_CLI_BROWSER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct sonde_page_view {
	const char *page;
	bool is_made;  /* the page was made for this view alone: it is removed afterwards, if sonde knows when that is */
	bool is_served; /* serve the page even if there is a browser */
	size_t port;   /* port to serve the page on; 0 = any */
};

/*
 * Opens the page with $BROWSER, or with xdg-open if there is a display. If neither exists or works, serves the page
 * until Ctrl-C and says how to reach it by ssh.
 */
int sonde_page_view_show(const struct sonde_page_view *l, struct sonde_err *err);

#define SONDE_PAGE_PATH 1024
/* Names a file for a page that is made only to be looked at, in a new directory of the user's alone. */
int sonde_page_view_place(char path[SONDE_PAGE_PATH], struct sonde_err *err);
/* Removes the page if it was made for this view. */
void sonde_page_view_forget(const struct sonde_page_view *l);

#endif
