/*
 * Snapshots of PyTorch's CUDA memory: pickles of torch.cuda.memory._snapshot().
 *
 *   {"segments": [{"device", "total_size", …, "blocks": [{"address", "size", "requested_size", "state", "frames"}]}],
 *    "device_traces": [[{"action", "addr", "size", "frames"}, …], …], …}
 *
 * A Python frame is a region, below the frame that called it; the allocations made there are one record for each
 * operator. A record has no time and no launches: its metrics say how many bytes it held at the snapshot, and how
 * many at the peak, when most memory was held. The history has the allocations and frees before the snapshot, so the
 * memory held earlier is found by walking the history backwards.
 */
#include "base/number.h"
#include "catalogue/metrics.h"
#include "read/snapshot/pickle.h"
#include "read/source.h"

#include <inttypes.h>
#include <math.h>

#define MAX_DEPTH   256		 /* frames of a stack that become regions */
#define MAX_LABEL   512		 /* bytes of a frame's label that are kept … */
#define MAX_SEEN    4096	 /* … and bytes of its name and file that are looked at */
#define PATHS_SHARE 64		 /* bytes allowed for paths of regions: for each byte of the file … */
#define PATHS_ALWAYS (16u << 20) /* … and in addition, for any file */
#define MAX_DEVICES 256
#define MAX_BYTES   (INT64_C(1) << 50) /* no GPU has more memory */

enum figure {
	HELD,	     /* bytes requested and still held at the snapshot … */
	HELD_BLOCKS, /* … the number of their blocks … */
	BLOCK_BYTES, /* … and the bytes of these blocks, which are rounded up */
	NR_HELD_FIGURES,
	PEAK = NR_HELD_FIGURES, /* bytes held at the peak */
	ALLOCATED,   /* bytes allocated during the history */
	ALLOCATIONS,
	NR_FIGURES,
};

static const char *const metric_names[NR_FIGURES] = {
	[HELD] = SONDE_METRIC_HELD,
	[HELD_BLOCKS] = "allocator__held_blocks.sum",
	[BLOCK_BYTES] = "allocator__block_bytes.sum",
	[PEAK] = SONDE_METRIC_HELD_AT_PEAK,
	[ALLOCATED] = "allocator__allocated_bytes.sum",
	[ALLOCATIONS] = "allocator__allocations.sum",
};

/* The allocations of one operator in one place, on one device. */
struct place_sum {
	uint32_t device, range, function;
	bool has_history; /* false = the figures from PEAK on are not known */
	double v[NR_FIGURES];
};

struct snapshot_state {
	SONDE_VEC(struct place_sum) sums; /* by payload of the records */
	uint32_t metrics[NR_FIGURES]; /* SONDE_NONE = not in this snapshot */
};

/* The parts of a frame; SONDE_NONE = it has no such part. */
struct frame {
	uint32_t label;	   /* of a Python frame: its region, `forward model.py:22` */
	uint32_t operator; /* of a C++ frame: its operator, `bmm` … */
	uint32_t backward; /* … or its backward operator, `BmmBackward0` */
};

/* The place that a list of frames stands for. */
struct stack {
	uint32_t range, function;
};

/*
 * The meaning of a value's mark: TAKEN = it was used as a block, an event or a list of them; from FIRST_FOUND on, the
 * number of its frame or stack.
 */
enum { UNTAKEN, TAKEN, FIRST_FOUND };

/* An address that was allocated at some time. */
struct block {
	uint32_t sum;	   /* number in state->sums, if the address is held at the snapshot; else SONDE_NONE … */
	double asked;	   /* … and the bytes requested for it */
	double nr_bytes;   /* the bytes requested, at the moment that the walk has reached */
	bool is_held;	   /* held at that moment … */
	bool is_last;	   /* … by the same allocation as at the snapshot */
	bool is_at_peak;   /* held at the peak, and not counted there yet */
};

struct event {
	uint32_t block; /* number in blocks */
	uint32_t sum;	/* only of an allocation: number in state->sums */
	bool is_free;
	double nr_bytes;
};

/* What PyTorch's allocator has on one device. */
struct device {
	uint64_t nr_segments, nr_free;
	double reserved, allocated, pending, most_free, held, peak;
	size_t first_event, nr_events, nr_before_peak; /* nr_events 0 = it has no history */
};

struct snapshot {
	struct sonde_source *src;
	struct sonde_records *r;
	struct snapshot_state *state;
	struct sonde_pickle p;
	uint32_t process, caller;
	SONDE_VEC(struct frame) known;	/* frames, by the number in their mark … */
	SONDE_VEC(struct stack) stacks; /* … and lists of frames, likewise */
	SONDE_VEC(struct frame) frames;	/* frames of the current stack, the innermost first */
	struct sonde_map ranges;	/* parent and label → number of the range, also in path_bytes … */
	SONDE_VEC(uint64_t) path_bytes; /* … which has the length of its path */
	struct sonde_map places;	/* device, range, function → number in state->sums */
	struct sonde_map addresses;
	SONDE_VEC(struct block) blocks; /* by number in `addresses` */
	SONDE_VEC(struct event) events; /* device after device, in order of time */
	SONDE_VEC(struct device) devices;
	struct sonde_buf scratch;
	uint64_t all_path_bytes, nr_cut_stacks, nr_impossible, nr_twice, nr_odd_events, nr_no_stack;
};

/* --- frames → regions ------------------------------------------------------------------------------ */

static struct sonde_str text_of(const struct snapshot *s, uint32_t dict, const char *key)
{
	uint32_t v = sonde_pickle__get(&s->p, dict, key, SONDE_PICKLE_TEXT);

	return v == SONDE_NONE ? (struct sonde_str){"", 0} : s->p.values.at[v].text;
}

static int64_t number_of(const struct snapshot *s, uint32_t dict, const char *key, int64_t without)
{
	uint32_t v = sonde_pickle__get(&s->p, dict, key, SONDE_PICKLE_INT);

	return v == SONDE_NONE ? without : s->p.values.at[v].number;
}

/* A size in bytes. An impossible one is NaN, and counted. */
static double bytes_of(struct snapshot *s, uint32_t dict, const char *key, int64_t without)
{
	int64_t v = number_of(s, dict, key, without);

	if (v >= 0 && v <= MAX_BYTES)
		return (double)v;
	s->nr_impossible++;
	return NAN;
}

static bool is_python(struct sonde_str file)
{
	return sonde_str_ends(file, ".py") || sonde_str_starts(file, "<");
}

/* nn.Module.__call__ puts two frames between each module and the next; they say nothing. */
static bool is_plumbing(struct sonde_str name, struct sonde_str file)
{
	return (sonde_str_is(name, "_call_impl") || sonde_str_is(name, "_wrapped_call_impl")) &&
	       sonde_str_ends(file, "torch/nn/modules/module.py");
}

/* The label of a Python frame, `forward model.py:22`. */
static uint32_t label_of(struct snapshot *s, uint32_t dict, struct sonde_str name, struct sonde_str file)
{
	struct sonde_str text;

	sonde_buf_clear(&s->scratch);
	sonde_buf_str(&s->scratch, name);
	sonde_buf_putc(&s->scratch, ' ');
	sonde_buf_str(&s->scratch, sonde_str_base(file));
	sonde_buf_printf(&s->scratch, ":%" PRId64, number_of(s, dict, "line", 0));
	text = sonde_buf_view(&s->scratch);
	text.n = text.n < MAX_LABEL ? text.n : MAX_LABEL;
	return text.p ? sonde_records__copied(s->r, text) : SONDE_NONE;
}

/* Cuts `at::_ops::bmm::call(…)` to `bmm`; false for other frames. */
static bool find_operator(struct sonde_str name, struct sonde_str *out)
{
	struct sonde_str after;

	if (!sonde_str_has(name, "at::_ops::", &after))
		return false;
	*out = (struct sonde_str){after.p, sonde_str_find(after, ':')};
	return out->n > 0 && out->n < after.n && out->n < MAX_LABEL;
}

/* Cuts `torch::autograd::generated::BmmBackward0::apply(…)` to `BmmBackward0`; false for other frames. */
static bool find_backward(struct sonde_str name, struct sonde_str *out)
{
	struct sonde_str after;

	if (!sonde_str_has(name, "torch::autograd::generated::", &after))
		return false;
	*out = (struct sonde_str){after.p, sonde_str_find(after, ':')};
	return out->n > 0 && sonde_str_starts((struct sonde_str){after.p + out->n, after.n - out->n}, "::apply(") &&
	       out->n < MAX_LABEL;
}

static struct frame read_frame(struct snapshot *s, uint32_t dict)
{
	struct frame f = {SONDE_NONE, SONDE_NONE, SONDE_NONE};
	struct sonde_str name = text_of(s, dict, "name"), file = text_of(s, dict, "filename"), word;
	size_t nr_left_out = file.n > MAX_SEEN ? file.n - MAX_SEEN : 0;
	bool is_of_python = is_python(file);

	/* Many frames may share one long text, so each looks at a bounded part of it. */
	name.n = name.n < MAX_SEEN ? name.n : MAX_SEEN;
	file = (struct sonde_str){file.p + nr_left_out, file.n - nr_left_out};
	if (is_of_python && !is_plumbing(name, file))
		f.label = label_of(s, dict, name, file);
	else if (find_operator(name, &word))
		f.operator = sonde_records__copied(s->r, word);
	else if (find_backward(name, &word))
		f.backward = sonde_records__copied(s->r, word);
	return f;
}

/* The parts of a frame. They are found once, even if many stacks have the frame. */
static struct frame frame_of(struct snapshot *s, uint32_t dict)
{
	struct frame f = {SONDE_NONE, SONDE_NONE, SONDE_NONE};
	uint32_t mark = s->p.values.at[dict].mark;

	if (s->p.values.at[dict].type != SONDE_PICKLE_DICT || mark == TAKEN)
		return f;
	if (mark >= FIRST_FOUND)
		return s->known.at[mark - FIRST_FOUND];
	f = read_frame(s, dict);
	sonde_put(&s->src->work, &s->known, f);
	s->p.values.at[dict].mark = FIRST_FOUND + (uint32_t)s->known.nr - 1;
	return f;
}

/* The region `label` below `parent`; `parent` itself if there is no memory left for the path. */
static uint32_t range_below(struct snapshot *s, uint32_t parent, uint32_t label)
{
	uint32_t key[2] = {parent, label}, number;
	uint64_t nr_bytes = sonde_records_str(s->r, label).n + 1 + (parent == SONDE_NONE ? 0 : s->path_bytes.at[parent]);
	bool is_new = false;

	number = sonde_map_find(&s->ranges, SONDE_BYTES(key));
	if (number != SONDE_NONE)
		return number;
	if (s->all_path_bytes + nr_bytes > PATHS_ALWAYS + (uint64_t)s->src->file.data.n * PATHS_SHARE) {
		s->nr_cut_stacks++;
		return parent;
	}
	s->all_path_bytes += nr_bytes;
	number = sonde_intern_copy(&s->src->work, &s->ranges, SONDE_BYTES(key), &is_new);
	sonde_put(&s->src->work, &s->path_bytes, nr_bytes);
	sonde_put(&s->r->arena, &s->r->ranges,
		(struct sonde_range){
			.parent = parent, .label = label, .domain = SONDE_NONE, .process = s->process, .kind = SONDE_PUSH_POP});
	return number;
}

static uint32_t range_named(struct snapshot *s, uint32_t parent, struct sonde_str label)
{
	uint32_t string = sonde_records__copied(s->r, label);

	return s->r->arena.failed ? SONDE_NONE : range_below(s, parent, string);
}

/*
 * The operator that allocated: the outermost operator inside the innermost Python frame. Stacks without C++
 * (stacks="python") do not name one.
 */
static uint32_t function_of(struct snapshot *s, size_t nr_inside)
{
	uint32_t name = SONDE_NONE;
	size_t i;

	for (i = nr_inside; i-- > 0 && name == SONDE_NONE;)
		name = s->frames.at[i].operator;
	if (name == SONDE_NONE)
		name = sonde_records__copied(s->r, SONDE_STR("(allocation)"));
	return sonde_records__function(s->r, name, name);
}

/* The region of a stack without Python frames. Threads of autograd have none, but they have the backward operator they run. */
static uint32_t range_without_python(struct snapshot *s)
{
	uint32_t range;
	size_t i;

	if (!s->frames.nr)
		return range_named(s, SONDE_NONE, SONDE_STR("(no stack)"));
	range = range_named(s, SONDE_NONE, SONDE_STR("(no Python frame)"));
	for (i = 0; i < s->frames.nr && range != SONDE_NONE; i++)
		if (s->frames.at[i].backward != SONDE_NONE)
			return range_below(s, range, s->frames.at[i].backward);
	return range;
}

static void collect_frames(struct snapshot *s, uint32_t list)
{
	struct sonde_pickle_walk w = sonde_pickle__walk(&s->p, list);
	uint32_t frame;

	s->frames.nr = 0;
	while ((frame = sonde_pickle__next(&s->p, &w)) != SONDE_NONE && !s->r->arena.failed && !s->src->work.failed)
		sonde_put(&s->src->work, &s->frames, frame_of(s, frame));
}

/* Turns frames into regions, from the outermost to the innermost. A list of frames is walked once, even if it is shared. */
static struct stack stack_of(struct snapshot *s, uint32_t list)
{
	struct stack out = {SONDE_NONE, SONDE_NONE};
	uint32_t mark = list == SONDE_NONE ? UNTAKEN : s->p.values.at[list].mark;
	size_t i, nr_inside, depth = 0;

	if (mark >= FIRST_FOUND)
		return s->stacks.at[mark - FIRST_FOUND];
	collect_frames(s, mark == TAKEN ? SONDE_NONE : list); /* a list of blocks or events has no frames */
	nr_inside = s->frames.nr;
	for (i = s->frames.nr; i-- > 0 && !s->r->arena.failed && !s->src->work.failed;) {
		if (s->frames.at[i].label == SONDE_NONE)
			continue;
		nr_inside = i;
		if (depth++ < MAX_DEPTH)
			out.range = range_below(s, out.range, s->frames.at[i].label);
	}
	s->nr_cut_stacks += depth > MAX_DEPTH;
	if (out.range == SONDE_NONE && !s->r->arena.failed)
		out.range = range_without_python(s);
	out.function = function_of(s, nr_inside);
	if (list == SONDE_NONE || mark == TAKEN)
		return out;
	sonde_put(&s->src->work, &s->stacks, out);
	s->p.values.at[list].mark = FIRST_FOUND + (uint32_t)s->stacks.nr - 1;
	return out;
}

/* The number in state->sums where the figures of these frames on this device are added up; SONDE_NONE when memory is short. */
static uint32_t sum_at(struct snapshot *s, uint32_t device, uint32_t frames)
{
	struct stack at = stack_of(s, frames);
	uint32_t key[3] = {device, at.range, at.function}, number;
	bool is_new = false;

	if (s->r->arena.failed || s->src->work.failed)
		return SONDE_NONE;
	number = sonde_intern_copy(&s->src->work, &s->places, SONDE_BYTES(key), &is_new);
	if (is_new)
		sonde_put(&s->r->arena, &s->state->sums, (struct place_sum){.device = device, .range = at.range, .function = at.function});
	return s->r->arena.failed ? SONDE_NONE : number;
}

/* --- segments → what is held ------------------------------------------------------------------------ */

static uint32_t list_of(const struct snapshot *s, uint32_t dict, const char *key)
{
	return sonde_pickle__get(&s->p, dict, key, SONDE_PICKLE_LIST);
}

/* The frames of a block; before version 2.1, PyTorch has them in the block's `history`. */
static uint32_t frames_of(const struct snapshot *s, uint32_t block)
{
	uint32_t frames = list_of(s, block, "frames"), history = list_of(s, block, "history");
	struct sonde_pickle_walk w = sonde_pickle__walk(&s->p, history);

	return frames != SONDE_NONE || history == SONDE_NONE ? frames : list_of(s, sonde_pickle__next(&s->p, &w), "frames");
}

/* The number of an address in `blocks`, SONDE_NONE when memory is short. */
static uint32_t block_at(struct snapshot *s, uint32_t device, uint64_t address)
{
	uint64_t key[2] = {device, address};
	bool is_new = false;
	uint32_t number = sonde_intern_copy(&s->src->work, &s->addresses, SONDE_BYTES(key), &is_new);

	if (is_new)
		sonde_put(&s->src->work, &s->blocks, (struct block){.sum = SONDE_NONE});
	return s->src->work.failed ? SONDE_NONE : number;
}

static struct device *device_at(struct snapshot *s, int64_t id)
{
	if (id < 0 || id >= MAX_DEVICES)
		return NULL;
	sonde_fill(&s->src->work, &s->devices, (size_t)id + 1);
	return s->src->work.failed ? NULL : &s->devices.at[id];
}

/* Whether a dict or list is met for the first time: a value that is referred to several times is counted once. */
static bool is_first(struct snapshot *s, uint32_t value)
{
	if (value == SONDE_NONE)
		return false;
	if (s->p.values.at[value].mark) {
		s->nr_twice++;
		return false;
	}
	s->p.values.at[value].mark = TAKEN;
	return true;
}

static void take_block(struct snapshot *s, uint32_t id, uint32_t block, uint64_t address)
{
	struct sonde_str state = text_of(s, block, "state");
	double size = bytes_of(s, block, "size", -1), asked;
	struct device *d = &s->devices.at[id];
	uint32_t at, number, frames;

	if (isnan(size))
		return;
	if (sonde_str_is(state, "inactive")) {
		d->nr_free++;
		d->most_free = fmax(d->most_free, size);
	}
	if (sonde_str_starts(state, "active_") && !sonde_str_is(state, "active_allocated"))
		d->pending += size;
	if (!sonde_str_is(state, "active_allocated"))
		return;
	asked = bytes_of(s, block, "requested_size", (int64_t)size);
	if (isnan(asked))
		return;
	frames = frames_of(s, block);
	at = sum_at(s, id, frames);
	number = block_at(s, id, address);
	if (at == SONDE_NONE || number == SONDE_NONE)
		return;
	if (s->blocks.at[number].sum != SONDE_NONE) {
		s->nr_twice++;
		return;
	}
	s->blocks.at[number] = (struct block){.sum = at, .asked = asked};
	s->nr_no_stack += sonde_pickle__walk(&s->p, frames).chunk == SONDE_NONE;
	s->state->sums.at[at].v[HELD] += asked;
	s->state->sums.at[at].v[HELD_BLOCKS]++;
	s->state->sums.at[at].v[BLOCK_BYTES] += size;
	d->allocated += size;
	d->held += asked;
}

static void take_segment(struct snapshot *s, uint32_t segment)
{
	int64_t id = number_of(s, segment, "device", -1);
	struct device *d = device_at(s, id);
	uint32_t blocks = list_of(s, segment, "blocks"), block;
	uint64_t address = (uint64_t)number_of(s, segment, "address", 0);
	double size = bytes_of(s, segment, "total_size", -1), at = 0;
	struct sonde_pickle_walk w;

	if (!d) {
		s->nr_impossible++;
		return;
	}
	if (isnan(size))
		return;
	d->nr_segments++;
	d->reserved += size;
	if (!is_first(s, blocks))
		return;
	for (w = sonde_pickle__walk(&s->p, blocks); (block = sonde_pickle__next(&s->p, &w)) != SONDE_NONE && !s->src->work.failed;) {
		if (!is_first(s, block))
			continue;
		/* Blocks follow each other in memory; older versions of PyTorch do not say where. */
		take_block(s, (uint32_t)id, block, (uint64_t)number_of(s, block, "address", (int64_t)(address + (uint64_t)at)));
		at += fmax(0, (double)number_of(s, block, "size", 0));
		at = at < (double)MAX_BYTES ? at : (double)MAX_BYTES;
	}
}

/* --- the history, backwards ------------------------------------------------------------------------- */

static void take_event(struct snapshot *s, uint32_t device, uint32_t event)
{
	struct sonde_str action = text_of(s, event, "action");
	struct event e = {.sum = SONDE_NONE, .is_free = sonde_str_is(action, "free_requested")};

	if (!e.is_free && !sonde_str_is(action, "alloc"))
		return;
	e.nr_bytes = bytes_of(s, event, "size", -1);
	if (isnan(e.nr_bytes))
		return;
	e.block = block_at(s, device, (uint64_t)number_of(s, event, "addr", 0));
	if (!e.is_free)
		e.sum = sum_at(s, device, list_of(s, event, "frames"));
	if (e.block == SONDE_NONE || (!e.is_free && e.sum == SONDE_NONE))
		return;
	sonde_put(&s->src->work, &s->events, e);
	if (e.is_free)
		return;
	s->state->sums.at[e.sum].v[ALLOCATED] += e.nr_bytes;
	s->state->sums.at[e.sum].v[ALLOCATIONS]++;
}

static void take_trace(struct snapshot *s, int64_t id, uint32_t trace)
{
	struct sonde_pickle_walk w = sonde_pickle__walk(&s->p, trace);
	size_t first = s->events.nr;
	uint32_t event;
	struct device *d;

	if (w.chunk == SONDE_NONE || !is_first(s, trace))
		return;
	d = device_at(s, id);
	if (!d) {
		s->nr_impossible++;
		return;
	}
	while ((event = sonde_pickle__next(&s->p, &w)) != SONDE_NONE && !s->src->work.failed && !s->r->arena.failed)
		if (is_first(s, event))
			take_event(s, (uint32_t)id, event);
	d->first_event = first;
	d->nr_events = s->events.nr - first;
}

/* Undoes an event: frees what it allocated, or holds again what it freed. False if the event does not fit what is held. */
static bool undo_event(struct snapshot *s, const struct event *e, double *held)
{
	struct block *b = &s->blocks.at[e->block];

	if (b->is_held == e->is_free)
		return false;
	b->is_held = e->is_free;
	b->is_last = false;
	*held += e->is_free ? e->nr_bytes : -b->nr_bytes;
	if (e->is_free)
		b->nr_bytes = e->nr_bytes;
	return true;
}

/* Sets the blocks to their state at the snapshot, where each walk begins. */
static void begin_walk(struct snapshot *s)
{
	size_t i;

	for (i = 0; i < s->blocks.nr; i++) {
		struct block *b = &s->blocks.at[i];

		b->is_held = b->is_last = b->sum != SONDE_NONE;
		b->nr_bytes = b->asked;
	}
}

/* Finds the peak: most memory was held after the first nr_before_peak events. */
static void find_peak(struct snapshot *s, struct device *d)
{
	double held = d->held;
	size_t i;

	d->peak = held;
	d->nr_before_peak = d->nr_events;
	for (i = d->nr_events; i-- > 0;) {
		s->nr_odd_events += !undo_event(s, &s->events.at[d->first_event + i], &held);
		if (held > d->peak) {
			d->peak = held;
			d->nr_before_peak = i;
		}
	}
}

/* Counts a block that was held at the peak, at the place where it was allocated. */
static void count_at_peak(struct snapshot *s, struct block *b, uint32_t sum)
{
	if (sum != SONDE_NONE)
		s->state->sums.at[sum].v[PEAK] += b->nr_bytes;
	b->is_at_peak = false;
}

/*
 * Counts what each place held at the peak. An allocation from before the history is in `(no stack)`, unless the
 * snapshot has its stack.
 */
static void count_peaks(struct snapshot *s)
{
	double held = 0;
	size_t i, k;

	begin_walk(s);
	for (k = 0; k < s->devices.nr; k++) {
		const struct device *d = &s->devices.at[k];

		for (i = d->nr_events; i-- > d->nr_before_peak;)
			undo_event(s, &s->events.at[d->first_event + i], &held);
	}
	for (i = 0; i < s->blocks.nr; i++)
		s->blocks.at[i].is_at_peak = s->blocks.at[i].is_held;
	for (k = 0; k < s->devices.nr; k++) {
		const struct device *d = &s->devices.at[k];

		for (i = d->nr_before_peak; i-- > 0;) {
			const struct event *e = &s->events.at[d->first_event + i];
			struct block *b = &s->blocks.at[e->block];

			if (!e->is_free && b->is_held && b->is_at_peak)
				count_at_peak(s, b, e->sum);
			undo_event(s, e, &held);
		}
	}
	for (i = 0; i < s->blocks.nr; i++) {
		struct block *b = &s->blocks.at[i];
		uint32_t device = (uint32_t)((const uint64_t *)(const void *)s->addresses.keys[i].p)[0];

		if (b->is_at_peak && s->devices.at[device].nr_events)
			count_at_peak(s, b, b->is_last ? b->sum : sum_at(s, device, SONDE_NONE));
	}
}

/* --- records and words ------------------------------------------------------------------------------ */

static void add_records(struct snapshot *s)
{
	bool has_history = false;
	size_t i;

	for (i = 0; i < s->devices.nr; i++)
		has_history |= s->devices.at[i].nr_events > 0;
	for (i = 0; i < NR_FIGURES; i++) {
		bool is_known = i < NR_HELD_FIGURES || has_history;

		s->state->metrics[i] = is_known ? sonde_records__metric(s->r, sonde_str_from(metric_names[i])) : SONDE_NONE;
		if (is_known && !s->r->arena.failed && strstr(metric_names[i], "_bytes"))
			s->r->metrics.at[s->state->metrics[i]].unit = SONDE_STR("byte");
	}
	for (i = 0; i < s->state->sums.nr && !s->r->arena.failed; i++) {
		struct place_sum *h = &s->state->sums.at[i];

		h->has_history = s->devices.at[h->device].nr_events > 0;
		sonde_put(&s->r->arena, &s->r->records,
			(struct sonde_record){.caller = s->caller,
				.payload = i,
				.is_sum = true,
				.function = h->function,
				.queue = sonde_records__queue(s->r, h->device, 0, 0),
				.open = h->range == SONDE_NONE ? 0 : sonde_records__set(s->r, &h->range, 1)});
	}
}

static void add_device(struct snapshot *s, uint32_t id, const struct device *d)
{
	const struct sonde_attribute all[] = {
		{.name = SONDE_STR("allocator__reserved_bytes"), .value = d->reserved},
		{.name = SONDE_STR("allocator__segments"), .value = (double)d->nr_segments},
		{.name = SONDE_STR("allocator__allocated_bytes"), .value = d->allocated},
		{.name = SONDE_STR("allocator__requested_bytes"), .value = d->held},
		{.name = SONDE_STR("allocator__pending_free_bytes"), .value = d->pending},
		{.name = SONDE_STR("allocator__free_blocks"), .value = (double)d->nr_free},
		{.name = SONDE_STR("allocator__largest_free_block_bytes"), .value = d->most_free},
		{.name = SONDE_STR("allocator__peak_requested_bytes"), .value = d->peak},
	};
	size_t nr = sizeof(all) / sizeof(*all) - !d->nr_events;
	struct sonde_attribute *list = sonde_arena_calloc(&s->r->arena, nr, sizeof(*list));

	if (!list)
		return;
	memcpy(list, all, nr * sizeof(*list));
	sonde_records__device(
		s->r, &(struct sonde_device){.id = id, .process = s->process, .attributes = list, .nr_attributes = nr});
}

/* Describes a device in a sentence: how much is reserved, and how much of that is unused. */
static void note_device(struct snapshot *s, uint32_t id, const struct device *d)
{
	double unused = d->reserved - d->allocated - d->pending;
	struct sonde_buf *b = &s->scratch;

	sonde_buf_clear(b);
	sonde_buf_printf(b, "device %u: ", id);
	sonde_number_human(b, d->reserved, "byte");
	sonde_buf_printf(b, " reserved in %" PRIu64 " segment%s, of which ", d->nr_segments, d->nr_segments == 1 ? "" : "s");
	sonde_number_human(b, d->allocated, "byte");
	sonde_buf_puts(b, " allocated (");
	sonde_number_human(b, d->held, "byte");
	sonde_buf_puts(b, " asked for) and ");
	sonde_number_human(b, unused, "byte");
	sonde_buf_printf(b, " free (%.1f %%) in %" PRIu64 " block%s", d->reserved > 0 ? 100 * unused / d->reserved : 0, d->nr_free,
		d->nr_free == 1 ? "" : "s");
	if (d->nr_free) {
		sonde_buf_puts(b, ", the largest of ");
		sonde_number_human(b, d->most_free, "byte");
	}
	if (d->pending > 0) {
		sonde_buf_puts(b, "; ");
		sonde_number_human(b, d->pending, "byte");
		sonde_buf_puts(b, " freed and still in use by a stream");
	}
	if (d->nr_events) {
		sonde_buf_puts(b, "; at the peak of its history ");
		sonde_number_human(b, d->peak, "byte");
		sonde_buf_puts(b, " asked for");
	}
	if (!b->failed)
		sonde_note(&s->r->notes, "%s: %s", s->src->path, b->p);
}

static void note_all(struct snapshot *s)
{
	uint64_t nr_held = 0;
	size_t i;

	for (i = 0; i < s->blocks.nr; i++)
		nr_held += s->blocks.at[i].sum != SONDE_NONE;
	if (!s->events.nr)
		sonde_note(&s->r->notes,
			"%s: the snapshot has no history, so what was held at the peak is not known; call "
			"torch.cuda.memory._record_memory_history() before the program allocates",
			s->src->path);
	if (s->nr_no_stack)
		sonde_note(&s->r->notes,
			"%s: %" PRIu64 " of %" PRIu64 " allocations were made before torch.cuda.memory._record_memory_history() was called, "
			"or without stacks: they are in the region (no stack)",
			s->src->path, s->nr_no_stack, nr_held);
	sonde_source__note(s->src, s->r, s->nr_cut_stacks, "stack is too deep: its innermost frames are left out",
		"stacks are too deep: their innermost frames are left out");
	sonde_source__note_loss(s->src, s->r, s->nr_impossible, "size or device number is impossible and is left out",
		"sizes or device numbers are impossible and are left out");
	sonde_source__note_loss(
		s->src, s->r, s->nr_twice, "block or event appears twice and is counted once", "blocks or events appear twice and are counted once");
	sonde_source__note_loss(s->src, s->r, s->nr_odd_events,
		"event of the history contradicts the allocations around it (for example, a free of unallocated memory) and is "
		"left out",
		"events of the history contradict the allocations around them (for example, frees of unallocated memory) and are "
		"left out");
}

/* --- the reader ------------------------------------------------------------------------------------- */

static void take_segments(struct snapshot *s, uint32_t segments)
{
	struct sonde_pickle_walk w = sonde_pickle__walk(&s->p, segments);
	uint32_t segment;

	while ((segment = sonde_pickle__next(&s->p, &w)) != SONDE_NONE && !s->src->work.failed && !s->r->arena.failed)
		if (is_first(s, segment))
			take_segment(s, segment);
}

static void take_history(struct snapshot *s, uint32_t traces)
{
	struct sonde_pickle_walk w = sonde_pickle__walk(&s->p, traces);
	uint32_t trace;
	int64_t id;
	size_t i;

	for (id = 0; (trace = sonde_pickle__next(&s->p, &w)) != SONDE_NONE && !s->src->work.failed && !s->r->arena.failed; id++)
		take_trace(s, id, trace);
	if (s->src->work.failed || s->r->arena.failed)
		return;
	begin_walk(s);
	for (i = 0; i < s->devices.nr; i++)
		find_peak(s, &s->devices.at[i]);
	count_peaks(s);
}

static int read_all(struct snapshot *s, struct sonde_err *err)
{
	uint32_t segments;
	size_t i;
	int rc = sonde_pickle__read(&s->p, s->src, err);

	if (rc)
		return rc;
	segments = list_of(s, s->p.root, "segments");
	if (segments == SONDE_NONE)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: a pickle, but not a memory snapshot, because it has no list of segments; "
			"torch.cuda.memory._dump_snapshot(\"F.pickle\") writes a snapshot",
			s->src->path);
	s->process = sonde_records__process(s->r, s->src->input, 0, (struct sonde_str){NULL, 0}, (struct sonde_str){NULL, 0});
	s->caller = sonde_records__caller(s->r, s->process, 0);
	if (s->r->arena.failed)
		return SONDE_ERR_NOMEM;
	take_segments(s, segments);
	take_history(s, list_of(s, s->p.root, "device_traces"));
	s->src->work.failed |= s->scratch.failed;
	rc = sonde_source__status(s->src, s->r, err);
	if (rc)
		return rc;
	add_records(s);
	for (i = 0; i < s->devices.nr; i++)
		if (s->devices.at[i].nr_segments || s->devices.at[i].nr_events) {
			add_device(s, (uint32_t)i, &s->devices.at[i]);
			note_device(s, (uint32_t)i, &s->devices.at[i]);
		}
	note_all(s);
	s->src->work.failed |= s->scratch.failed;
	s->r->inputs.at[s->src->input].tool = SONDE_STR("PyTorch memory snapshot");
	return sonde_source__status(s->src, s->r, err);
}

static int read_snapshot(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct snapshot s = {.src = src, .r = r, .state = src->state};
	int rc = read_all(&s, err);

	sonde_buf_release(&s.scratch);
	return rc;
}

static int snapshot_values(
	const struct sonde_source *src, const struct sonde_record *rec, struct sonde_values *v, struct sonde_err *err)
{
	const struct snapshot_state *state = src->state;
	const struct place_sum *h = &state->sums.at[rec->payload];
	size_t i;

	(void)err;
	for (i = 0; i < (h->has_history ? NR_FIGURES : NR_HELD_FIGURES); i++)
		v->num[state->metrics[i]] = h->v[i];
	return 0;
}

/* Any pickle of a binary protocol. If it is not a snapshot, the reader gives a better error than "not a capture". */
static bool knows_snapshot(struct sonde_str data)
{
	return data.n > 2 && (uint8_t)data.p[0] == 0x80 && data.p[1] >= 2 && data.p[1] <= 5;
}

const struct sonde_source_ops sonde_source_snapshot = {
	.name = "torch-memory",
	.state_bytes = sizeof(struct snapshot_state),
	.knows = knows_snapshot,
	.read = read_snapshot,
	.values = snapshot_values,
};
