/*
 * Captures of graphs: the calls that were made while a graph was captured. Those calls launched nothing then. They are
 * in the trace itself, between the calls that begin and end a capture, or in traces of their own.
 */
#include "read/folder_in.h"
#include "read/kineto/kineto_int.h"

#include <sys/stat.h>

/* --- calls ----------------------------------------------------------------------------------------- */

/* The name of a call without the vendor's prefix. There are many calls, so their names are compared from the beginning only. */
static struct sonde_str bare_name(struct sonde_str name)
{
	size_t n = sonde_str_starts(name, "cuda") ? 4 : sonde_str_starts(name, "hip") ? 3 : sonde_str_starts(name, "cu") ? 2 : 0;

	return n ? (struct sonde_str){name.p + n, name.n - n} : name;
}

static bool is_copy(struct sonde_str bare)
{
	return sonde_str_starts(bare, "Memcpy") || sonde_str_starts(bare, "Memset");
}

static bool is_kernel_launch(struct sonde_str bare)
{
	static const char *const words[] = {"LaunchKernel", "LaunchCooperativeKernel", "ModuleLaunchKernel",
		"ModuleLaunchCooperativeKernel", "ExtModuleLaunchKernel", "ExtLaunchKernel", "HccModuleLaunchKernel"};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (sonde_str_starts(bare, words[i]))
			return true;
	return false;
}

/* The number of the shape of what a call launches, plus one; 0 = it launches nothing by itself. */
uint32_t sonde_kineto__shape(struct kineto *k, struct sonde_str call, const struct kineto_args *a)
{
	struct kineto_shape shape = {.name = SONDE_NONE};
	struct sonde_str bare = bare_name(call);
	uint32_t *plain;

	shape.is_copy = is_copy(bare);
	if (!shape.is_copy && !is_kernel_launch(bare))
		return 0;
	if (kineto_has(a, KINETO_KERNEL_NAME))
		shape.name = sonde_kineto__text(k, &a->text[KINETO_KERNEL_NAME - KINETO_COLLECTIVE]);
	if (kineto_has(a, KINETO_GRID))
		memcpy(shape.grid, a->grid, sizeof(shape.grid));
	plain = shape.name == SONDE_NONE && !shape.grid[0] ? &k->plain_shape[shape.is_copy] : NULL;
	if (plain && *plain)
		return *plain;
	if (!plain)
		return sonde_intern_copy(&k->src->work, &k->shapes, SONDE_BYTES(shape), NULL) + 1;
	return *plain = sonde_intern_copy(&k->src->work, &k->shapes, SONDE_BYTES(shape), NULL) + 1;
}

void sonde_kineto__note_capture(struct kineto *k, const struct kineto_event *e, uint32_t thread)
{
	struct sonde_str bare = bare_name(e->name.raw);
	bool is_begin = sonde_str_starts(bare, "StreamBeginCapture");

	if (is_begin || sonde_str_starts(bare, "StreamEndCapture"))
		sonde_put(&k->src->work, &k->edges, (struct kineto_edge){e->ts_ns, thread, !is_begin});
}

/* The captures that are open: at most one per thread. */
struct open_captures {
	uint64_t *of_thread; /* number of the open capture, 0 = none */
	uint64_t nr, numbers, threads; /* how many are open, and the sums of their numbers and threads: with one open, the sums are its own */
	uint64_t last; /* number of the last capture */
};

static void end_capture(struct open_captures *o, uint32_t thread)
{
	if (!o->of_thread[thread] && o->nr == 1)
		thread = (uint32_t)o->threads; /* the capture was begun by another thread */
	if (!o->of_thread[thread])
		return;
	o->nr--;
	o->numbers -= o->of_thread[thread];
	o->threads -= thread;
	o->of_thread[thread] = 0;
}

static void begin_capture(struct open_captures *o, uint32_t thread)
{
	if (o->of_thread[thread])
		end_capture(o, thread);
	o->nr++;
	o->numbers += o->of_thread[thread] = ++o->last;
	o->threads += thread;
}

/*
 * The number of the capture that a call of this thread belongs to: the thread's own, or another's if that is the only
 * one; 0 = none.
 */
static uint64_t capture_of(const struct open_captures *o, uint32_t thread)
{
	return o->of_thread[thread] ? o->of_thread[thread] : o->nr == 1 ? o->numbers : 0;
}

/* Collects, in order of time, the calls that launched something for which the trace has no work. */
void sonde_kineto__find_captured(struct kineto *k, const bool *has_work)
{
	struct open_captures o = {sonde_arena_calloc(&k->src->work, k->threads.nr + 1, sizeof(*o.of_thread)), 0, 0, 0, 0};
	size_t i, edge = 0;

	if (!o.of_thread)
		return;

	for (i = 0; i < k->calls.nr; i++) {
		const struct sonde_launch_call *c = &k->calls.at[i];

		if (c->thread >> 32 && !has_work[i])
			sonde_put(&k->src->work, &k->captured,
				(struct kineto_captured){.ns = c->ns,
					.thread = (uint32_t)c->thread,
					.shape = (uint32_t)(c->thread >> 32) - 1,
					.span = SONDE_NONE});
	}
	k->src->work.failed |= !sonde_keysort(k->captured.at, k->captured.nr) ||
			       !sonde_keysort(k->edges.at, k->edges.nr);
	for (i = 0; i < k->captured.nr && k->edges.nr; i++) {
		for (; edge < k->edges.nr && k->edges.at[edge].ns <= k->captured.at[i].ns; edge++)
			(k->edges.at[edge].is_end ? end_capture : begin_capture)(&o, k->edges.at[edge].thread);
		k->captured.at[i].capture = capture_of(&o, k->captured.at[i].thread);
	}
	sonde_vec_filter(&k->captured, n, !k->edges.nr || k->captured.at[n].capture);
}

/* Finds the regions of captured launches, and lists the captures sorted by their number of launches. */
void sonde_kineto__place_captured(struct kineto *k)
{
	size_t i;

	sonde_spans__rewind(&k->ranges);
	for (i = 0; i < k->captured.nr && !k->src->work.failed; i++)
		k->captured.at[i].span = sonde_spans__open_at(&k->ranges, k->captured.at[i].thread, k->captured.at[i].ns);
	/* Calls of captures in several threads may alternate. */
	k->src->work.failed |= k->captured.nr && !sonde_order_apply(
		sonde_order_by_field(k->captured.at, k->captured.nr, capture), k->captured.at, k->captured.nr, sizeof(*k->captured.at));
	for (i = 0; i < k->captured.nr && !k->src->work.failed; i++) {
		const struct kineto_captured *c = &k->captured.at[i];

		if (i == 0 || c[-1].capture != c->capture)
			sonde_put(&k->src->work, &k->captures, (struct kineto_capture){.first = i});
		if (k->captures.nr)
			k->captures.at[k->captures.nr - 1].nr++;
	}
	k->src->work.failed |= !sonde_keysort(k->captures.at, k->captures.nr);
}

/* --- traces of captures ---------------------------------------------------------------------------- */

/* Reads a trace of captures and passes it to `fn`. Its work leaves no records. */
static int read_capture(struct kineto *k, struct sonde_source *src, sonde_kineto_capture_fn *fn, void *of, bool *is_enough)
{
	struct sonde_map facts = {0};
	struct kineto from = sonde_kineto__begin(src, k->r, k->err);
	int rc;

	from.is_capture = true;
	from.facts = &facts;
	rc = sonde_kineto__window_open(&from.window, src->file.data, src->stream, k->err);
	if (rc == 0)
		rc = sonde_kineto__read_document(&from);
	if (rc == 0)
		rc = sonde_kineto__join_calls(&from);
	k->r->records.nr = from.first_record;
	k->r->calls.nr = from.first_call;
	k->r->series.nr = from.first_series;
	if (rc == 0 && (from.rank == SONDE_NONE || k->rank == SONDE_NONE || from.rank == k->rank)) {
		sonde_kineto__add_modules(&from);
		sonde_kineto__place_captured(&from);
		rc = sonde_source__status(src, k->r, k->err);
		if (rc == 0)
			*is_enough = !fn(of, &from);
	}
	sonde_kineto__window_release(&from.window);
	sonde_buf_release(&from.scratch);
	return rc;
}

static int open_capture(struct kineto *k, const char *path, sonde_kineto_capture_fn *fn, void *of, bool *is_enough)
{
	struct sonde_source src = {.ops = k->src->ops, .path = path, .input = k->src->input};
	struct sonde_stream packed, text;
	bool is_gzip;
	int rc = sonde_mapping_open(&src.file, path, k->err);

	if (rc)
		return rc;
	is_gzip = sonde_is_gzip(src.file.data);
	sonde_stream_from_slice(&packed, src.file.data);
	if (is_gzip)
		rc = sonde_stream_from_gzip(&text, &packed, k->err);
	src.stream = is_gzip ? &text : NULL;
	if (rc == 0)
		rc = read_capture(k, &src, fn, of, is_enough);
	if (is_gzip)
		sonde_stream_release(&text);
	sonde_stream_release(&packed);
	k->src->work.failed |= src.work.failed;
	sonde_arena_release(&src.work);
	sonde_mapping_release(&src.file);
	return rc;
}

/* Whether the file's name says that it belongs to another rank: `bs_32_rank1.json.gz`. */
static bool is_other_rank(const struct kineto *k, const char *path)
{
	struct sonde_str name = sonde_str_base(sonde_str_from(path));
	const char *p = memmem(name.p, name.n, "rank", 4);
	uint64_t rank = 0;

	if (!p || k->rank == SONDE_NONE)
		return false;
	p += 4;
	p += *p == '_' || *p == '-';
	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9' && rank < SONDE_NONE; p++)
		rank = rank * 10 + (uint64_t)(*p - '0');
	return rank != k->rank;
}

/* The folder named by the option, or the one beside the trace; "" = none is wanted. */
static const char *captures_folder(struct kineto *k)
{
	struct sonde_str path = sonde_str_from(k->src->path), base = sonde_str_base(path);
	const char *named = k->r->options.kineto_captures;

	if (named && strcmp(named, "none") == 0)
		return "";
	if (named && *named && strcmp(named, "beside") != 0)
		return named;
	return sonde_arena_printf(&k->src->work, "%.*scapture_traces", (int)(base.p - path.p), path.p).p;
}

int sonde_kineto__each_capture(struct kineto *k, sonde_kineto_capture_fn *fn, void *of)
{
	const char *named = captures_folder(k);
	struct sonde_folder f = {.dir = named, .together = true};
	struct sonde_notes unsaid = {0};
	struct sonde_err why = {0};
	struct stat st;
	bool is_enough = false;
	size_t i;
	int rc = 0;

	if (!named || !*named)
		return 0;
	if (stat(named, &st) == 0 && S_ISDIR(st.st_mode))
		rc = sonde_folder_expand(&f, &k->src->work, &unsaid, &why);
	else if (stat(named, &st) == 0)
		k->src->work.failed |= !sonde_word_list_add(&f.files, named);
	else if (named == k->r->options.kineto_captures)
		sonde_note_loss(&k->r->notes, "%s: %s (report.kineto.captures) does not exist", k->src->path, named);
	rc = rc == SONDE_ERR_NOMEM ? sonde_err_nomem(k->err) : 0;
	for (i = 0; i < f.files.nr && rc == 0 && !is_enough; i++) {
		if (is_other_rank(k, f.files.at[i]))
			continue;
		rc = open_capture(k, f.files.at[i], fn, of, &is_enough);
		if (rc == SONDE_ERR_FORMAT || rc == SONDE_ERR_IO || rc == SONDE_ERR_LIMIT) {
			sonde_note_loss(&k->r->notes, "%s; it is left out", k->err->msg);
			rc = 0;
		}
	}
	sonde_vec_release(&f.files);
	sonde_notes_release(&unsaid);
	return rc;
}
