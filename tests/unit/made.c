#include "made.h"

#include "base/alloc.h"
#include "unit.h"

static int made_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct made *m = src->state;
	size_t i;

	(void)err;
	for (i = 0; i < m->values.nr; i++) {
		const struct made_value *x = &m->values.at[i];

		if (x->record != rec->payload)
			continue;
		if (x->text)
			assert_true(sonde_values__text(v, x->metric, sonde_str_from(x->text)));
		else
			v->num[x->metric] = x->v;
	}
	return 0;
}

static const struct sonde_source_ops made_ops = {.name = "made", .values = made_values};

void made_init(struct made *m)
{
	memset(m, 0, sizeof(*m));
	m->r = sonde_calloc(1, sizeof(*m->r));
	assert_non_null(m->r);
	assert_non_null(sonde_push(&m->r->arena, &m->r->sets));
	made_input(m, "kernel", 1);
	m->thread = 1;
}

void made_input(struct made *m, const char *replay_mode, uint64_t pid)
{
	struct sonde_source *src = sonde_arena_calloc(&m->r->arena, 1, sizeof(*src)), **slot;
	struct sonde_input *in;

	slot = sonde_push(&m->r->arena, &m->r->sources);
	in = sonde_push(&m->r->arena, &m->r->inputs);
	assert_true(slot && in && src);
	*slot = src;
	src->ops = &made_ops;
	src->state = m;
	in->path = SONDE_STR("made");
	in->source = SONDE_STR("made");
	in->replay_mode = sonde_str_from(replay_mode);
	m->input = (uint32_t)(m->r->inputs.nr - 1);
	made_process(m, pid);
}

void made_release(struct made *m)
{
	sonde_records_free(m->r);
	sonde_vec_release(&m->values);
}

void made_process(struct made *m, uint64_t pid)
{
	m->process =
		sonde_records__process(m->r, m->input, pid, SONDE_STR("host"), SONDE_STR("prog"));
}

static uint32_t string(struct made *m, const char *z)
{
	return sonde_records__string(m->r, sonde_arena_dup(&m->r->arena, sonde_str_from(z)));
}

uint32_t made_range(
	struct made *m, uint32_t parent, const char *domain, const char *label, int kind)
{
	struct sonde_range *g = sonde_push(&m->r->arena, &m->r->ranges);

	assert_non_null(g);
	*g = (struct sonde_range){.parent = parent,
		.label = string(m, label),
		.domain = domain ? string(m, domain) : SONDE_NONE,
		.process = m->process,
		.thread = m->thread,
		.kind = (uint8_t)kind};
	return (uint32_t)(m->r->ranges.nr - 1);
}

uint32_t made_push(struct made *m, uint32_t parent, const char *label)
{
	return made_range(m, parent, NULL, label, SONDE_PUSH_POP);
}

uint32_t made_start(struct made *m, const char *label)
{
	return made_range(m, MADE_ROOT, NULL, label, SONDE_START_END);
}

uint32_t made_launch(struct made *m, const char *kernel, size_t nr, const uint32_t *open)
{
	struct sonde_record *rec = sonde_push(&m->r->arena, &m->r->records);
	uint32_t name = string(m, kernel);

	assert_non_null(rec);
	*rec = (struct sonde_record){
		.caller = sonde_records__caller(m->r, m->process, m->thread),
		.queue = sonde_records__queue(m->r, m->device, 0, 0),
		.function = sonde_records__function(m->r, name, name),
		.payload = m->r->records.nr - 1,
		.open = sonde_records__set(m->r, open, nr)};
	return (uint32_t)(m->r->records.nr - 1);
}

void made_set_thread(struct made *m, size_t record, uint64_t thread)
{
	struct sonde_record *rec = &m->r->records.at[record];

	rec->caller = sonde_records__caller(m->r, sonde_record_caller(m->r, rec)->process, thread);
}

void made_set_device(struct made *m, size_t record, uint32_t device)
{
	struct sonde_record *rec = &m->r->records.at[record];

	rec->queue = sonde_records__queue(m->r, device, 0, sonde_record_queue(m->r, rec)->stream);
}

void made_set_stream(struct made *m, size_t record, uint64_t stream)
{
	struct sonde_record *rec = &m->r->records.at[record];

	rec->queue = sonde_records__queue(m->r, sonde_record_queue(m->r, rec)->device, 0, stream);
}

static struct made_value *value(struct made *m, const char *name)
{
	struct made_value *v = sonde_vec_push(&m->values);

	assert_non_null(v);
	v->record = (uint32_t)(m->r->records.nr - 1);
	v->metric =
		sonde_records__metric(m->r, sonde_arena_dup(&m->r->arena, sonde_str_from(name)));
	return v;
}

uint32_t made_push_at(
	struct made *m, uint64_t thread, uint32_t parent, const char *label, int begin, int end)
{
	uint32_t n;

	m->thread = thread;
	n = made_push(m, parent, label);
	m->r->ranges.at[n].time.begin_ns = (uint64_t)begin;
	m->r->ranges.at[n].time.end_ns = (uint64_t)end;
	return n;
}

uint32_t made_launch_at(struct made *m, uint64_t thread, int ns, uint32_t open)
{
	uint32_t n;

	m->thread = thread;
	n = made_launch(m, "k", open != SONDE_NONE, &open);
	m->r->records.at[n].call_ns = (uint64_t)ns;
	m->r->records.at[n].time = (struct sonde_record_time){(uint64_t)ns + 1000, (uint64_t)ns + 1001};
	return n;
}

void made_metric(struct made *m, const char *name, double v)
{
	value(m, name)->v = v;
}

void made_text(struct made *m, const char *name, const char *text)
{
	value(m, name)->text = text;
}
