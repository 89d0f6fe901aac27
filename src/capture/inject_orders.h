/*
 * Orders: what the runner asks of the processes it runs with the injected
 * library, through the page they share (format/attach.h). They look a few
 * times a second.
 */
#ifndef SONDE_CAPTURE_INJECT_ORDERS_H
#define SONDE_CAPTURE_INJECT_ORDERS_H

#include "base/err.h"
#include "base/str.h"

struct sonde_attach;
struct sonde_inject_orders {
	struct sonde_attach *page; /* NULL: nobody listens */
};

/* The page in the directory of a native capture. */
int sonde_inject_orders_open(struct sonde_inject_orders *o, const char *dir, struct sonde_err *err);
void sonde_inject_orders_release(struct sonde_inject_orders *o);

/* From now on, capture, or do not. */
void sonde_inject_orders_capture(struct sonde_inject_orders *o, bool is_on);
/* What is recorded is to be written, soon. */
void sonde_inject_orders_flush(struct sonde_inject_orders *o);
/* Whether the last order was to capture. */
bool sonde_inject_orders_is_on(const struct sonde_inject_orders *o);
/* Marks this moment in every capture. Of a long text the beginning. */
void sonde_inject_orders_mark(struct sonde_inject_orders *o, struct sonde_str text);

#endif
