/* An event that the bytes at hand cut off is begun again with more: what was begun stays in the window. */
#include "base/alloc.h"
#include "read/kineto/kineto_int.h"

#define WINDOW (512u * 1024u)

int sonde_kineto__window_open(struct kineto_window *w, struct sonde_str text,
	struct sonde_stream *stream, struct sonde_err *err)
{
	enum kineto_more more;

	*w = (struct kineto_window){.stream = stream};
	if (!stream) {
		w->scan = sonde_scan_of(text);
		w->first = text.p;
		return 0;
	}
	w->cap = WINDOW;
	w->buf = sonde_malloc(w->cap);
	if (!w->buf)
		return sonde_err_nomem(err);
	w->first = w->scan.p = w->scan.end = w->buf;
	w->scan.is_last = false;
	more = sonde_kineto__window_more(w, &w->scan.p);
	return more == KINETO_NOMEM ? sonde_err_nomem(err) : 0;
}

void sonde_kineto__window_release(struct kineto_window *w)
{
	sonde_free(w->buf);
	*w = (struct kineto_window){0};
}

uint64_t sonde_kineto__window_pos(const struct kineto_window *w)
{
	return w->base + (uint64_t)(w->scan.p - w->first);
}

/* Room behind what is kept: half of the window at least. */
static enum kineto_more make_room(struct kineto_window *w, size_t kept)
{
	char *bigger;

	if (kept <= w->cap / 2)
		return KINETO_MORE;
	if (kept > KINETO_MAX_EVENT)
		return KINETO_FULL;
	bigger = sonde_realloc(w->buf, w->cap * 2);
	if (!bigger)
		return KINETO_NOMEM;
	w->buf = bigger;
	w->cap *= 2;
	return KINETO_MORE;
}

enum kineto_more sonde_kineto__window_more(struct kineto_window *w, const char **mark)
{
	size_t kept = (size_t)(w->scan.end - *mark), got;
	enum kineto_more more;

	if (w->scan.is_last)
		return KINETO_END;
	w->base += (uint64_t)(*mark - w->first);
	if (kept)
		memmove(w->buf, *mark, kept);
	more = make_room(w, kept);
	got = more == KINETO_MORE ? sonde_stream_read(w->stream, w->buf + kept, w->cap - kept) : 0;
	w->first = w->scan.p = *mark = w->buf;
	w->scan.end = w->buf + kept + got;
	w->scan.is_last = more == KINETO_MORE && kept + got < w->cap;
	return more;
}
