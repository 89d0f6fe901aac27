#include "read/snapshot/pickle.h"

#include "read/source.h"

#include <string.h>

/* What this machine does for an opcode. Opcodes that differ only in how a number is written share an action. */
enum action {
	UNKNOWN, /* not an opcode of Python's */
	REFUSED,
	SKIP,	/* PROTO, FRAME: `size` bytes follow */
	STOP,
	MARK,
	NONE,
	FALSE,
	TRUE,
	INT,	/* a number of `size` bytes */
	LONG,	/* a number: `size` bytes with its length, then its bytes */
	REAL,
	TEXT,	/* a text: `size` bytes with its length, then its bytes */
	LIST,	/* an empty list */
	DICT,
	MARKED_LIST, /* a list of the values above the mark */
	MARKED_DICT,
	TUPLE, /* a tuple of `size` values */
	ADD,   /* adds `size` values to the list or dict below them */
	ADD_MARKED,
	MEMOIZE,
	PUT, /* the number of the memo has `size` bytes */
	GET,
};

static const struct opcode {
	const char *name;
	uint8_t action, size;
} opcodes[256] = {
	['('] = {"MARK", MARK, 0},
	['.'] = {"STOP", STOP, 0},
	['0'] = {"POP", REFUSED, 0},
	['1'] = {"POP_MARK", REFUSED, 0},
	['2'] = {"DUP", REFUSED, 0},
	['F'] = {"FLOAT", REFUSED, 0},
	['I'] = {"INT", REFUSED, 0},
	['J'] = {"BININT", INT, 4},
	['K'] = {"BININT1", INT, 1},
	['L'] = {"LONG", REFUSED, 0},
	['M'] = {"BININT2", INT, 2},
	['N'] = {"NONE", NONE, 0},
	['P'] = {"PERSID", REFUSED, 0},
	['Q'] = {"BINPERSID", REFUSED, 0},
	['R'] = {"REDUCE", REFUSED, 0},
	['S'] = {"STRING", REFUSED, 0},
	['T'] = {"BINSTRING", TEXT, 4},
	['U'] = {"SHORT_BINSTRING", TEXT, 1},
	['V'] = {"UNICODE", REFUSED, 0},
	['X'] = {"BINUNICODE", TEXT, 4},
	['a'] = {"APPEND", ADD, 1},
	['b'] = {"BUILD", REFUSED, 0},
	['c'] = {"GLOBAL", REFUSED, 0},
	['d'] = {"DICT", MARKED_DICT, 0},
	['}'] = {"EMPTY_DICT", DICT, 0},
	['e'] = {"APPENDS", ADD_MARKED, 0},
	['g'] = {"GET", REFUSED, 0},
	['h'] = {"BINGET", GET, 1},
	['i'] = {"INST", REFUSED, 0},
	['j'] = {"LONG_BINGET", GET, 4},
	['l'] = {"LIST", MARKED_LIST, 0},
	[']'] = {"EMPTY_LIST", LIST, 0},
	['o'] = {"OBJ", REFUSED, 0},
	['p'] = {"PUT", REFUSED, 0},
	['q'] = {"BINPUT", PUT, 1},
	['r'] = {"LONG_BINPUT", PUT, 4},
	['s'] = {"SETITEM", ADD, 2},
	['t'] = {"TUPLE", MARKED_LIST, 0},
	[')'] = {"EMPTY_TUPLE", LIST, 0},
	['u'] = {"SETITEMS", ADD_MARKED, 0},
	['G'] = {"BINFLOAT", REAL, 8},
	['B'] = {"BINBYTES", TEXT, 4},
	['C'] = {"SHORT_BINBYTES", TEXT, 1},
	[0x80] = {"PROTO", SKIP, 1},
	[0x81] = {"NEWOBJ", REFUSED, 0},
	[0x82] = {"EXT1", REFUSED, 0},
	[0x83] = {"EXT2", REFUSED, 0},
	[0x84] = {"EXT4", REFUSED, 0},
	[0x85] = {"TUPLE1", TUPLE, 1},
	[0x86] = {"TUPLE2", TUPLE, 2},
	[0x87] = {"TUPLE3", TUPLE, 3},
	[0x88] = {"NEWTRUE", TRUE, 0},
	[0x89] = {"NEWFALSE", FALSE, 0},
	[0x8a] = {"LONG1", LONG, 1},
	[0x8b] = {"LONG4", LONG, 4},
	[0x8c] = {"SHORT_BINUNICODE", TEXT, 1},
	[0x8d] = {"BINUNICODE8", TEXT, 8},
	[0x8e] = {"BINBYTES8", TEXT, 8},
	[0x8f] = {"EMPTY_SET", REFUSED, 0},
	[0x90] = {"ADDITEMS", REFUSED, 0},
	[0x91] = {"FROZENSET", REFUSED, 0},
	[0x92] = {"NEWOBJ_EX", REFUSED, 0},
	[0x93] = {"STACK_GLOBAL", REFUSED, 0},
	[0x94] = {"MEMOIZE", MEMOIZE, 0},
	[0x95] = {"FRAME", SKIP, 8},
	[0x96] = {"BYTEARRAY8", REFUSED, 0},
	[0x97] = {"NEXT_BUFFER", REFUSED, 0},
	[0x98] = {"READONLY_BUFFER", REFUSED, 0},
};

struct machine {
	struct sonde_pickle *out;
	struct sonde_source *src;
	struct sonde_err *err;
	const uint8_t *begin, *at, *p, *end; /* at: the current opcode; p: behind the bytes read of it */
	SONDE_VEC(uint32_t) stack; /* numbers in `values` … */
	SONDE_VEC(size_t) marks;   /* … and how many there were at each mark */
	SONDE_VEC(uint32_t) memo;
};

/* --- errors ---------------------------------------------------------------------------------------- */

static int refuse_instruction(const struct machine *m, const char *why)
{
	const struct opcode *o = &opcodes[*m->at];

	return sonde_err_at(m->err, SONDE_ERR_FORMAT, m->src->path, (uint64_t)(m->at - m->begin), "%s %s", o->name, why);
}

static int refuse_opcode(const struct machine *m)
{
	if (opcodes[*m->at].action == REFUSED)
		return refuse_instruction(m, "is a pickle instruction that sonde refuses, because it could run code: a memory snapshot "
				 "has texts, numbers, lists and dicts only; write it with torch.cuda.memory._dump_snapshot");
	return sonde_err_at(m->err, SONDE_ERR_FORMAT, m->src->path, (uint64_t)(m->at - m->begin),
		"0x%02x is not a pickle instruction: the file is damaged, copy it again", *m->at);
}

static int refuse_cut(const struct machine *m)
{
	return sonde_source__truncated(m->src, "a pickle instruction", (uint64_t)(m->at - m->begin), (uint64_t)(m->end - m->begin), m->err);
}

/* --- values ---------------------------------------------------------------------------------------- */

static uint64_t read_little(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

/* Reads the number behind an opcode; false if the file ends before. */
static bool take_number(struct machine *m, size_t size, uint64_t *v)
{
	if ((size_t)(m->end - m->p) < size)
		return false;
	*v = read_little(m->p, size);
	m->p += size;
	return true;
}

static void push_value(struct machine *m, struct sonde_pickle_value v)
{
	sonde_put(&m->src->work, &m->stack, (uint32_t)m->out->values.nr);
	sonde_put(&m->src->work, &m->out->values, v);
	m->src->work.failed |= m->out->values.nr >= SONDE_NONE;
}

static void push_number(struct machine *m, int64_t number)
{
	push_value(m, (struct sonde_pickle_value){.type = SONDE_PICKLE_INT, .number = number});
}

static void push_empty(struct machine *m, enum sonde_pickle_type type)
{
	push_value(m, (struct sonde_pickle_value){.type = (uint8_t)type, .items = {SONDE_NONE, SONDE_NONE}});
}

/* The number of values this opcode may take: those above the last mark. */
static size_t nr_above_mark(const struct machine *m)
{
	return m->stack.nr - (m->marks.nr ? m->marks.at[m->marks.nr - 1] : 0);
}

/* Takes the `nr` topmost values and adds them to a list or dict. */
static void add_items(struct machine *m, uint32_t to, size_t nr)
{
	struct sonde_pickle *p = m->out;
	struct sonde_pickle_value *v = &p->values.at[to];
	uint32_t chunk = (uint32_t)p->chunks.nr;
	size_t i;

	if (nr) {
		if (v->items.last != SONDE_NONE)
			p->chunks.at[v->items.last].next = chunk;
		else
			v->items.first = chunk;
		v->items.last = chunk;
		sonde_put(&m->src->work, &p->chunks, (struct sonde_pickle_chunk){(uint32_t)p->items.nr, (uint32_t)nr, SONDE_NONE});
	}
	for (i = m->stack.nr - nr; i < m->stack.nr; i++)
		sonde_put(&m->src->work, &p->items, m->stack.at[i]);
	m->stack.nr -= nr;
	m->src->work.failed |= p->items.nr >= SONDE_NONE;
}

/* The number of values above the last mark, which is removed. */
static bool pop_mark(struct machine *m, size_t *nr)
{
	if (!m->marks.nr)
		return false;
	*nr = nr_above_mark(m);
	m->marks.nr--;
	return true;
}

/* Pushes a new list or dict with the `nr` topmost values. */
static void push_filled(struct machine *m, enum sonde_pickle_type type, size_t nr)
{
	uint32_t number = (uint32_t)m->out->values.nr;
	struct sonde_pickle_value v = {.type = (uint8_t)type, .items = {SONDE_NONE, SONDE_NONE}};

	sonde_put(&m->src->work, &m->out->values, v);
	if (m->src->work.failed)
		return;
	add_items(m, number, nr);
	sonde_put(&m->src->work, &m->stack, number);
}

static int do_long(struct machine *m, size_t size)
{
	uint64_t nr, v;

	if (!take_number(m, size, &nr) || nr > (uint64_t)(m->end - m->p))
		return refuse_cut(m);
	v = read_little(m->p, nr < 8 ? nr : 8);
	if (nr && nr < 8 && m->p[nr - 1] & 0x80)
		v |= UINT64_MAX << 8 * nr;
	m->p += nr;
	if (nr <= 8)
		push_number(m, (int64_t)v);
	else
		push_value(m, (struct sonde_pickle_value){.type = SONDE_PICKLE_NONE});
	return 0;
}

static int do_text(struct machine *m, size_t size)
{
	uint64_t nr;

	if (!take_number(m, size, &nr) || nr > (uint64_t)(m->end - m->p))
		return refuse_cut(m);
	push_value(m, (struct sonde_pickle_value){.type = SONDE_PICKLE_TEXT, .text = {(const char *)m->p, (size_t)nr}});
	m->p += nr;
	return 0;
}

static int do_real(struct machine *m)
{
	struct sonde_pickle_value v = {.type = SONDE_PICKLE_FLOAT};
	uint64_t bits;

	if (!take_number(m, 8, &bits))
		return refuse_cut(m);
	bits = __builtin_bswap64(bits); /* the only number with the high byte first */
	memcpy(&v.real, &bits, sizeof(bits));
	push_value(m, v);
	return 0;
}

static int do_int(struct machine *m, size_t size)
{
	uint64_t v;

	if (!take_number(m, size, &v))
		return refuse_cut(m);
	push_number(m, size == 4 ? (int32_t)(uint32_t)v : (int64_t)v);
	return 0;
}

/* --- lists, dicts, the memo ------------------------------------------------------------------------ */

static int do_add(struct machine *m, size_t nr)
{
	const struct sonde_pickle_value *to;
	bool is_dict = opcodes[*m->at].name[0] == 'S'; /* SETITEM, SETITEMS */

	if (nr_above_mark(m) <= nr)
		return refuse_instruction(m, "has no list or dict to add to: the file is damaged, copy it again");
	to = &m->out->values.at[m->stack.at[m->stack.nr - nr - 1]];
	if (to->type != (is_dict ? SONDE_PICKLE_DICT : SONDE_PICKLE_LIST) || (is_dict && nr % 2))
		return refuse_instruction(m, "adds to the wrong kind of value: the file is damaged, copy it again");
	add_items(m, m->stack.at[m->stack.nr - nr - 1], nr);
	return 0;
}

static int do_marked(struct machine *m, const struct opcode *o)
{
	size_t nr;

	if (!pop_mark(m, &nr))
		return refuse_instruction(m, "has no MARK before it: the file is damaged, copy it again");
	if (o->action == ADD_MARKED)
		return do_add(m, nr);
	if (o->action == MARKED_DICT && nr % 2)
		return refuse_instruction(m, "has a key without a value: the file is damaged, copy it again");
	push_filled(m, o->action == MARKED_DICT ? SONDE_PICKLE_DICT : SONDE_PICKLE_LIST, nr);
	return 0;
}

static int do_tuple(struct machine *m, size_t nr)
{
	if (nr_above_mark(m) < nr)
		return refuse_instruction(m, "has too few values: the file is damaged, copy it again");
	push_filled(m, SONDE_PICKLE_LIST, nr);
	return 0;
}

/* Python numbers the entries of its memo from 0 on, so a number beyond the next one is damage; it must not size anything. */
static int do_put(struct machine *m, const struct opcode *o)
{
	uint64_t at = m->memo.nr;

	if (o->action == PUT && !take_number(m, o->size, &at))
		return refuse_cut(m);
	if (!nr_above_mark(m) || at > m->memo.nr)
		return refuse_instruction(m, "has no value to store, or stores it at an impossible number: the file is damaged, copy it again");
	if (at == m->memo.nr)
		sonde_put(&m->src->work, &m->memo, m->stack.at[m->stack.nr - 1]);
	else
		m->memo.at[at] = m->stack.at[m->stack.nr - 1];
	return 0;
}

static int do_get(struct machine *m, size_t size)
{
	uint64_t at;

	if (!take_number(m, size, &at))
		return refuse_cut(m);
	if (at >= m->memo.nr)
		return refuse_instruction(m, "fetches a value that was never stored: the file is damaged, copy it again");
	sonde_put(&m->src->work, &m->stack, m->memo.at[at]);
	return 0;
}

/* --- the machine ------------------------------------------------------------------------------------ */

static int do_opcode(struct machine *m, const struct opcode *o)
{
	uint64_t skipped;

	switch (o->action) {
	case SKIP:
		return take_number(m, o->size, &skipped) ? 0 : refuse_cut(m);
	case MARK:
		sonde_put(&m->src->work, &m->marks, m->stack.nr);
		return 0;
	case NONE:
		push_value(m, (struct sonde_pickle_value){.type = SONDE_PICKLE_NONE});
		return 0;
	case FALSE:
	case TRUE:
		push_value(m, (struct sonde_pickle_value){.type = SONDE_PICKLE_BOOL, .number = o->action == TRUE});
		return 0;
	case INT:
		return do_int(m, o->size);
	case LONG:
		return do_long(m, o->size);
	case REAL:
		return do_real(m);
	case TEXT:
		return do_text(m, o->size);
	case LIST:
	case DICT:
		push_empty(m, o->action == DICT ? SONDE_PICKLE_DICT : SONDE_PICKLE_LIST);
		return 0;
	case TUPLE:
		return do_tuple(m, o->size);
	case ADD:
		return do_add(m, o->size);
	case ADD_MARKED:
	case MARKED_LIST:
	case MARKED_DICT:
		return do_marked(m, o);
	case MEMOIZE:
	case PUT:
		return do_put(m, o);
	case GET:
		return do_get(m, o->size);
	default:
		return refuse_opcode(m);
	}
}

int sonde_pickle__read(struct sonde_pickle *out, struct sonde_source *src, struct sonde_err *err)
{
	struct machine m = {.out = out, .src = src, .err = err, .begin = (const uint8_t *)src->file.data.p};
	int rc = 0;

	*out = (struct sonde_pickle){.root = SONDE_NONE};
	m.p = m.at = m.begin;
	m.end = m.begin + src->file.data.n;
	while (rc == 0 && !src->work.failed) {
		m.at = m.p;
		if (m.p == m.end)
			return refuse_cut(&m);
		m.p++;
		if (opcodes[*m.at].action == STOP)
			break;
		rc = do_opcode(&m, &opcodes[*m.at]);
	}
	if (src->work.failed)
		return sonde_arena_status(&src->work, err);
	if (rc == 0 && m.stack.nr != 1)
		return refuse_instruction(&m, "does not leave exactly one value: the file is damaged, copy it again");
	out->root = rc == 0 ? m.stack.at[0] : SONDE_NONE;
	return rc;
}

/* --- walks ------------------------------------------------------------------------------------------ */

struct sonde_pickle_walk sonde_pickle__walk(const struct sonde_pickle *p, uint32_t value)
{
	const struct sonde_pickle_value *v = value == SONDE_NONE ? NULL : &p->values.at[value];
	bool has_items = v && (v->type == SONDE_PICKLE_LIST || v->type == SONDE_PICKLE_DICT);

	return (struct sonde_pickle_walk){has_items ? v->items.first : SONDE_NONE, 0};
}

uint32_t sonde_pickle__next(const struct sonde_pickle *p, struct sonde_pickle_walk *w)
{
	const struct sonde_pickle_chunk *c;

	if (w->chunk == SONDE_NONE)
		return SONDE_NONE;
	c = &p->chunks.at[w->chunk];
	if (w->at < c->nr)
		return p->items.at[c->first + w->at++];
	*w = (struct sonde_pickle_walk){c->next, 0}; /* no chunk is empty */
	return sonde_pickle__next(p, w);
}

uint32_t sonde_pickle__get(const struct sonde_pickle *p, uint32_t dict, const char *key, enum sonde_pickle_type type)
{
	struct sonde_pickle_walk w = sonde_pickle__walk(p, dict);
	uint32_t found = SONDE_NONE, k, v;
	size_t i;

	if (dict == SONDE_NONE || p->values.at[dict].type != SONDE_PICKLE_DICT)
		return SONDE_NONE;
	for (i = 0; i < SONDE_PICKLE_KEYS; i++) {
		k = sonde_pickle__next(p, &w);
		v = k == SONDE_NONE ? SONDE_NONE : sonde_pickle__next(p, &w);
		if (v == SONDE_NONE)
			break;
		if (p->values.at[k].type == SONDE_PICKLE_TEXT && sonde_str_is(p->values.at[k].text, key))
			found = v;
	}
	return found != SONDE_NONE && p->values.at[found].type == type ? found : SONDE_NONE;
}
