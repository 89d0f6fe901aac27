/* The codec of native events: events are read back as they were written, and an event that is cut off is not read. */
#include "format/capture.h"
#include "format/event.h"
#include "unit.h"

static const unsigned types[] = {SONDE_EVENT_PC, SONDE_EVENT_PC_FUNCTION, SONDE_EVENT_PUSH, SONDE_EVENT_POP, SONDE_EVENT_START,
	SONDE_EVENT_STOP, SONDE_EVENT_MARK, SONDE_EVENT_NAME_THREAD, SONDE_EVENT_LAUNCH,
	SONDE_EVENT_NODE, SONDE_EVENT_NODE_COPY, SONDE_EVENT_GPU_CLOCK, SONDE_EVENT_CALL,
	SONDE_EVENT_KERNEL, SONDE_EVENT_MEMCPY, SONDE_EVENT_MEMSET, SONDE_EVENT_GRAPH,
	SONDE_EVENT_OVERHEAD, SONDE_EVENT_DEVICE, SONDE_EVENT_ATTRIBUTE, SONDE_EVENT_MEMORY,
	SONDE_EVENT_UUID, SONDE_EVENT_VALUE};

/* How many numbers an event of this type has, and whether it has a label. */
static unsigned nr_fields(unsigned type, bool *has_label)
{
	*has_label = false;
	switch (type) {
	case SONDE_EVENT_PUSH:
	case SONDE_EVENT_MARK:
		*has_label = true;
		return 0;
	case SONDE_EVENT_POP:
		return 0;
	case SONDE_EVENT_START:
	case SONDE_EVENT_NAME_THREAD:
		*has_label = true;
		return 1;
	case SONDE_EVENT_LAUNCH:
	case SONDE_EVENT_NODE:
	case SONDE_EVENT_GPU_CLOCK:
		return 1;
	case SONDE_EVENT_STOP:
	case SONDE_EVENT_NODE_COPY:
	case SONDE_EVENT_CALL:
		return 2;
	case SONDE_EVENT_PC:
		return 4;
	case SONDE_EVENT_VALUE:
		*has_label = true;
		return 4;
	case SONDE_EVENT_PC_FUNCTION:
		*has_label = true;
		return 3;
	case SONDE_EVENT_KERNEL:
		*has_label = true;
		return 16;
	case SONDE_EVENT_MEMCPY:
		return 9;
	case SONDE_EVENT_MEMSET:
		return 8;
	case SONDE_EVENT_DEVICE:
		*has_label = true;
		return 6;
	case SONDE_EVENT_ATTRIBUTE:
		*has_label = true;
		return 2;
	case SONDE_EVENT_MEMORY:
		return 11;
	case SONDE_EVENT_UUID:
		*has_label = true;
		return 1;
	default:
		return 7;
	}
}

/* Makes an event of this type with different numbers, small and large in turn. */
static struct sonde_event make(unsigned type, unsigned turn)
{
	struct sonde_event e = {.type = (uint8_t)type};
	unsigned i;

	e.ticks = 1000000u + turn * 77u;
	e.has_cpu = type < SONDE_EVENT_KERNEL && turn % 3 == 0;
	e.cpu_ns = 5000u + turn * 11u;
	e.is_unchosen = type == SONDE_EVENT_LAUNCH && turn % 2;
	e.label.domain = turn % 2 ? 1000 : 0;
	if (turn % 2)
		e.label.text = "a name", e.label.nr_bytes = 6;
	else
		e.label.number = 1 + turn;
	for (i = 0; i < SONDE_EVENT_FIELDS; i++)
		e.field[i] = turn % 4 == 1 ? UINT64_MAX - i : turn * 1000u + i;
	if (type == SONDE_EVENT_LAUNCH)
		e.field[0] = (uint32_t)e.field[0];
	return e;
}

static void assert_same(const struct sonde_event *a, const struct sonde_event *b)
{
	bool has_label;
	unsigned i, nr = nr_fields(a->type, &has_label);

	assert_int_equal(a->type, b->type);
	if (a->type < SONDE_EVENT_KERNEL) {
		assert_int_equal(a->ticks, b->ticks);
		assert_int_equal(a->has_cpu, b->has_cpu);
		if (a->has_cpu)
			assert_int_equal(a->cpu_ns, b->cpu_ns);
	}
	assert_int_equal(a->is_unchosen, b->is_unchosen);
	if (a->type == SONDE_EVENT_POP)
		assert_int_equal(a->label.domain, b->label.domain);
	if (has_label) {
		assert_int_equal(a->label.number, b->label.number);
		assert_int_equal(a->label.nr_bytes, b->label.nr_bytes);
		if (a->label.text) {
			assert_int_equal(a->label.domain, b->label.domain);
			assert_memory_equal(a->label.text, b->label.text, a->label.nr_bytes);
		}
	}
	for (i = 0; i < nr; i++)
		assert_int_equal(a->field[i], b->field[i]);
}

#define NR_TYPES  (sizeof(types) / sizeof(*types))
#define NR_EVENTS (NR_TYPES * 8)

/* Writes all types, several times, into one chunk, since events are coded as differences from those before. */
static size_t write_all(uint8_t *bytes, size_t *ends)
{
	struct sonde_event_base b = {.ticks = 1000, .cpu_ns = 70};
	uint8_t *p = bytes;
	unsigned i;

	for (i = 0; i < NR_EVENTS; i++) {
		struct sonde_event e = make(types[i % NR_TYPES], i);
		uint8_t *next = sonde_event_put(p, &b, &e);

		assert_true(next - p <= SONDE_EVENT_LIMIT);
		p = next;
		ends[i] = (size_t)(p - bytes);
	}
	return (size_t)(p - bytes);
}

static void test_event__every_type_comes_back_as_it_was_written(void **state)
{
	static uint8_t bytes[NR_EVENTS * 256];
	size_t ends[NR_EVENTS], n = write_all(bytes, ends);
	struct sonde_event_base b = {.ticks = 1000, .cpu_ns = 70};
	const uint8_t *p = bytes;
	unsigned i;

	(void)state;
	for (i = 0; i < NR_EVENTS; i++) {
		struct sonde_event e = make(types[i % NR_TYPES], i), got;

		memset(&got, 0xa5, sizeof(got));
		p = sonde_event_get(p, bytes + n, &b, &got);
		assert_non_null(p);
		assert_int_equal(p - bytes, ends[i]);
		assert_same(&e, &got);
	}
}

static void test_event__one_that_is_cut_is_none(void **state)
{
	static uint8_t bytes[NR_EVENTS * 256];
	size_t ends[NR_EVENTS], start, cut;
	unsigned i;

	(void)state;
	write_all(bytes, ends);
	for (i = 0; i < NR_TYPES; i++) {
		start = i ? ends[i - 1] : 0;
		for (cut = start; cut < ends[i]; cut++) {
			struct sonde_event_base b = {0};
			struct sonde_event got;

			assert_null(sonde_event_get(bytes + start, bytes + cut, &b, &got));
		}
	}
}

static void test_event__types_nobody_writes_are_refused(void **state)
{
	static const uint8_t unknown[] = {0, SONDE_EVENT_BASE, SONDE_EVENT_LAST};
	uint8_t bytes[64] = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(unknown); i++) {
		struct sonde_event_base b = {0};
		struct sonde_event got;

		bytes[0] = unknown[i];
		assert_null(sonde_event_get(bytes, bytes + sizeof(bytes), &b, &got));
	}
}

static void test_event__attributes_of_version_1_are_passed_over(void **state)
{
	/* A push of label 5 with category 3, a colour and a payload; then a pop. */
	static const uint8_t bytes[] = {SONDE_EVENT_PUSH | SONDE_EVENT_ATTR, 10, 5, 7, 3, 1, 2, 3,
		4, 6, 1, 2, 3, 4, 5, 6, 7, 8, SONDE_EVENT_POP, 20};
	const uint8_t *end = bytes + sizeof(bytes), *p;
	struct sonde_event_base b = {0};
	struct sonde_event got;

	(void)state;
	p = sonde_event_get(bytes, end, &b, &got);
	assert_non_null(p);
	assert_int_equal(got.label.number, 5);
	p = sonde_event_get(p, end, &b, &got);
	assert_ptr_equal(p, end);
	assert_int_equal(got.type, SONDE_EVENT_POP);
	assert_int_equal(got.ticks, 30);
}

static void test_event__what_is_written_in_place_is_the_same(void **state)
{
	struct sonde_event_base b = {.ticks = 5, .correlation = 9}, c = b;
	struct sonde_event e = {.type = SONDE_EVENT_LAUNCH, .ticks = 300, .is_unchosen = true};
	uint8_t one[64], two[64], *p, *q;

	(void)state;
	e.field[0] = 3;
	p = sonde_event_put(one, &b, &e);
	q = sonde_event_put_head(two, &c, SONDE_EVENT_LAUNCH | SONDE_EVENT_UNCHOSEN, 300);
	q = sonde_event_put_launch(q, &c, 3);
	assert_int_equal(p - one, q - two);
	assert_memory_equal(one, two, (size_t)(p - one));
	assert_memory_equal(&b, &c, sizeof(b));
}

static void test_event__a_base_lists_what_is_open(void **state)
{
	struct sonde_event_base b = {.ticks = 1234567890123u, .cpu_ns = 99}, got;
	uint64_t nr_lost, nr_open, label, domain;
	uint8_t bytes[128], *end = sonde_base_put(bytes, &b, 7, 2);
	const uint8_t *p;

	(void)state;
	end = sonde_open_put(end, 300, 4);
	end = sonde_open_put(end, 0, 4);
	p = sonde_base_get(bytes, end, &got, &nr_lost, &nr_open);
	assert_non_null(p);
	assert_int_equal(got.ticks, b.ticks);
	assert_int_equal(got.cpu_ns, b.cpu_ns);
	assert_int_equal(nr_lost, 7);
	assert_int_equal(nr_open, 2);
	p = sonde_open_get(p, end, &label, &domain);
	assert_int_equal(label, 300);
	p = sonde_open_get(p, end, &label, &domain);
	assert_ptr_equal(p, end);
	assert_int_equal(label, 0);
	assert_int_equal(domain, 4);
	assert_null(sonde_base_get(bytes, bytes + 17, &got, &nr_lost, &nr_open));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event__every_type_comes_back_as_it_was_written),
		cmocka_unit_test(test_event__one_that_is_cut_is_none),
		cmocka_unit_test(test_event__types_nobody_writes_are_refused),
		cmocka_unit_test(test_event__attributes_of_version_1_are_passed_over),
		cmocka_unit_test(test_event__what_is_written_in_place_is_the_same),
		cmocka_unit_test(test_event__a_base_lists_what_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
