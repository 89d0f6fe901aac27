/*
 * Finds jobs by linking: each rule of jobs.h gives sightings a key, and sightings with the same key belong to
 * one job. Every rule is a sort or a map, so that thousands of ranks stay fast.
 */
#include "read/jobs.h"

#include "base/alloc.h"
#include "base/argv.h"
#include "base/keysort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND	     1000000000u
#define EPOCH_NS     100000000000000000u /* smaller times do not count from 1970 */
#define SLACK_NS     SECOND		 /* tolerance for the clocks of different hosts */
#define HALF_DAY_NS  (43200ull * SECOND)
#define AROUND_S     1800 /* half the span assumed for a capture that only says when it was made */
#define MOST_JOBS    5	  /* jobs listed in the error … */
#define MOST_FILES   3	  /* … and files listed for each */

/* --- adding sightings ----------------------------------------------------------------------------- */

static struct sonde_str keep_text(struct sonde_jobs *j, struct sonde_str text)
{
	struct sonde_str copy = text.n ? sonde_arena_dup(&j->arena, text) : SONDE_STR("");

	j->failed |= !copy.p;
	return copy;
}

/*
 * The program with its arguments, from the end of a profiler's command line; the program alone if the command line
 * does not contain it.
 */
static struct sonde_str program_arguments(struct sonde_str command, struct sonde_str program)
{
	size_t at;

	for (at = command.n; program.n && at-- > 0;) {
		struct sonde_str rest = {command.p + at, command.n - at};

		if ((at == 0 || command.p[at - 1] == ' ') && rest.n >= program.n &&
			memcmp(rest.p, program.p, program.n) == 0 &&
			(rest.n == program.n || rest.p[program.n] == ' '))
			return sonde_str_trim(rest);
	}
	return program;
}

static void set_span(struct sonde_jobs *j, struct sonde_sighting *s, const struct sonde_process *p,
	const struct sonde_input *in)
{
	if (p->first_ns >= EPOCH_NS) {
		s->first_ns = p->first_ns;
		s->last_ns = p->last_ns;
	} else if (in->created_s >= EPOCH_NS / SECOND && in->created_s < UINT64_MAX / SECOND - AROUND_S) {
		s->is_moment = true;
		s->first_ns = (in->created_s - AROUND_S) * SECOND;
		s->last_ns = (in->created_s + AROUND_S) * SECOND;
		s->program = keep_text(j, program_arguments(in->command, p->name));
	}
}

void sonde_jobs_add(struct sonde_jobs *j, const struct sonde_found *f)
{
	size_t i, d;

	for (i = f->first_process; i < f->nr_processes && !j->failed; i++) {
		const struct sonde_process *p = &f->processes[i];
		struct sonde_str path = f->path ? sonde_str_from(f->path) : f->inputs[p->input].path;
		struct sonde_sighting *s = sonde_vec_push(&j->sightings);

		if (!s) {
			j->failed = true;
			return;
		}
		*s = (struct sonde_sighting){.path = keep_text(j, path), .host = keep_text(j, p->host),
			.program = keep_text(j, p->name), .pid = p->pid, .rank = p->rank,
			.world_size = p->world_size, .has_rank = p->has_rank};
		for (d = 0; d < f->nr_devices && !s->gpu.n; d++)
			if (f->devices[d].process == i)
				s->gpu = keep_text(j, f->devices[d].name);
		set_span(j, s, p, &f->inputs[p->input]);
	}
}

void sonde_jobs_release(struct sonde_jobs *j)
{
	sonde_vec_release(&j->sightings);
	sonde_arena_release(&j->arena);
	*j = (struct sonde_jobs){0};
}

/* --- linking ---------------------------------------------------------------------------------- */

struct linking {
	struct sonde_jobs *j;
	struct sonde_map keys;
	SONDE_VEC(uint32_t) first; /* by number of a key: the first sighting that has it */
	struct sonde_arena arena;
	bool failed;
};

static uint32_t job_of(struct sonde_jobs *j, uint32_t i)
{
	while (j->sightings.at[i].job != i) {
		j->sightings.at[i].job = j->sightings.at[j->sightings.at[i].job].job;
		i = j->sightings.at[i].job;
	}
	return i;
}

static void merge_jobs(struct linking *l, uint32_t a, uint32_t b)
{
	a = job_of(l->j, a);
	b = job_of(l->j, b);
	l->j->sightings.at[a > b ? a : b].job = a < b ? a : b;
}

/* Joins sighting `i` with the others that have the same key. */
__attribute__((format(printf, 3, 4))) static void link_same_key(
	struct linking *l, uint32_t i, const char *fmt, ...)
{
	struct sonde_buf key = {0};
	uint32_t *first, n;
	bool is_new = false;
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&key, fmt, ap);
	va_end(ap);
	n = key.failed ? SONDE_NONE : sonde_map_keep(&l->keys, &l->arena, sonde_buf_view(&key), &is_new);
	first = sonde_map_slot(&l->first, n);
	l->failed |= !first;
	if (first && is_new)
		*first = i;
	else if (first)
		merge_jobs(l, *first, i);
	sonde_buf_release(&key);
}

static bool is_timed(const struct sonde_sighting *s)
{
	return s->last_ns;
}

/* All captures in a folder with the library's settings (inject.conf) are of one run. */
static void link_folders(struct linking *l)
{
	struct sonde_jobs *j = l->j;
	struct sonde_buf name = {0};
	uint32_t i;

	for (i = 0; i < j->sightings.nr; i++) {
		struct sonde_str dir = j->sightings.at[i].path;

		link_same_key(l, i, "file %.*s", SONDE_STR_ARG(dir));
		while (dir.n && dir.p[dir.n - 1] != '/')
			dir.n--;
		sonde_buf_clear(&name);
		sonde_buf_printf(&name, "%.*sinject.conf", SONDE_STR_ARG(dir));
		if (!name.failed && access(name.p, F_OK) == 0)
			link_same_key(l, i, "dir %.*s", SONDE_STR_ARG(dir));
	}
	l->failed |= name.failed;
	sonde_buf_release(&name);
}

static uint64_t time_key(const void *of, uint32_t i)
{
	return ((const struct sonde_sighting *)of)[i].first_ns;
}

static uint64_t process_key(const void *of, uint32_t i)
{
	return ((const struct sonde_sighting *)of)[i].pid;
}

/* Whether two files come from the same process. */
static bool are_one_process(const struct sonde_sighting *a, const struct sonde_sighting *b)
{
	return a->pid && a->pid == b->pid && !a->host.n && !b->host.n && sonde_str_eq(a->program, b->program);
}

static uint64_t rank_key(const void *of, uint32_t i)
{
	const struct sonde_sighting *s = (const struct sonde_sighting *)of + i;

	return s->has_rank ? (uint64_t)s->world_size << 32 | s->rank : UINT64_MAX;
}

static uint64_t size_key(const void *of, uint32_t i)
{
	return rank_key(of, i) >> 32;
}

/* The sightings sorted by a key, then by time; NULL when memory is short. */
static struct sonde_keyed *order_sightings(struct linking *l, sonde_key_fn *by)
{
	sonde_key_fn *const keys[] = {time_key, by};
	struct sonde_keyed *out = sonde_order_by(l->j->sightings.at, l->j->sightings.nr, keys, by ? 2 : 1);

	l->failed |= !out;
	return out;
}

/* Links sightings of the same time that are on one host, run one program on one kind of GPU, or are ranks of jobs of one size. */
static void link_times(struct linking *l)
{
	struct sonde_keyed *at = order_sightings(l, NULL);
	uint64_t end = 0, nr = 0;
	size_t k;

	for (k = 0; at && k < l->j->sightings.nr; k++) {
		uint32_t i = at[k].index;
		const struct sonde_sighting *s = &l->j->sightings.at[i];

		if (!is_timed(s))
			continue;
		nr += s->first_ns > end && s->first_ns - end > SLACK_NS;
		end = s->last_ns > end ? s->last_ns : end;
		if (s->host.n && !s->is_moment)
			link_same_key(l, i, "at %" PRIu64 " host %.*s", nr, SONDE_STR_ARG(s->host));
		if (s->has_rank)
			link_same_key(l, i, "at %" PRIu64 " size %u", nr, s->world_size);
		link_same_key(l, i, "at %" PRIu64 " program %.*s on %.*s", nr, SONDE_STR_ARG(s->program),
			SONDE_STR_ARG(s->gpu));
	}
	sonde_free(at);
}

/* Links the files of one process, which follow each other in time. */
static void link_processes(struct linking *l)
{
	struct sonde_keyed *at = order_sightings(l, process_key);
	size_t k;

	for (k = 1; at && k < l->j->sightings.nr; k++) {
		const struct sonde_sighting *a = &l->j->sightings.at[at[k - 1].index],
					    *b = &l->j->sightings.at[at[k].index];

		if (are_one_process(a, b) && is_timed(a) && is_timed(b) &&
			(b->first_ns <= a->last_ns || b->first_ns - a->last_ns <= HALF_DAY_NS))
			merge_jobs(l, at[k - 1].index, at[k].index);
	}
	sonde_free(at);
}

/* Collects the sizes of jobs in which some rank appears twice, one after the other. */
static void find_repeated(struct linking *l, struct sonde_map *sizes)
{
	struct sonde_keyed *at = order_sightings(l, rank_key);
	const struct sonde_sighting *last = NULL; /* the sighting of the same rank that ended last */
	size_t k;

	for (k = 0; at && k < l->j->sightings.nr; k++) {
		const struct sonde_sighting *s = &l->j->sightings.at[at[k].index];

		if (!s->has_rank || !is_timed(s))
			continue;
		if (last && rank_key(last, 0) != rank_key(s, 0))
			last = NULL;
		if (last && s->first_ns > last->last_ns && !are_one_process(last, s))
			l->failed |= sonde_map_keep(sizes, &l->arena, SONDE_BYTES(s->world_size), NULL) ==
				     SONDE_NONE;
		last = last && last->last_ns > s->last_ns ? last : s;
	}
	sonde_free(at);
}

/* Links the ranks of one job, which may be captured at different times, if each rank appears once. */
static void link_ranks(struct linking *l)
{
	struct sonde_keyed *at;
	struct sonde_map repeated = {0};
	uint64_t end = 0, nr = 0;
	uint32_t size = 0;
	size_t k;

	find_repeated(l, &repeated);
	at = order_sightings(l, size_key);
	for (k = 0; at && k < l->j->sightings.nr; k++) {
		uint32_t i = at[k].index;
		const struct sonde_sighting *s = &l->j->sightings.at[i];

		if (!s->has_rank || !is_timed(s) ||
			sonde_map_find(&repeated, SONDE_BYTES(s->world_size)) != SONDE_NONE)
			continue;
		end = s->world_size == size ? end : 0;
		size = s->world_size;
		nr += s->first_ns > end && s->first_ns - end > HALF_DAY_NS;
		end = s->last_ns > end ? s->last_ns : end;
		link_same_key(l, i, "size %u, %" PRIu64, s->world_size, nr);
	}
	sonde_free(at);
	sonde_map_release(&repeated);
}

/* Writes what identifies a sighting without a time: its job's size, or program and GPU; empty = none is known. */
static void write_identity(struct sonde_buf *b, const struct sonde_sighting *s, bool program, bool gpu)
{
	sonde_buf_clear(b);
	if (s->has_rank)
		sonde_buf_printf(b, "size %u", s->world_size);
	else if ((program && s->program.n) || (gpu && s->gpu.n))
		sonde_buf_printf(b, "program %.*s on %.*s", SONDE_STR_ARG(program ? s->program : SONDE_STR("")),
			SONDE_STR_ARG(gpu ? s->gpu : SONDE_STR("")));
}

/* The first sighting that has a time, a rank, a program or a GPU. */
static uint32_t find_known(const struct sonde_jobs *j)
{
	uint32_t i;

	for (i = 0; i < j->sightings.nr; i++) {
		const struct sonde_sighting *s = &j->sightings.at[i];

		if (is_timed(s) || s->has_rank || s->program.n || s->gpu.n)
			return i;
	}
	return 0;
}

/* Links sightings without a time to those with the same identification; those without any, to the first known one. */
static void link_untimed(struct linking *l)
{
	struct sonde_jobs *j = l->j;
	struct sonde_map identities = {0};
	SONDE_VEC(uint32_t) whose = {0};
	struct sonde_buf b = {0};
	uint32_t i, n, *first, known = find_known(j);
	unsigned parts;
	bool is_new;

	for (i = 0; i < j->sightings.nr; i++) {
		if (is_timed(&j->sightings.at[i]))
			continue;
		write_identity(&b, &j->sightings.at[i], true, true);
		n = b.n && !b.failed ? sonde_map_keep(&identities, &l->arena, sonde_buf_view(&b), &is_new) : SONDE_NONE;
		first = sonde_map_slot(&whose, n);
		l->failed |= b.failed || (b.n && !first);
		if (!b.n)
			merge_jobs(l, known, i);
		else if (first && is_new)
			*first = i;
		else if (first)
			merge_jobs(l, *first, i);
	}
	for (i = 0; i < j->sightings.nr && identities.nr; i++)
		for (parts = 1; parts < 4; parts++) { /* the program, the GPU, both */
			write_identity(&b, &j->sightings.at[i], parts & 1, parts & 2);
			n = b.n && !b.failed ? sonde_map_find(&identities, sonde_buf_view(&b)) : SONDE_NONE;
			if (n != SONDE_NONE)
				merge_jobs(l, whose.at[n], i);
		}
	l->failed |= b.failed;
	sonde_buf_release(&b);
	sonde_vec_release(&whose);
	sonde_map_release(&identities);
}

/* --- the error -------------------------------------------------------------------------------- */

static int by_job(const void *pa, const void *pb)
{
	const struct sonde_sighting *a = pa, *b = pb;

	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	return sonde_str_cmp(a->path, b->path);
}

/* The folder that contains all files of a job, and no file of another; NULL = there is none below `dir`. */
static const char *own_folder(struct sonde_jobs *j, size_t at, size_t end, const char *dir)
{
	struct sonde_str common = j->sightings.at[at].path;
	size_t i, least = strlen(dir) + 1;

	for (i = at; i < end; i++) {
		size_t n = 0;

		while (n < common.n && n < j->sightings.at[i].path.n && common.p[n] == j->sightings.at[i].path.p[n])
			n++;
		common.n = n;
	}
	while (common.n && common.p[common.n - 1] != '/')
		common.n--;
	if (common.n <= least)
		return NULL;
	for (i = 0; i < j->sightings.nr; i++)
		if ((i < at || i >= end) && j->sightings.at[i].path.n > common.n &&
			memcmp(j->sightings.at[i].path.p, common.p, common.n) == 0)
			return NULL;
	return sonde_arena_z(&j->arena, (struct sonde_str){common.p, common.n - 1});
}

/* Appends a word, quoted as it must be typed in a shell. */
static void put_word(struct sonde_buf *b, const char *word)
{
	char *const words[] = {(char *)(uintptr_t)word, NULL};

	sonde_buf_putc(b, ' ');
	sonde_argv_show(b, words);
}

static void put_files(struct sonde_buf *b, const struct sonde_jobs *j, size_t at, size_t end)
{
	size_t i, nr = 0;

	for (i = at; i < end; i++) {
		if (i > at && sonde_str_eq(j->sightings.at[i].path, j->sightings.at[i - 1].path))
			continue;
		if (nr++ < MOST_FILES)
			put_word(b, j->sightings.at[i].path.p);
	}
	if (nr > MOST_FILES)
		sonde_buf_printf(b, " \u2026 (%zu files)", nr);
}

/* "sonde report FILES   # python, NVIDIA H200, 2026-01-31 12:00:00 UTC" */
static void put_job(struct sonde_buf *b, struct sonde_jobs *j, size_t at, size_t end, const char *dir)
{
	const struct sonde_sighting *s = &j->sightings.at[at];
	const char *folder = own_folder(j, at, end, dir);
	time_t when = (time_t)(s->first_ns / SECOND) + (s->is_moment ? AROUND_S : 0);
	char text[64];
	struct tm tm;

	sonde_buf_puts(b, "\nsonde report");
	if (folder)
		put_word(b, folder);
	else
		put_files(b, j, at, end);
	sonde_buf_printf(b, "   # %.*s", SONDE_STR_ARG(s->program.n ? s->program : SONDE_STR("a program")));
	if (s->has_rank && s->world_size)
		sonde_buf_printf(b, ", %u rank%s", s->world_size, s->world_size == 1 ? "" : "s");
	if (s->gpu.n)
		sonde_buf_printf(b, ", %.*s", SONDE_STR_ARG(s->gpu));
	if (is_timed(s) && gmtime_r(&when, &tm) && strftime(text, sizeof(text), ", %Y-%m-%d %H:%M:%S UTC", &tm))
		sonde_buf_puts(b, text);
}

static int refuse_jobs(struct sonde_jobs *j, size_t nr_jobs, const char *dir, struct sonde_err *err)
{
	struct sonde_buf b = {0};
	size_t at, end, nr = 0;

	sonde_vec_sort(&j->sightings, by_job);
	for (at = 0; at < j->sightings.nr && nr < MOST_JOBS; at = end, nr++) {
		for (end = at; end < j->sightings.nr && j->sightings.at[end].job == j->sightings.at[at].job; end++)
			;
		put_job(&b, j, at, end, dir);
	}
	if (nr < nr_jobs)
		sonde_buf_printf(&b, "\n\u2026 and %zu more", nr_jobs - nr);
	sonde_err_set(err, SONDE_ERR_USAGE,
		"%s holds captures of %zu jobs, but a report covers one: choose one of those below, or add all up with "
		"--together (report.together=true)%s",
		dir, nr_jobs, b.failed ? "" : b.p);
	sonde_buf_release(&b);
	return SONDE_ERR_USAGE;
}

/* Files are read in any order. */
static int by_path(const void *pa, const void *pb)
{
	const struct sonde_sighting *a = pa, *b = pb;
	int c = sonde_str_cmp(a->path, b->path);

	return c ? c : sonde_cmp(a->pid, b->pid);
}

int sonde_jobs_check(struct sonde_jobs *j, const char *dir, struct sonde_err *err)
{
	static void (*const rules[])(struct linking *) = {
		link_folders, link_times, link_processes, link_ranks, link_untimed};
	struct linking l = {.j = j, .failed = j->failed};
	size_t i, nr = 0;

	sonde_vec_sort(&j->sightings, by_path);
	for (i = 0; i < j->sightings.nr; i++)
		j->sightings.at[i].job = (uint32_t)i;
	for (i = 0; i < sizeof(rules) / sizeof(*rules) && !l.failed; i++)
		rules[i](&l);
	for (i = 0; i < j->sightings.nr && !l.failed; i++)
		nr += job_of(j, (uint32_t)i) == i;
	for (i = 0; i < j->sightings.nr && !l.failed; i++)
		j->sightings.at[i].job = job_of(j, (uint32_t)i);
	sonde_map_release(&l.keys);
	sonde_vec_release(&l.first);
	sonde_arena_release(&l.arena);
	if (l.failed)
		return sonde_err_nomem(err);
	return nr > 1 ? refuse_jobs(j, nr, dir, err) : 0;
}
