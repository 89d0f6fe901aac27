/*
 * Prints the contents of records, one line each, which script tests compare:
 *
 *     capture_dump FILE…
 *
 *     process NAME
 *     range KIND DOMAIN@PATH entries=N open=N threads=N
 *     launch KIND NAME in PATH [+ PATH…] [captured in PATH]   in order of launch
 *     call KIND [ms=N]                             of CUDA, in order
 *     memory alloc|free BYTES in PATH [+ PATH…]
 *     pc PERIOD samples=N unissued=N dropped=N full=N strays=N     all PC samples of a process; strays: samples of functions
 *                                                  that were not launched at the time of the sample
 *     pc SYMBOL REASON OFFSET N UNISSUED           per drain
 *     mark LABEL
 *     thread NAME
 *     device NAME UUID ATTRIBUTE=VALUE…
 *     note TEXT                                    without the file's name
 *
 * With --times FILE… each range also has its wall and CPU milliseconds, and
 * with --count only the totals are printed. With --replay it also prints what a simulation needs: when launches
 * returned, and the streams and events of calls.
 */
#include "base/alloc.h"
#include "read/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The path of a range: kind, domain and labels, outermost first. */
static void path_of(const struct sonde_records *r, uint32_t range, struct sonde_buf *out)
{
	const struct sonde_range *x = &r->ranges.at[range];

	if (x->parent != SONDE_NONE) {
		path_of(r, x->parent, out);
		sonde_buf_putc(out, '/');
	} else if (x->domain != SONDE_NONE) {
		sonde_buf_str(out, sonde_records_str(r, x->domain));
		sonde_buf_putc(out, '@');
	}
	sonde_buf_str(out, sonde_records_str(r, x->label));
}

struct line {
	uint64_t entries, open, threads, wall_ns, cpu_ns, last_thread;
};

static void print_ranges(const struct sonde_records *r, bool times)
{
	struct sonde_map paths = {0};
	struct sonde_arena arena = {0};
	SONDE_VEC(struct line) lines = {0};
	struct sonde_buf key = {0};
	size_t i;

	for (i = 0; i < r->ranges.nr; i++) {
		const struct sonde_range_time *t = &r->ranges.at[i].time;
		struct line *l;
		uint32_t n;
		bool is_new;

		sonde_buf_clear(&key);
		sonde_buf_puts(
			&key, r->ranges.at[i].kind == SONDE_PUSH_POP ? "push_pop " : "start_end ");
		path_of(r, (uint32_t)i, &key);
		n = sonde_map_keep(&paths, &arena, sonde_buf_view(&key), &is_new);
		if (n == SONDE_NONE || (is_new && !sonde_vec_push(&lines)))
			return;
		l = &lines.at[n];
		l->entries += !r->ranges.at[i].is_inherited;
		l->open += r->ranges.at[i].is_open;
		l->threads += is_new || l->last_thread != r->ranges.at[i].thread;
		l->last_thread = r->ranges.at[i].thread;
		l->wall_ns += t->end_ns ? t->end_ns - t->begin_ns : 0;
		l->cpu_ns += t->cpu_ns;
	}
	for (i = 0; i < lines.nr; i++) {
		printf("range %.*s entries=%llu open=%llu threads=%llu",
			SONDE_STR_ARG(paths.keys[i]), (unsigned long long)lines.at[i].entries,
			(unsigned long long)lines.at[i].open,
			(unsigned long long)lines.at[i].threads);
		if (times)
			printf(" wall_ms=%.3f cpu_ms=%.3f", (double)lines.at[i].wall_ns / 1e6,
				(double)lines.at[i].cpu_ns / 1e6);
		putchar('\n');
	}
	sonde_vec_release(&lines);
	sonde_map_release(&paths);
	sonde_arena_release(&arena);
	sonde_buf_release(&key);
}

static int by_text(const void *a, const void *b)
{
	return sonde_str_cmp(*(const struct sonde_str *)a, *(const struct sonde_str *)b);
}

/* Prints the paths of a set, sorted by bytes, because sources have different orders. */
static void print_set(const struct sonde_records *r, struct sonde_set set)
{
	struct sonde_arena arena = {0};
	struct sonde_str *paths = sonde_arena_calloc(&arena, set.nr + 1, sizeof(*paths));
	struct sonde_buf path = {0};
	uint32_t m;

	for (m = 0; paths && m < set.nr; m++) {
		uint32_t range = r->members.at[set.first + m];

		sonde_buf_clear(&path);
		if (r->ranges.at[range].kind == SONDE_START_END)
			sonde_buf_puts(&path, "start:");
		path_of(r, range, &path);
		paths[m] = sonde_arena_dup(&arena, sonde_buf_view(&path));
	}
	if (paths && set.nr > 1)
		qsort(paths, set.nr, sizeof(*paths), by_text);
	for (m = 0; paths && m < set.nr; m++)
		printf("%s%.*s", m ? " + " : " ", SONDE_STR_ARG(paths[m]));
	if (!set.nr)
		printf(" (nothing)");
	sonde_buf_release(&path);
	sonde_arena_release(&arena);
}

static void print_records(const struct sonde_records *r, bool times)
{
	static const char *const kinds[] = {
		"kernel", "graph", "cmdlist", "range", "memcpy", "memset"};
	struct sonde_buf origin = {0};
	size_t i;

	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];

		printf("launch %s %.*s in", kinds[rec->kind],
			SONDE_STR_ARG(sonde_records_str(r, sonde_record_function(r, rec)->full_name)));
		print_set(r, r->sets.at[rec->open]);
		if (rec->origin_kind == SONDE_ORIGIN_GRAPH) {
			sonde_buf_clear(&origin);
			path_of(r, rec->origin, &origin);
			printf(" captured in %.*s", SONDE_STR_ARG(sonde_buf_view(&origin)));
		}
		if (i < r->returned_ns.nr)
			printf("%s", r->returned_ns.at[i] > rec->call_ns ? " returned" : "");
		if (times)
			printf(" ns=%llu", (unsigned long long)(r->records.at[i].time.end_ns -
								r->records.at[i].time.start_ns));
		putchar('\n');
	}
	sonde_buf_release(&origin);
}

static void print_host(const struct sonde_records *r, bool times)
{
	static const char *const kinds[] = {
		"sync_stream", "sync_event", "sync_device", "copy", "alloc", "free", "record", "await"};
	size_t i, k;

	for (i = 0; i < r->calls.nr; i++) {
		const struct sonde_call *c = &r->calls.at[i];

		printf("call %s", kinds[c->kind]);
		if (times)
			printf(" ms=%.3f", (double)(c->end_ns - c->begin_ns) / 1e6);
		if (r->options.for_replay && c->stream != SONDE_NONE)
			printf(" stream=%u%s", c->stream, c->is_default ? " (default)" : "");
		if (r->options.for_replay && c->event)
			printf(" event=%llx", (unsigned long long)c->event);
		putchar('\n');
	}
	for (i = 0; i < r->memory.nr; i++) {
		const struct sonde_memory *m = &r->memory.at[i];

		printf("memory %s %llu in", m->is_free ? "free" : "alloc",
			(unsigned long long)m->nr_bytes);
		print_set(r, r->sets.at[m->open]);
		putchar('\n');
	}
	for (i = 0; i < r->marks.nr; i++)
		printf("mark %.*s\n", SONDE_STR_ARG(sonde_records_str(r, r->marks.at[i].label)));
	for (i = 0; i < r->thread_names.nr; i++)
		printf("thread %.*s\n",
			SONDE_STR_ARG(sonde_records_str(r, r->thread_names.at[i].name)));
	for (i = 0; i < r->devices.nr; i++) {
		const struct sonde_device *d = &r->devices.at[i];

		printf("device %.*s %.*s", SONDE_STR_ARG(d->name), SONDE_STR_ARG(d->uuid));
		for (k = 0; k < d->nr_attributes; k++)
			printf(" %.*s=%.0f", SONDE_STR_ARG(d->attributes[k].name),
				d->attributes[k].value);
		putchar('\n');
	}
}

/* Whether the function of a batch ran during the time of the batch. */
static int has_launch(const struct sonde_records *r, const struct sonde_pc_batch *b)
{
	size_t i;

	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];

		if (rec->kind == SONDE_RESULT_KERNEL && sonde_record_function(r, rec)->full_name == b->name &&
			rec->time.start_ns < b->end_ns && rec->time.end_ns > b->begin_ns)
			return 1;
	}
	return 0;
}

static uint64_t count_strays(const struct sonde_records *r)
{
	uint64_t nr = 0;
	size_t i, k;

	for (i = 0; i < r->pc_batches.nr; i++)
		for (k = 0; k < r->pc_batches.at[i].nr && !has_launch(r, &r->pc_batches.at[i]); k++)
			nr += r->pc_samples.at[r->pc_batches.at[i].first + k].samples;
	return nr;
}

static void print_pc(const struct sonde_records *r)
{
	size_t i, k;

	for (i = 0; i < r->pc_sources.nr; i++) {
		uint64_t samples = 0, not_issued = 0;

		for (k = 0; k < r->pc_samples.nr; k++) { /* of one process: tests have no more */
			samples += r->pc_samples.at[k].samples;
			not_issued += r->pc_samples.at[k].not_issued;
		}
		printf("pc %llu samples=%llu unissued=%llu dropped=%llu full=%llu strays=%llu\n",
			(unsigned long long)r->pc_sources.at[i].period, (unsigned long long)samples,
			(unsigned long long)not_issued, (unsigned long long)r->pc_sources.at[i].dropped,
			(unsigned long long)r->pc_sources.at[i].full_drains, (unsigned long long)count_strays(r));
	}
	for (i = 0; i < r->pc_batches.nr; i++)
		for (k = 0; k < r->pc_batches.at[i].nr; k++) {
			const struct sonde_pc_sample *s = &r->pc_samples.at[r->pc_batches.at[i].first + k];

			printf("pc %.*s %.*s 0x%x %u %u\n", SONDE_STR_ARG(sonde_records_str(r, r->pc_batches.at[i].symbol)),
				SONDE_STR_ARG(sonde_records_str(r, s->reason)), s->pc, s->samples, s->not_issued);
		}
}

static void print_notes(const struct sonde_records *r)
{
	size_t i;

	for (i = 0; i < r->notes.texts.nr; i++) {
		struct sonde_str text = r->notes.texts.keys[i];
		const char *colon = memmem(text.p, text.n, ".sonde: ", 8);
		size_t skip = colon ? (size_t)(colon + 8 - text.p) : 0;

		printf("note %.*s\n", (int)(text.n - skip), text.p + skip);
	}
}

int main(int argc, char **argv)
{
	bool times = argc > 1 && !strcmp(argv[1], "--times");
	bool count = argc > 1 && !strcmp(argv[1], "--count");
	const struct sonde_read_options options = {.for_replay = argc > 1 && !strcmp(argv[1], "--replay")};
	int first = times || count || options.for_replay ? 2 : 1;
	struct sonde_records *r;
	struct sonde_err err = {0};
	size_t i;

	if (argc <= first)
		return 2;
	if (sonde_records_open(
		    &r, (const char *const *)argv + first, (size_t)(argc - first), &options, &err)) {
		printf("error %s\n", err.msg);
		return 1;
	}
	sonde_records_note(r);
	if (count) {
		printf("ranges=%zu records=%zu sets=%zu notes=%zu\n", r->ranges.nr, r->records.nr,
			r->sets.nr, r->notes.texts.nr);
	} else {
		for (i = 0; i < r->processes.nr; i++)
			printf("process %.*s\n", SONDE_STR_ARG(r->processes.at[i].name));
		print_ranges(r, times);
		print_records(r, times);
		print_host(r, times);
		print_pc(r);
	}
	print_notes(r);
	sonde_records_free(r);
	return 0;
}
