/* One table says what each event consists of. Writing and reading both use it, so they cannot differ. */
#include "format/event.h"

/* Attributes of version 1: one byte of these flags, then the attributes it names, in this order. */
#define ATTR_CATEGORY 1 /* varint */
#define ATTR_COLOR    2 /* 4 bytes */
#define ATTR_PAYLOAD  4 /* 9 bytes */

#define NR_GPU 6 /* fields that all events of GPU work begin with */

/* The fields of an event behind its time: `before` numbers, a label, `after` numbers. */
struct shape {
	bool is_known, has_time, has_label;
	uint8_t before, after;
};

static const struct shape shapes[SONDE_EVENT_LAST + 1] = {
	[SONDE_EVENT_PUSH] = {true, true, true, 0, 0},
	[SONDE_EVENT_POP] = {true, true, false, 0, 0},
	[SONDE_EVENT_START] = {true, true, true, 0, 1},
	[SONDE_EVENT_STOP] = {true, true, false, 2, 0},
	[SONDE_EVENT_MARK] = {true, true, true, 0, 0},
	[SONDE_EVENT_NAME_THREAD] = {true, true, true, 0, 1},
	[SONDE_EVENT_NAME_CATEGORY] = {true, true, true, 0, 2},
	[SONDE_EVENT_NAME_HANDLE] = {true, true, true, 0, 2},
	[SONDE_EVENT_LAUNCH] = {true, true, false, 1, 0},
	[SONDE_EVENT_NODE] = {true, true, false, 1, 0},
	[SONDE_EVENT_NODE_COPY] = {true, true, false, 2, 0},
	[SONDE_EVENT_GPU_CLOCK] = {true, true, false, 1, 0},
	[SONDE_EVENT_CALL] = {true, true, false, 2, 0},
	[SONDE_EVENT_CARRIED] = {true, true, true, 0, 2},
	[SONDE_EVENT_CALL_ON] = {true, true, false, 4, 0},
	[SONDE_EVENT_RETURN] = {true, true, false, 0, 0},
	[SONDE_EVENT_PC] = {true, false, false, 4, 0},
	[SONDE_EVENT_PC_FUNCTION] = {true, true, true, 5, 0},
	[SONDE_EVENT_ALLOCATOR] = {true, true, false, 4, 0},
	[SONDE_EVENT_VALUE] = {true, true, true, 0, 4},
	[SONDE_EVENT_KERNEL] = {true, false, true, NR_GPU, 10},
	[SONDE_EVENT_MEMCPY] = {true, false, false, NR_GPU + 3, 0},
	[SONDE_EVENT_MEMSET] = {true, false, false, NR_GPU + 2, 0},
	[SONDE_EVENT_GRAPH] = {true, false, false, NR_GPU + 1, 0},
	[SONDE_EVENT_OVERHEAD] = {true, false, false, NR_GPU + 1, 0},
	[SONDE_EVENT_DEVICE] = {true, false, true, 1, 5},
	[SONDE_EVENT_ATTRIBUTE] = {true, false, true, 1, 1},
	[SONDE_EVENT_UUID] = {true, false, true, 1, 0},
	[SONDE_EVENT_MEMORY] = {true, false, false, NR_GPU + 5, 0},
};

bool sonde_event_has_time(unsigned type)
{
	return shapes[type & SONDE_EVENT_TYPE].has_time;
}

/* In launches and in GPU work the first number is written as a difference. */
static uint64_t to_difference(struct sonde_event_base *b, unsigned type, uint64_t value)
{
	uint64_t was;

	if (type == SONDE_EVENT_LAUNCH) {
		was = b->correlation;
		b->correlation = (uint32_t)value;
	} else if (sonde_event_is_of_gpu(type)) {
		was = b->gpu_ns;
		b->gpu_ns = value;
	} else {
		return value;
	}
	return sonde_zigzag((int64_t)(value - was));
}

static uint64_t from_difference(struct sonde_event_base *b, unsigned type, uint64_t value)
{
	if (type == SONDE_EVENT_LAUNCH)
		return b->correlation += (uint32_t)sonde_unzigzag(value);
	if (sonde_event_is_of_gpu(type))
		return b->gpu_ns += (uint64_t)sonde_unzigzag(value);
	return value;
}

/* --- writing ------------------------------------------------------------------------------------- */

static unsigned first_byte(const struct shape *s, const struct sonde_event *e)
{
	unsigned first = e->type;

	if (s->has_time && e->has_cpu)
		first |= SONDE_EVENT_CPU;
	if (s->has_label && !e->label.number)
		first |= SONDE_EVENT_INLINE;
	if (e->type == SONDE_EVENT_POP && e->label.domain)
		first |= SONDE_EVENT_DOMAIN;
	if (e->type == SONDE_EVENT_LAUNCH && e->is_unchosen)
		first |= SONDE_EVENT_UNCHOSEN;
	return first;
}

static uint8_t *put_time(
	uint8_t *p, struct sonde_event_base *b, unsigned first, const struct sonde_event *e)
{
	return e->has_cpu ? sonde_event_put_cpu(p, b, first, e->ticks, e->cpu_ns)
			  : sonde_event_put_head(p, b, first, e->ticks);
}

static uint8_t *put_label(uint8_t *p, const struct sonde_event_label *l)
{
	if (l->number)
		return sonde_varint_put(p, l->number);
	return sonde_event_put_text(p, l->domain, l->text, l->nr_bytes);
}

uint8_t *sonde_event_put(uint8_t *p, struct sonde_event_base *b, const struct sonde_event *e)
{
	const struct shape *s = &shapes[e->type & SONDE_EVENT_TYPE];
	unsigned i, nr = s->before + s->after;

	if (s->has_time)
		p = put_time(p, b, first_byte(s, e), e);
	else
		*p++ = (uint8_t)first_byte(s, e);
	if (s->before)
		p = sonde_varint_put(p, to_difference(b, e->type, e->field[0]));
	for (i = 1; i < s->before; i++)
		p = sonde_varint_put(p, e->field[i]);
	i = s->before;
	if (s->has_label)
		p = put_label(p, &e->label);
	for (; i < nr; i++)
		p = sonde_varint_put(p, e->field[i]);
	if (e->type == SONDE_EVENT_POP && e->label.domain)
		p = sonde_varint_put(p, e->label.domain);
	return p;
}

uint8_t *sonde_base_put(
	uint8_t *p, const struct sonde_event_base *b, uint64_t nr_lost, uint32_t nr_open)
{
	*p++ = SONDE_EVENT_BASE;
	memcpy(p, &b->ticks, 8);
	memcpy(p + 8, &b->cpu_ns, 8);
	p = sonde_varint_put(p + 16, nr_lost);
	return sonde_varint_put(p, nr_open);
}

uint8_t *sonde_open_put(uint8_t *p, uint32_t label, uint32_t domain)
{
	p = sonde_varint_put(p, label);
	return label ? p : sonde_varint_put(p, domain);
}

/* --- reading ------------------------------------------------------------------------------------- */

static const uint8_t *get_time(
	const uint8_t *p, const uint8_t *end, struct sonde_event_base *b, struct sonde_event *e)
{
	uint64_t since;

	p = sonde_varint_get(p, end, &since);
	if (!p)
		return NULL;
	e->ticks = b->ticks += since;
	if (!e->has_cpu)
		return p;
	p = sonde_varint_get(p, end, &since);
	if (p)
		e->cpu_ns = b->cpu_ns += since;
	return p;
}

static const uint8_t *get_label(
	const uint8_t *p, const uint8_t *end, bool is_text, struct sonde_event_label *l)
{
	uint64_t number, nr_bytes;

	*l = (struct sonde_event_label){0};
	p = sonde_varint_get(p, end, &number);
	if (!p || number > UINT32_MAX)
		return NULL;
	if (!is_text) {
		l->number = (uint32_t)number;
		return p;
	}
	p = sonde_varint_get(p, end, &nr_bytes);
	if (!p || nr_bytes > (size_t)(end - p))
		return NULL;
	l->domain = (uint32_t)number;
	l->text = (const char *)p;
	l->nr_bytes = (size_t)nr_bytes;
	return p + nr_bytes;
}

static const uint8_t *skip_attributes(const uint8_t *p, const uint8_t *end)
{
	uint64_t category;
	size_t nr;
	unsigned which;

	if (p >= end)
		return NULL;
	which = *p++;
	if (which & ATTR_CATEGORY) {
		p = sonde_varint_get(p, end, &category);
		if (!p)
			return NULL;
	}
	nr = (which & ATTR_COLOR ? 4 : 0) + (which & ATTR_PAYLOAD ? 9 : 0);
	return (size_t)(end - p) < nr ? NULL : p + nr;
}

static const uint8_t *get_domain(
	const uint8_t *p, const uint8_t *end, bool is_there, struct sonde_event_label *l)
{
	uint64_t domain = 0;

	if (is_there)
		p = sonde_varint_get(p, end, &domain);
	l->domain = domain < UINT32_MAX ? (uint32_t)domain : UINT32_MAX;
	return p;
}

const uint8_t *sonde_event_get(const uint8_t *p, const uint8_t *end, struct sonde_event_base *b,
	struct sonde_event *e)
{
	unsigned first = p < end ? *p++ : 0, i, nr;
	const struct shape *s = &shapes[first & SONDE_EVENT_TYPE];

	if (!s->is_known)
		return NULL;
	nr = s->before + s->after;
	e->type = first & SONDE_EVENT_TYPE;
	e->has_cpu = first & SONDE_EVENT_CPU;
	e->is_unchosen = e->type == SONDE_EVENT_LAUNCH && first & SONDE_EVENT_UNCHOSEN;
	if (s->has_time && !(p = get_time(p, end, b, e)))
		return NULL;
	for (i = 0; i < s->before && p; i++)
		p = sonde_varint_get(p, end, &e->field[i]);
	if (p && s->has_label)
		p = get_label(p, end, first & SONDE_EVENT_INLINE, &e->label);
	for (; i < nr && p; i++)
		p = sonde_varint_get(p, end, &e->field[i]);
	if (p && e->type == SONDE_EVENT_POP)
		p = get_domain(p, end, first & SONDE_EVENT_DOMAIN, &e->label);
	if (p && first & SONDE_EVENT_ATTR && s->has_label)
		p = skip_attributes(p, end);
	if (p && s->before)
		e->field[0] = from_difference(b, e->type, e->field[0]);
	return p;
}

const uint8_t *sonde_base_get(const uint8_t *p, const uint8_t *end, struct sonde_event_base *b,
	uint64_t *nr_lost, uint64_t *nr_open)
{
	if (end - p < 17 || *p != SONDE_EVENT_BASE)
		return NULL;
	*b = (struct sonde_event_base){0};
	memcpy(&b->ticks, p + 1, 8);
	memcpy(&b->cpu_ns, p + 9, 8);
	p = sonde_varint_get(p + 17, end, nr_lost);
	return p ? sonde_varint_get(p, end, nr_open) : NULL;
}

const uint8_t *sonde_open_get(
	const uint8_t *p, const uint8_t *end, uint64_t *label, uint64_t *domain)
{
	*domain = 0;
	p = sonde_varint_get(p, end, label);
	return p && !*label ? sonde_varint_get(p, end, domain) : p;
}
