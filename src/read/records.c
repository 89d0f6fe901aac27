/*
 * There are millions of results but few callers, queues and functions, and a result mostly has those of the
 * result before. Each has a number; before the table is searched, the number returned last is tried.
 */
#include "read/records.h"

#include "base/alloc.h"
#include "catalogue/metrics.h"
#include "read/jobs.h"
#include "read/source.h"
#include "read/unpack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct sonde_record) == 56, "there are millions of them");

#define MUCH_OVERHEAD 0.1 /* share of the time from the first launch to the end of the last */

uint32_t sonde_records__string(struct sonde_records *r, struct sonde_str text)
{
	return sonde_intern(&r->arena, &r->strings, text, NULL);
}

uint32_t sonde_records__copied(struct sonde_records *r, struct sonde_str text)
{
	return sonde_intern_copy(&r->arena, &r->strings, text, NULL);
}

/* Tries the number returned last first: mostly it is the one. */
static uint32_t number_of(
	struct sonde_records *r, struct sonde_map *table, uint32_t *last, struct sonde_str what)
{
	uint32_t n;

	if (table->nr && sonde_str_eq(table->keys[*last], what))
		return *last;
	n = sonde_intern_copy(&r->arena, table, what, NULL);
	*last = n == SONDE_NONE ? *last : n;
	return n;
}

uint32_t sonde_records__caller(struct sonde_records *r, uint32_t process, uint64_t thread)
{
	const struct sonde_caller caller = {.thread = thread, .process = process};
	uint32_t n = process == SONDE_NONE
			     ? SONDE_NONE
			     : number_of(r, &r->callers, &r->last_caller, SONDE_BYTES(caller));

	r->arena.failed |= n >= SONDE_MAX_CALLERS;
	return n < SONDE_MAX_CALLERS ? n : SONDE_NONE;
}

uint32_t sonde_records__queue(
	struct sonde_records *r, uint32_t device, uint32_t context, uint64_t stream)
{
	const struct sonde_queue queue = {stream, device, context};

	return number_of(r, &r->queues, &r->last_queue, SONDE_BYTES(queue));
}

uint32_t sonde_records__function(struct sonde_records *r, uint32_t name, uint32_t full_name)
{
	const struct sonde_function function = {name, full_name};

	if (name == SONDE_NONE || full_name == SONDE_NONE)
		return SONDE_NONE;
	return number_of(r, &r->functions, &r->last_function, SONDE_BYTES(function));
}

#define PASSED_AT_ONCE (16u << 20)

void sonde_source__passed(const struct sonde_source *src, uint64_t at, uint64_t size)
{
	if (at / PASSED_AT_ONCE != (at + size) / PASSED_AT_ONCE)
		sonde_mapping_forget(&src->file, (size_t)at);
}

uint32_t sonde_records__metric(struct sonde_records *r, struct sonde_str name)
{
	/* Inputs are read one after the other, so the metric belongs to the last one. */
	struct sonde_input *in = &r->inputs.at[r->inputs.nr - 1];
	bool is_new;
	uint32_t n = sonde_intern(&r->arena, &r->metric_names, name, &is_new);

	if (is_new)
		sonde_put(&r->arena, &r->metrics, (struct sonde_metric){.name = name});
	if (n >= r->metrics.nr || !sonde_fill(&r->arena, &in->has, n + 1))
		return SONDE_NONE;
	in->has.at[n] = true;
	return n;
}

/* Whether `ns` are a large part of the time known so far, which can only grow. */
static bool may_be_much(uint64_t ns, uint64_t first, uint64_t last)
{
	return last <= first || (double)ns > MUCH_OVERHEAD * (double)(last - first);
}

void sonde_records__note_overhead(struct sonde_records *r, const char *path, uint64_t ns)
{
	const struct sonde_record *at = r->records.at;
	size_t i, nr = r->records.nr;
	uint64_t first = nr ? at[0].time.start_ns : 0, last = nr ? at[nr - 1].time.end_ns : 0;

	for (i = 0; i < nr && may_be_much(ns, first, last); i++) {
		first = at[i].time.start_ns < first ? at[i].time.start_ns : first;
		last = at[i].time.end_ns > last ? at[i].time.end_ns : last;
	}
	if (last > first && may_be_much(ns, first, last))
		sonde_note(&r->notes,
			"%s: the profiler itself took %.3f ms of the %.3f ms in which the GPU was used: host times "
			"are too long",
			path, (double)ns / 1e6, (double)(last - first) / 1e6);
}

uint32_t sonde_records__find_process(const struct sonde_records *r, uint32_t input, uint64_t pid)
{
	const uint64_t key[3] = {input, pid, sonde_hash(NULL, 0)};

	return sonde_map_find(&r->process_keys, SONDE_BYTES(key));
}

uint32_t sonde_records__process(struct sonde_records *r, uint32_t input, uint64_t pid,
	struct sonde_str host, struct sonde_str name)
{
	uint64_t key[3] = {input, pid, sonde_hash(host.p, host.n)};
	bool is_new;
	uint32_t n = sonde_intern_copy(&r->arena, &r->process_keys, SONDE_BYTES(key), &is_new);

	if (is_new)
		sonde_put(&r->arena, &r->processes,
			(struct sonde_process){.pid = pid, .host = host, .name = name, .input = input});
	r->arena.failed |= n >= SONDE_MAX_PROCESSES;
	return n < r->processes.nr ? n : SONDE_NONE;
}

void sonde_process__set_rank(struct sonde_process *p, struct sonde_str rank, struct sonde_str size)
{
	uint64_t number, nr;

	if (!sonde_str_u64(rank, &number) || number >= SONDE_NONE)
		return;
	if (!sonde_str_u64(size, &nr) || nr >= SONDE_NONE)
		nr = 0;
	p->has_rank = nr != 1;
	p->rank = (uint32_t)number;
	p->world_size = (uint32_t)nr;
}

uint32_t sonde_records__set(struct sonde_records *r, const uint32_t *members, size_t nr)
{
	struct sonde_set *set;
	size_t first = r->members.nr;

	if (nr == 0)
		return 0;
	set = &r->sets.at[r->sets.nr - 1];
	if (set->nr == nr &&
		memcmp(&r->members.at[set->first], members, nr * sizeof(*members)) == 0)
		return (uint32_t)(r->sets.nr - 1);
	r->arena.failed |= r->sets.nr >= SONDE_NONE || first + nr >= SONDE_NONE;
	if (r->arena.failed || !sonde_reserve(&r->arena, &r->members, first + nr))
		return 0;
	memcpy(&r->members.at[first], members, nr * sizeof(*members));
	r->members.nr = first + nr;
	sonde_put(&r->arena, &r->sets, (struct sonde_set){.first = (uint32_t)first, .nr = (uint32_t)nr});
	return (uint32_t)(r->sets.nr - 1);
}

static int check_folders(const struct sonde_records *r, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < r->folders.nr && rc == 0; i++) {
		struct sonde_jobs jobs = {0};

		sonde_jobs_add(&jobs, &(struct sonde_found){.inputs = r->inputs.at,
					      .processes = r->processes.at,
					      .first_process = r->folders.at[i].first,
					      .nr_processes = r->folders.at[i].end,
					      .devices = r->devices.at,
					      .nr_devices = r->devices.nr});
		rc = sonde_jobs_check(&jobs, r->folders.at[i].dir, err);
		sonde_jobs_release(&jobs);
	}
	return rc;
}

int sonde_records_open(struct sonde_records **out, const char *const *paths, size_t nr_paths,
	const struct sonde_read_options *options, struct sonde_err *err)
{
	struct sonde_err local = {0};
	struct sonde_records *r = sonde_calloc(1, sizeof(*r));
	size_t i;
	int rc = 0;

	*out = NULL;
	if (!err)
		err = &local; /* notes quote its message */
	if (!r)
		return sonde_err_nomem(err);
	sonde_push(&r->arena, &r->sets);
	rc = sonde_arena_status(&r->arena, err);
	r->options = options ? *options : (struct sonde_read_options){0};
	for (i = 0; i < nr_paths && rc == 0; i++)
		rc = sonde_records__read(r, paths[i], err);
	if (rc == 0 && !sonde_records__complete_times(r))
		rc = sonde_err_nomem(err);
	if (rc == 0)
		sonde_records__place_series(r);
	if (rc == 0) {
		sonde_records__follow(r);
		rc = check_folders(r, err);
	}
	if (rc)
		sonde_records_free(r);
	else
		*out = r;
	return rc;
}

void sonde_records_note(struct sonde_records *r)
{
	sonde_inputs_note_running(&r->notes, r->inputs.at, r->inputs.nr);
	sonde_inputs_note_unclosed(&r->notes, r->nr_unclosed);
	sonde_inputs_note_doubled(&r->notes, r->inputs.at, r->processes.at, r->processes.nr);
}

void sonde_records_free(struct sonde_records *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->sources.nr; i++) {
		struct sonde_source *src = r->sources.at[i];

		if (src->state && src->ops->release)
			src->ops->release(src);
		sonde_mapping_release(&src->file);
	}
	for (i = 0; i < r->rolled.nr; i++)
		sonde_buf_release(&r->rolled.at[i].cells);
	sonde_vec_release(&r->windows); /* these two may have grown outside the arena */
	sonde_vec_release(&r->records);
	sonde_notes_release(&r->notes);
	sonde_arena_release(&r->arena);
	sonde_free(r);
}

int sonde_values_init(struct sonde_values *v, const struct sonde_records *r, struct sonde_err *err)
{
	*v = (struct sonde_values){
		.nr_metrics = r->metrics.nr, .time_metric = sonde_records_metric(r, SONDE_METRIC_TIME)};
	v->num = sonde_calloc(v->nr_metrics, sizeof(*v->num));
	return v->num ? 0 : sonde_err_nomem(err);
}

void sonde_values_release(struct sonde_values *v)
{
	sonde_free(v->num);
	sonde_vec_release(&v->texts);
	*v = (struct sonde_values){0};
}

bool sonde_values__text(struct sonde_values *v, uint32_t metric, struct sonde_str text)
{
	return sonde_vec_put(&v->texts, (struct sonde_text_value){.metric = metric, .text = text});
}

#define MOST_VALUE   1e60 /* a product of three such values is still finite */
#define MOST_TIME_NS 1e18  /* 31 years */

/* False for NaN, which means "not known". */
static bool is_impossible_time(double ns)
{
	return ns < 0 || ns > MOST_TIME_NS;
}

/* Removes impossible numbers; returns the metric of one of them, SONDE_NONE = there was none. */
static uint32_t drop_impossible(struct sonde_values *v, double *was)
{
	uint32_t bad = SONDE_NONE;
	size_t i;

	for (i = 0; i < v->nr_metrics; i++) {
		if (!(fabs(v->num[i]) > MOST_VALUE) && !(i == v->time_metric && is_impossible_time(v->num[i])))
			continue;
		bad = (uint32_t)i;
		*was = v->num[i];
		v->num[i] = NAN;
	}
	return bad;
}

int sonde_records_values(const struct sonde_records *r, uint32_t record, struct sonde_values *v,
	struct sonde_err *err)
{
	const struct sonde_record *rec = &r->records.at[record];
	uint32_t process = sonde_record_caller(r, rec)->process, bad;
	const struct sonde_source *src = r->sources.at[r->processes.at[process].input];
	double was = 0;
	char number[32];
	size_t i;
	int rc;

	for (i = 0; i < v->nr_metrics; i++)
		v->num[i] = NAN;
	v->texts.nr = 0;
	rc = src->ops->values(src, rec, v, err);
	bad = drop_impossible(v, &was);
	if (rc || bad == SONDE_NONE)
		return rc;
	if (isinf(was))
		snprintf(number, sizeof(number), "infinite");
	else
		snprintf(number, sizeof(number), "%g", was);
	return sonde_err_set(err, SONDE_ERR_FORMAT, "%s: %.*s: %.*s cannot be %s: it is left out", src->path,
		SONDE_STR_ARG(sonde_records_str(r, sonde_record_function(r, rec)->name)),
		SONDE_STR_ARG(r->metric_names.keys[bad]), number);
}

struct sonde_str sonde_records_str(const struct sonde_records *r, uint32_t string)
{
	return string == SONDE_NONE ? (struct sonde_str){NULL, 0} : r->strings.keys[string];
}

uint32_t sonde_records_metric(const struct sonde_records *r, const char *name)
{
	return sonde_map_find(&r->metric_names, sonde_str_from(name));
}

bool sonde_input_has(const struct sonde_input *in, uint32_t metric)
{
	return metric < in->has.nr && in->has.at[metric];
}

double sonde_device_attribute(const struct sonde_device *d, const char *name)
{
	size_t i;

	for (i = 0; d && i < d->nr_attributes; i++)
		if (sonde_str_is(d->attributes[i].name, name))
			return d->attributes[i].value;
	return NAN;
}

/* Maps `key` to the device added last, unless it is mapped already. */
static void add_device_key(struct sonde_records *r, struct sonde_str key)
{
	bool is_new;

	sonde_intern_copy(&r->arena, &r->device_keys, key, &is_new);
	if (is_new)
		sonde_put(&r->arena, &r->device_of, (uint32_t)(r->devices.nr - 1));
}

void sonde_records__device(struct sonde_records *r, const struct sonde_device *device)
{
	const uint32_t own[3] = {false, device->process, device->id},
		       shared[3] = {true, r->processes.at[device->process].input, device->id};

	if (sonde_map_find(&r->device_keys, SONDE_BYTES(own)) != SONDE_NONE)
		return;
	sonde_put(&r->arena, &r->devices, *device);
	add_device_key(r, SONDE_BYTES(own));
	add_device_key(r, SONDE_BYTES(shared));
}

/* A report of several processes may list the devices for one of them only: ids are then shared. */
const struct sonde_device *sonde_records_device(
	const struct sonde_records *r, uint32_t process, uint32_t id)
{
	const uint32_t own[3] = {false, process, id},
		       shared[3] = {true, r->processes.at[process].input, id};
	uint32_t n = sonde_map_find(&r->device_keys, SONDE_BYTES(own));

	if (n == SONDE_NONE)
		n = sonde_map_find(&r->device_keys, SONDE_BYTES(shared));
	return n < r->device_of.nr && r->device_of.at[n] < r->devices.nr ? &r->devices.at[r->device_of.at[n]] : NULL;
}
