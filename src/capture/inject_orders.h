/*
 * Orders to the injected library: the runner writes them to the page that it shares with the processes it runs
 * (format/attach.h); the processes look at the page a few times a second.
 */
#ifndef SONDE_CAPTURE_INJECT_ORDERS_H
#define SONDE_CAPTURE_INJECT_ORDERS_H

#include "base/err.h"
#include "base/str.h"

struct sonde_attach;
struct sonde_inject_orders {
	struct sonde_attach *page; /* NULL = nobody listens */
};

/* Opens the page in the directory of a native capture. */
int sonde_inject_orders_open(struct sonde_inject_orders *o, const char *dir, struct sonde_err *err);
void sonde_inject_orders_release(struct sonde_inject_orders *o);

/* Orders the processes to capture from now on, or to stop. */
void sonde_inject_orders_capture(struct sonde_inject_orders *o, bool is_on);
/* Orders the processes to write what they have recorded soon. */
void sonde_inject_orders_flush(struct sonde_inject_orders *o);
/* Whether the last order was to capture. */
bool sonde_inject_orders_is_on(const struct sonde_inject_orders *o);
/* Marks this moment in every capture. A text that is too long is cut. */
void sonde_inject_orders_mark(struct sonde_inject_orders *o, struct sonde_str text);

#endif
