/*
 * Numbers that come with NVTX events: the payload of an event's attributes, fields of
 * NVTX's extended payloads, and counters of the program.
 *
 * A plain payload gets the name of its category (`tokens`) if the category has a name,
 * else the name `payload`. The tables have a fixed size and only grow: a slot is claimed
 * by compare-and-swap and used once it is complete, so hooks need no lock. Entries that
 * do not fit are dropped; no report becomes wrong by that.
 */
#include "inject/payload_int.h"

#define MAX_NAMED 256u /* most categories with a name */

static struct category {
	_Atomic uint64_t key; /* 0 = free */
	_Atomic(const struct label *) name;
} categories[MAX_NAMED];

static const struct label *intern_name(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	return n ? sonde_label__intern(SONDE_STRING_NAME, 0, text, n > SONDE_NAME_LIMIT ? SONDE_NAME_LIMIT : n) : NULL;
}

/* The slot of a category. `is_new`: claims a slot if the category has none. NULL: the category has no slot, or none is free. */
static struct category *find_category(unsigned domain, uint32_t category, bool is_new)
{
	uint64_t key = 1ull << 63 | (uint64_t)domain << 32 | category, there;
	uint32_t i, at = (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 56);

	for (i = 0; i < MAX_NAMED; i++) {
		struct category *c = &categories[(at + i) % MAX_NAMED];

		there = atomic_load_explicit(&c->key, memory_order_acquire);
		if (!there && is_new && atomic_compare_exchange_strong(&c->key, &there, key))
			return c;
		if (there == key)
			return c;
		if (!there)
			return NULL;
	}
	return NULL;
}

void sonde_payload__name_category(unsigned domain, uint32_t category, const struct label *name)
{
	struct category *c = name ? find_category(domain, category, true) : NULL;

	if (c)
		atomic_store_explicit(&c->name, name, memory_order_release);
}

static const struct label *plain_name(unsigned domain, uint32_t category)
{
	static _Atomic(const struct label *) payload;
	const struct category *c = category ? find_category(domain, category, false) : NULL;
	const struct label *name = c ? atomic_load_explicit(&c->name, memory_order_acquire) : NULL;

	if (name)
		return name;
	name = atomic_load_explicit(&payload, memory_order_relaxed);
	if (!name) {
		name = intern_name("payload");
		atomic_store_explicit(&payload, name, memory_order_relaxed);
	}
	return name;
}

/* --- numbers --------------------------------------------------------------------------------------- */

static void put_whole(struct values *to, const struct label *name, int64_t v)
{
	if (name && to->nr < MAX_VALUES)
		to->at[to->nr++] = (struct value){name, v < 0 ? SONDE_VALUE_NEGATIVE : SONDE_VALUE_UNSIGNED,
			v < 0 ? -(uint64_t)v : (uint64_t)v};
}

static void put_unsigned(struct values *to, const struct label *name, uint64_t v)
{
	if (name && to->nr < MAX_VALUES)
		to->at[to->nr++] = (struct value){name, SONDE_VALUE_UNSIGNED, v};
}

static void put_real(struct values *to, const struct label *name, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	if (name && to->nr < MAX_VALUES)
		to->at[to->nr++] = (struct value){name, SONDE_VALUE_REAL, __builtin_bswap64(bits)};
}

#if SONDE_HAS_NVTX_PAYLOAD
/* How a field's bytes are read. */
enum reading { NOT_READ, SIGNED, UNSIGNED, REAL };

/* The size of one of NVTX's fixed-size types, and how to read it; size 0 = not a type of fixed size. */
static struct type {
	uint8_t size, reading;
} type_of(uint64_t type)
{
	static const struct type types[] = {
		[NVTX_PAYLOAD_ENTRY_TYPE_CHAR] = {1, NOT_READ},
		[NVTX_PAYLOAD_ENTRY_TYPE_UCHAR] = {1, NOT_READ},
		[NVTX_PAYLOAD_ENTRY_TYPE_SHORT] = {sizeof(short), SIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_USHORT] = {sizeof(short), UNSIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_INT] = {sizeof(int), SIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_UINT] = {sizeof(int), UNSIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_LONG] = {sizeof(long), SIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_ULONG] = {sizeof(long), UNSIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG] = {8, SIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG] = {8, UNSIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_INT8] = {1, SIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_UINT8] = {1, UNSIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_INT16] = {2, SIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_UINT16] = {2, UNSIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_INT32] = {4, SIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_UINT32] = {4, UNSIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_INT64] = {8, SIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_UINT64] = {8, UNSIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_FLOAT] = {4, REAL},
		[NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE] = {8, REAL},
		[NVTX_PAYLOAD_ENTRY_TYPE_SIZE] = {sizeof(size_t), UNSIGNED},
		[NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS] = {sizeof(void *), NOT_READ},
		[NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32] = {4, REAL},
		[NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64] = {8, REAL},
		[NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY] = {4, NOT_READ},
		[NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB] = {4, NOT_READ},
		[NVTX_PAYLOAD_ENTRY_TYPE_CSTRING] = {sizeof(char *), NOT_READ},
		[NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8] = {sizeof(char *), NOT_READ},
		[NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE] = {sizeof(void *), NOT_READ},
	};

	return type < sizeof(types) / sizeof(*types) ? types[type] : (struct type){0, NOT_READ};
}

static void read_number(struct values *to, const struct label *name, struct type type, const void *at)
{
	uint64_t bits = 0;
	unsigned shift = 64 - 8u * type.size;
	double real;
	float single;

	memcpy(&bits, at, type.size); /* assumes little-endian, as all machines with CUDA are */
	if (type.reading == SIGNED) {
		put_whole(to, name, (int64_t)(bits << shift) >> shift);
	} else if (type.reading == UNSIGNED) {
		put_unsigned(to, name, bits);
	} else if (type.reading == REAL && type.size == 8) {
		memcpy(&real, &bits, sizeof(real));
		put_real(to, name, real);
	} else if (type.reading == REAL) {
		memcpy(&single, &bits, sizeof(single));
		put_real(to, name, (double)single);
	}
}

/* --- schemas: how the bytes of an extended payload are laid out ------------------------------------- */

#define MAX_SCHEMAS 128u
#define MAX_FIELDS  MAX_VALUES

static struct schema {
	_Atomic uint32_t state; /* 0 = free, 1 = being filled in, 2 = complete */
	unsigned domain;
	uint64_t id;
	uint32_t nr;
	struct field {
		const struct label *name;
		uint32_t offset;
		struct type type;
		bool is_message; /* the field is the label of the event … */
		bool is_registered; /* … as a handle of a registered string */
	} at[MAX_FIELDS];
} schemas[MAX_SCHEMAS];

static const struct schema *find_schema(unsigned domain, uint64_t id)
{
	uint32_t i;

	for (i = 0; i < MAX_SCHEMAS; i++) {
		uint32_t state = atomic_load_explicit(&schemas[i].state, memory_order_acquire);

		if (!state)
			return NULL;
		if (state == 2 && schemas[i].id == id && schemas[i].domain == domain)
			return &schemas[i];
	}
	return NULL;
}

/* Whether a field of this type can be an event's message: fields of other types hold no address of a text. */
static bool is_text(uint64_t type)
{
	return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING || type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8 ||
	       type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE;
}

/*
 * Finds the offsets of the fields with a fixed size. Behind a field whose size is not known (an array, another schema), only fields
 * that state their offset are found.
 */
static void lay_out_schema(struct schema *s, const nvtxPayloadSchemaAttr_t *a, const struct label *prefix)
{
	bool is_packed = a->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT && a->packAlign;
	uint64_t cursor = 0, offset;
	bool is_lost = false;
	size_t i;

	for (i = 0; i < a->numEntries; i++) {
		const nvtxPayloadSchemaEntry_t *e = &a->entries[i];
		struct type type = type_of(e->type);
		bool is_message = e->flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE && is_text(e->type);
		bool is_plain = !(e->flags & ~(uint64_t)(NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE | NVTX_PAYLOAD_ENTRY_FLAG_HIDE)) && !e->arrayOrUnionDetail;
		uint64_t align = is_packed && type.size > a->packAlign ? a->packAlign : type.size;

		if (!type.size || !is_plain || (is_lost && !e->offset)) {
			is_lost = true;
			continue;
		}
		offset = e->offset ? e->offset : align ? (cursor + align - 1) / align * align : cursor;
		if (offset > UINT32_MAX)
			return;
		cursor = offset + type.size;
		is_lost = false;
		if (s->nr == MAX_FIELDS || (type.reading == NOT_READ && !is_message))
			continue;
		s->at[s->nr++] = (struct field){sonde_payload__field_name(prefix, e->name), (uint32_t)offset, type, is_message,
			e->type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE};
	}
}

const struct label *sonde_payload__field_name(const struct label *prefix, const char *name)
{
	char text[2 * SONDE_NAME_LIMIT + 2];
	size_t n = prefix ? prefix->nr_bytes : 0, more = name ? strnlen(name, SONDE_NAME_LIMIT) : 0;

	if (!prefix)
		return intern_name(more ? name : "payload");
	n = n > SONDE_NAME_LIMIT ? SONDE_NAME_LIMIT : n;
	memcpy(text, prefix->text, n);
	if (more)
		text[n++] = '.';
	memcpy(text + n, name ? name : "", more);
	text[n + more] = '\0';
	return intern_name(text);
}

uint64_t sonde_payload__register(unsigned domain, const nvtxPayloadSchemaAttr_t *a)
{
	static _Atomic uint64_t last = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START;
	const uint64_t needed = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
	uint64_t id = a && a->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID && a->schemaId ? a->schemaId
												    : atomic_fetch_add(&last, 1) + 1;
	uint32_t i, free_state;

	if (!a || (a->fieldMask & needed) != needed || !a->entries)
		return id;
	for (i = 0; i < MAX_SCHEMAS; i++) {
		free_state = 0;
		if (!atomic_compare_exchange_strong(&schemas[i].state, &free_state, 1))
			continue;
		schemas[i].domain = domain;
		schemas[i].id = id;
		if (!(a->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE) || a->type == NVTX_PAYLOAD_SCHEMA_TYPE_STATIC)
			lay_out_schema(&schemas[i], a, NULL);
		atomic_store_explicit(&schemas[i].state, 2, memory_order_release);
		break;
	}
	return id;
}

static void take_message(struct values *to, const struct field *f, const char *at)
{
	if (f->is_registered)
		memcpy(&to->registered, at, sizeof(to->registered));
	else
		memcpy(&to->message, at, sizeof(to->message));
}

void sonde_payload__take_data(struct values *to, unsigned domain, const nvtxPayloadData_t *data, size_t nr)
{
	size_t i, k;

	for (i = 0; data && i < nr && i < MAX_VALUES; i++) {
		const nvtxPayloadData_t *d = &data[i];
		struct type type = type_of(d->schemaId);
		const struct schema *s = type.size || !d->payload ? NULL : find_schema(domain, d->schemaId);

		if (d->payload && type.size && d->size >= type.size)
			read_number(to, plain_name(domain, 0), type, d->payload);
		for (k = 0; s && k < s->nr; k++) {
			const struct field *f = &s->at[k];
			const char *at = (const char *)d->payload + f->offset;

			if (d->size < (size_t)f->offset + f->type.size)
				continue;
			if (f->is_message)
				take_message(to, f, at);
			else
				read_number(to, f->name, f->type, at);
		}
	}
}

/* --- counters ---------------------------------------------------------------------------------------- */

#if SONDE_HAS_NVTX_COUNTERS
#define MAX_COUNTERS 256u

static struct counter {
	_Atomic uint32_t state; /* as in struct schema */
	unsigned domain;
	uint64_t id;
	const struct label *name;
	struct type type; /* type of a counter with one number; size 0 = a group of counters … */
	uint64_t schema;  /* … whose layout is the schema with this id */
} counters[MAX_COUNTERS];

uint64_t sonde_payload__register_counter(unsigned domain, const nvtxCounterAttr_t *a)
{
	static _Atomic uint64_t last = NVTX_COUNTER_ID_DYNAMIC_START;
	uint64_t id = a && a->counterId ? a->counterId : atomic_fetch_add(&last, 1) + 1;
	uint32_t i, free_state;

	for (i = 0; a && i < MAX_COUNTERS; i++) {
		free_state = 0;
		if (!atomic_compare_exchange_strong(&counters[i].state, &free_state, 1))
			continue;
		counters[i].domain = domain;
		counters[i].id = id;
		counters[i].name = intern_name(a->name ? a->name : "counter");
		counters[i].type = type_of(a->schemaId);
		counters[i].schema = a->schemaId;
		atomic_store_explicit(&counters[i].state, 2, memory_order_release);
		break;
	}
	return id;
}

static const struct counter *find_counter(unsigned domain, uint64_t id)
{
	uint32_t i;

	for (i = 0; i < MAX_COUNTERS; i++) {
		uint32_t state = atomic_load_explicit(&counters[i].state, memory_order_acquire);

		if (!state)
			return NULL;
		if (state == 2 && counters[i].id == id && counters[i].domain == domain)
			return &counters[i];
	}
	return NULL;
}

void sonde_payload__sample_whole(struct values *to, unsigned domain, uint64_t id, int64_t v)
{
	const struct counter *c = find_counter(domain, id);

	if (c)
		put_whole(to, c->name, v);
}

void sonde_payload__sample_real(struct values *to, unsigned domain, uint64_t id, double v)
{
	const struct counter *c = find_counter(domain, id);

	if (c)
		put_real(to, c->name, v);
}

void sonde_payload__sample(struct values *to, unsigned domain, uint64_t id, const void *at, size_t size)
{
	const struct counter *c = find_counter(domain, id);
	const struct schema *s = c && !c->type.size ? find_schema(domain, c->schema) : NULL;
	uint32_t i;

	if (c && at && c->type.size && size >= c->type.size)
		read_number(to, c->name, c->type, at);
	for (i = 0; s && at && i < s->nr; i++)
		if (!s->at[i].is_message && size >= (size_t)s->at[i].offset + s->at[i].type.size)
			read_number(to, sonde_payload__field_name(c->name, s->at[i].name ? s->at[i].name->text : NULL), s->at[i].type,
				(const char *)at + s->at[i].offset);
}
#endif
#endif

void sonde_payload__take(struct values *to, unsigned domain, const nvtxEventAttributes_t *a)
{
	const struct label *name;

#if SONDE_HAS_NVTX_PAYLOAD
	if (a->payloadType == NVTX_PAYLOAD_TYPE_EXT) {
		if (a->reserved0 > 0)
			sonde_payload__take_data(to, domain, (const nvtxPayloadData_t *)(uintptr_t)a->payload.ullValue, (size_t)a->reserved0);
		return;
	}
#endif
	name = plain_name(domain, a->category);
	switch (a->payloadType) {
	case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
		put_unsigned(to, name, a->payload.ullValue);
		break;
	case NVTX_PAYLOAD_TYPE_INT64:
		put_whole(to, name, a->payload.llValue);
		break;
	case NVTX_PAYLOAD_TYPE_DOUBLE:
		put_real(to, name, a->payload.dValue);
		break;
	case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
		put_unsigned(to, name, a->payload.uiValue);
		break;
	case NVTX_PAYLOAD_TYPE_INT32:
		put_whole(to, name, a->payload.iValue);
		break;
	case NVTX_PAYLOAD_TYPE_FLOAT:
		put_real(to, name, (double)a->payload.fValue);
		break;
	default: /* a type that only a newer NVTX has */
		break;
	}
}
