#include "fold/remote.h"

#include "fold/partial.h"
#include "fold/partial_int.h"

/* --- tasks ------------------------------------------------------------------------------------ */

static unsigned flags_of(const struct sonde_fold_request *r)
{
	return (unsigned)r->selection.is_exclude_done | (unsigned)r->choice.metrics_by_default << 1 |
	       (unsigned)r->choice.sections_by_default << 2 |
	       (unsigned)r->choice.headline_only << 3 | (unsigned)r->choice.no_aggregate << 4 |
	       (unsigned)r->keeps_timeline << 5;
}

static void set_flags(struct sonde_fold_request *r, uint64_t flags)
{
	r->selection.is_exclude_done = flags & 1;
	r->choice.metrics_by_default = flags >> 1 & 1;
	r->choice.sections_by_default = flags >> 2 & 1;
	r->choice.headline_only = flags >> 3 & 1;
	r->choice.no_aggregate = flags >> 4 & 1;
	r->keeps_timeline = flags >> 5 & 1;
}

void sonde_remote_put_task(struct sonde_buf *to, const struct sonde_task *task)
{
	const struct sonde_fold_request *r = task->request;

	sonde_partial__put_settings(to, &r->selection, &r->read);
	sonde_partial__put_words(to, r->choice.metrics);
	sonde_partial__put_words(to, r->choice.sections);
	sonde_put_u(to, flags_of(r));
	sonde_put_u(to, r->cores);
	sonde_partial__put_words(to, (struct sonde_words){task->paths, task->nr});
}

static int misread(struct sonde_err *err)
{
	return sonde_err_set(err, SONDE_ERR_FORMAT,
		"what another process sent cannot be read: all must be the same sonde-mpi");
}

int sonde_remote_get_task(struct sonde_remote_task *out, struct sonde_str bytes, struct sonde_err *err)
{
	struct sonde_cursor in = {
		(const uint8_t *)bytes.p, (const uint8_t *)bytes.p + bytes.n, false};
	struct sonde_fold_request *r = &out->request;
	struct sonde_words paths;

	*out = (struct sonde_remote_task){0};
	if (!sonde_partial__settings(&in, &out->arena, &r->selection, &r->read) ||
		!sonde_partial__words(&in, &out->arena, &r->choice.metrics) ||
		!sonde_partial__words(&in, &out->arena, &r->choice.sections))
		return sonde_err_nomem(err);
	set_flags(r, sonde_get_u(&in));
	r->cores = (size_t)sonde_get_u(&in);
	if (!sonde_partial__words(&in, &out->arena, &paths))
		return sonde_err_nomem(err);
	out->task = (struct sonde_task){r, paths.at, paths.nr};
	return in.failed || in.p != in.end ? misread(err) : 0;
}

/* --- results ----------------------------------------------------------------------------------- */

static void put_parts(struct sonde_buf *to, struct sonde_parts *parts)
{
	struct sonde_sink bytes;
	size_t i;

	sonde_sink_init_string(&bytes);
	to->failed |= sonde_partial_write(parts, &bytes, NULL) != 0 || bytes.buf.failed;
	sonde_put_str(to, sonde_buf_view(&bytes.buf));
	sonde_sink_abort(&bytes);
	for (i = 0; i < parts->at.nr; i++) {
		const struct sonde_timeline *t = parts->at.at[i]->timeline;

		sonde_put_u(to, t != NULL);
		if (t)
			sonde_partial__put_timeline(to, t);
	}
}

void sonde_remote_put_result(struct sonde_buf *to, size_t number, struct sonde_parts *parts, int rc,
	const struct sonde_err *err)
{
	sonde_put_u(to, number);
	sonde_put_u(to, (uint64_t)-rc);
	if (rc == 0) {
		put_parts(to, parts);
	} else {
		sonde_put_u(to, err->pos);
		sonde_put_str(to, sonde_str_from(err->msg));
	}
}

static int get_parts(struct sonde_parts *parts, struct sonde_cursor *in, struct sonde_err *err)
{
	struct sonde_str bytes = sonde_get_str(in);
	int rc = in->failed ? misread(err)
			    : sonde_partial_read(parts, bytes, "another process", err);
	size_t i;

	for (i = 0; rc == 0 && i < parts->at.nr; i++)
		if (sonde_get_u(in) && !sonde_partial__timeline(in, parts->at.at[i]))
			rc = sonde_err_nomem(err);
	return rc;
}

int sonde_remote_take_results(
	struct sonde_str bytes, size_t nr, struct sonde_taker *taker, struct sonde_err *err)
{
	struct sonde_cursor in = {
		(const uint8_t *)bytes.p, (const uint8_t *)bytes.p + bytes.n, false};
	int rc = 0;

	while (rc == 0 && in.p < in.end) {
		struct sonde_parts parts = {0};
		struct sonde_err one = {0};
		size_t number = sonde_get_index(&in, nr);
		struct sonde_str msg;

		one.code = -(int)sonde_get_index(&in, 16);
		if (one.code) {
			one.pos = sonde_get_u(&in);
			msg = sonde_get_str(&in);
			if (msg.p && msg.n < sizeof(one.msg))
				memcpy(one.msg, msg.p, msg.n);
		} else {
			rc = get_parts(&parts, &in, err);
		}
		if (rc == 0 && in.failed)
			rc = misread(err);
		if (rc == 0)
			taker->take(taker, number, &parts, one.code, &one);
		sonde_parts_release(&parts);
	}
	return rc;
}
