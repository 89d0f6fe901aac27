/*
 * libsonde_modules.so: a range around each call of a PyTorch module, in the user's Python.
 *
 * sitecustomize.py replaces `torch.nn.Module.__call__`, and a few other functions, by a `guard`: a callable that
 * opens an NVTX range, calls the original and closes the range. A guard is written in C for three reasons. A C function has
 * no Python frame, so tracebacks stay those of the program. It costs a tenth of a wrapper in Python. And torch.compile
 * never traces it: a guard returns the original's value for every attribute, so that Dynamo takes the guard for the
 * function it replaces.
 *
 * We use functions of Python's stable ABI only and declare them ourselves (modules.h): building needs no Python, and one
 * library works with every version from 3.8 on. sitecustomize.py refuses an interpreter whose objects have another
 * layout (free-threaded and debug builds). All of this code runs under the interpreter's lock.
 */
#include "format/allocator.h"
#include "modules/modules.h"

#include <nvtx3/nvToolsExt.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- names of modules ---------------------------------------------------------------------------- */

/* The label of a range that is opened again and again. */
struct label {
	nvtxStringHandle_t handle; /* NULL = no registered label */
	uint32_t nr_entries;	   /* entries so far at which the allocator could have been read */
};

struct named {
	PyObject *module; /* NULL = a free place */
	struct label label;
	bool is_leaf; /* the module has no modules inside */
};

/*
 * A hash table of modules by address: open addressing, at most half full. A module that is destroyed is removed
 * (sonde_modules_forget).
 */
static struct named *names;
static size_t nr_places, nr_names;

static size_t slot_of(const PyObject *module)
{
	return (size_t)(((uintptr_t)module >> 4) * 0x9e3779b97f4a7c15u >> 20) & (nr_places - 1);
}

static struct named *find_name(const PyObject *module)
{
	size_t i;

	for (i = nr_places ? slot_of(module) : 0; nr_places && names[i].module; i = (i + 1) & (nr_places - 1))
		if (names[i].module == module)
			return &names[i];
	return NULL;
}

static void put_name(struct named n)
{
	size_t i = slot_of(n.module);

	while (names[i].module)
		i = (i + 1) & (nr_places - 1);
	names[i] = n;
}

static bool make_room(void)
{
	size_t nr_old = nr_places, i;
	struct named *old = names, *more;

	if (2 * (nr_names + 1) <= nr_places)
		return true;
	more = calloc(nr_old ? 2 * nr_old : 1024, sizeof(*more));
	if (!more)
		return false;
	names = more;
	nr_places = nr_old ? 2 * nr_old : 1024;
	for (i = 0; i < nr_old; i++)
		if (old[i].module)
			put_name(old[i]);
	free(old);
	return true;
}

void sonde_modules_name(PyObject *module, const char *label, int is_leaf)
{
	if (find_name(module) || !make_room())
		return;
	put_name((struct named){module, {nvtxDomainRegisterStringA(NULL, label), 0}, is_leaf});
	nr_names++;
}

void sonde_modules_forget(PyObject *module)
{
	struct named *gone = find_name(module);
	size_t i;

	if (!gone)
		return;
	gone->module = NULL;
	nr_names--;
	/* The entries behind it, up to the next free place, may be there because its place was taken: put them in again. */
	for (i = (size_t)(gone - names + 1) & (nr_places - 1); names[i].module; i = (i + 1) & (nr_places - 1)) {
		struct named moved = names[i];

		names[i].module = NULL;
		put_name(moved);
	}
}

/* --- which modules get ranges -------------------------------------------------------------------- */

#define WARM_UP	 5  /* first outermost calls, whose cost does not count: they compile, allocate, tune */
#define MEASURED 20 /* outermost calls after these, which decide whether leaves get ranges */
#define MOST_PCT 5  /* the percentage of the program's time that ranges may cost */

static unsigned most_depth;    /* deeper modules get no ranges; 0 = all modules get some */
static bool leaves_may_go;     /* leaves lose their ranges where these cost too much */
static bool leaves_are_gone;   /* leaves have lost their ranges */
static uint64_t nr_ranges;	       /* ranges so far (a range is a push and a pop) */
static uint64_t nr_timed = 1; /* ranges of the warm-up that were timed; at least 1, to divide by */
static double timed_ns;	       /* the time that opening and closing these took */
static unsigned nr_outermost;
static uint64_t first_ns, first_ranges, first_read; /* time, nr_ranges and ns_reading at the end of the warm-up */
static uint64_t ns_reading; /* the time that readings of the allocator took so far */
static double late_ns, late_ranges; /* recent time without readings, and ranges in that time; old values fade */

static _Thread_local struct {
	unsigned depth;	     /* modules that are running */
	PyObject *outermost; /* the outermost of them */
	unsigned nr_own;     /* the program's own ranges that are open */
	bool is_in_step;
	bool was_called; /* a module was called in this step */
	bool is_step_read; /* the allocator was read at the beginning of this step */
	const struct guard *to_load; /* a loader that waits for its sampler: its range begins only if there is more data */
} thread_state;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The recent mean time from one entry of a range to the next; 0 = not known. */
static double entry_ns(void)
{
	return late_ranges > 0 ? late_ns / late_ranges : 0;
}

/* Called at the beginning of an outermost call: updates late_ns and late_ranges by what happened since the last such call. */
static void watch_entries(void)
{
	static uint64_t last_ns, last_ranges, last_reading;
	static unsigned nr;
	uint64_t now = now_ns();
	double ranges = (double)(nr_ranges - last_ranges), ns = (double)(now - last_ns) - (double)(ns_reading - last_reading);

	if (nr > WARM_UP && ranges > 0) {
		/* A long pause between two calls does not show what entries take: cut it. */
		if (entry_ns() > 0 && ns > 2 * entry_ns() * ranges)
			ns = 2 * entry_ns() * ranges;
		late_ns = late_ns * 7 / 8 + ns;
		late_ranges = late_ranges * 7 / 8 + ranges;
	}
	nr += nr <= WARM_UP;
	last_ns = now;
	last_ranges = nr_ranges;
	last_reading = ns_reading;
}

/* Called at the beginning of an outermost call: decides, after MEASURED calls, whether leaves lose their ranges. */
static void watch_cost(void)
{
	double cost;
	uint64_t ns;

	if (!leaves_may_go || leaves_are_gone || nr_outermost > WARM_UP + MEASURED)
		return;
	nr_outermost++;
	if (nr_outermost == WARM_UP) {
		first_ns = now_ns();
		first_ranges = nr_ranges;
		first_read = ns_reading;
	} else if (nr_outermost == WARM_UP + MEASURED) {
		ns = now_ns() - first_ns;
		/* Times 2: going through a guard (a method, a tuple, a look-up) costs about as much as its range. */
		cost = (double)(nr_ranges - first_ranges) * 2 * timed_ns / (double)nr_timed + (double)(ns_reading - first_read);
		leaves_are_gone = cost > (double)ns * MOST_PCT / 100;
	}
}

void sonde_modules_limit(unsigned depth, int keeps_leaves)
{
	most_depth = depth;
	leaves_may_go = !keeps_leaves;
}

int sonde_modules_left_leaves(void) { return leaves_are_gone; }
unsigned sonde_modules_depth(void) { return thread_state.depth; }

PyObject *sonde_modules_outermost(void)
{
	Py_IncRef(thread_state.outermost);
	return thread_state.outermost;
}

/* --- PyTorch's allocator ------------------------------------------------------------------------- */

/*
 * A reading is what is allocated, and the peak, at both ends of an entry. PyTorch's own function for that makes a dict of
 * all its statistics, which takes much longer than a range. So we read at one of `entries_per_reading` entries of each
 * range only, such that readings cost READ_PCT of the program's time, by what readings and entries took recently.
 * `entries_per_reading` is a power of two, and the same for all ranges: ranges that are entered as often as their step are
 * read together with the step, so that their figures belong together.
 *
 * We do not read before the program has used CUDA: asking would make a context. Nor in a forked child: another thread may
 * have held the allocator's lock at the fork.
 */
#define READ_PCT    1
#define READ_NS	    1000  /* budget in nanoseconds per entry, until we know what entries take */
#define MOST_PER_READING 8192u /* most entries per reading; limited so that a region is read again after one very slow reading */

static PyObject *stats_of, *device_now, *cuda_names; /* arguments of sonde_modules_memory; stats_of NULL = readings are off */
static pid_t reader_pid;
static nvtxDomainHandle_t readings;
static uint64_t read_ns; /* about how long a reading takes; 0 = none was made */
static uint32_t entries_per_reading = 1; /* one of this many entries is read */

void sonde_modules_memory(PyObject *stats, PyObject *device, PyObject *cuda)
{
	Py_IncRef(stats);
	Py_IncRef(device);
	Py_IncRef(cuda);
	readings = nvtxDomainCreateA(SONDE_ALLOCATOR_DOMAIN);
	reader_pid = getpid();
	device_now = device;
	cuda_names = cuda;
	stats_of = readings ? stats : NULL; /* no domain: no tool listens to NVTX */
}

static bool take_bytes(PyObject *of, const char *key, uint64_t *out)
{
	PyObject *number = of ? PyDict_GetItemString(of, key) : NULL;
	long long v = number ? PyLong_AsLongLong(number) : -1;

	*out = v < 0 ? 0 : (uint64_t)v;
	return v >= 0;
}

/* Asks PyTorch; false when its answer does not have the usual form. */
static bool ask_allocator(struct sonde_allocator_reading *r)
{
	PyObject *device = PyObject_CallFunctionObjArgs(device_now, NULL);
	PyObject *stats = device ? PyObject_CallFunctionObjArgs(stats_of, device, NULL) : NULL;
	PyObject *bytes = stats ? PyDict_GetItemString(stats, "allocated_bytes") : NULL;
	PyObject *all = bytes ? PyDict_GetItemString(bytes, "all") : NULL;
	long long number = device ? PyLong_AsLongLong(device) : -1;
	bool ok = take_bytes(all, "current", &r->allocated) && take_bytes(all, "peak", &r->peak) && number >= 0 && number < 4096;

	r->device = (uint32_t)number;
	if (device)
		Py_DecRef(device);
	if (stats)
		Py_DecRef(stats);
	if (PyErr_Occurred())
		PyErr_Clear();
	return ok;
}

static bool is_cuda_used(void)
{
	PyObject *used = PyDict_GetItemString(cuda_names, "_initialized");

	int is = used ? PyObject_IsTrue(used) : 0;

	if (is < 0)
		PyErr_Clear();
	return is > 0;
}

/* Whether the allocator is read at this entry of the range. */
static bool is_read_here(struct label *l)
{
	if (!stats_of || l->nr_entries++ & (entries_per_reading - 1))
		return false;
	return is_cuda_used() && getpid() == reader_pid;
}

/* Reads the allocator and passes the reading on as a mark, just behind the beginning or just before the end of a range. */
static void mark_allocator(bool is_end)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, .colorType = NVTX_COLOR_ARGB};
	struct sonde_allocator_reading r = {.is_end = is_end};
	uint64_t begin = now_ns(), ns;
	double budget;

	if (!stats_of)
		return;
	if (!ask_allocator(&r)) {
		stats_of = NULL; /* a PyTorch that we do not know: better no figures than wrong ones */
		return;
	}
	sonde_allocator_pack(&r, &a.category, &a.color, &a.payload.ullValue);
	nvtxDomainMarkEx(readings, &a);
	ns = now_ns() - begin;
	/* A smoothed mean. A long reading counts little, as it was probably interrupted. */
	read_ns = !read_ns || ns < read_ns ? ns : read_ns + ((ns < 2 * read_ns ? ns : 2 * read_ns) - read_ns) / 8;
	ns_reading += ns;
	budget = entry_ns() > 0 ? entry_ns() * READ_PCT / 100 : READ_NS;
	entries_per_reading = 1;
	while (entries_per_reading < MOST_PER_READING && entries_per_reading * budget < 2 * (double)read_ns)
		entries_per_reading *= 2;
}

/* --- guards -------------------------------------------------------------------------------------- */

/* How a guard is used. sitecustomize.py has the same numbers. */
enum use {
	USE_RANGE,    /* opens a range around the call and does nothing else */
	USE_MODULE,   /* the range has the name of the module that is the first argument */
	USE_LOADER,   /* loads data: a step may begin with the call */
	USE_OPTIMIZER, /* an optimizer's step: ends a training step */
	USE_OWN_PUSH, /* opens a range of the program's own: we open none */
	USE_OWN_POP,  /* closes a range of the program's own */
	USE_INDEX, /* asks a loader's sampler for the next index: there is more data when the call returns */
};

struct guard {
	PyObject head;
	PyObject *original;
	PyObject *namer; /* USE_MODULE: a Python callable that names a module which has no name yet; else NULL */
	struct label label;
	enum use use;
};

static PyObject *guard_type;

static void push_label(nvtxStringHandle_t label)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED, .message.registered = label};

	nr_ranges++;
	nvtxDomainRangePushEx(NULL, &a);
}

static PyObject *call_marked(const struct guard *g, struct label *label, PyObject *args, PyObject *kwargs)
{
	/* `label` may move while the original runs, so it is not used after that. */
	nvtxStringHandle_t handle = label->handle;
	bool is_timed = leaves_may_go && nr_outermost < WARM_UP, is_read = is_read_here(label);
	uint64_t begin = is_timed ? now_ns() : 0, end;
	PyObject *result;

	push_label(handle);
	end = is_timed ? now_ns() : 0;
	timed_ns += (double)(end - begin);
	if (is_read)
		mark_allocator(false);
	result = PyObject_Call(g->original, args, kwargs);
	if (is_read && result) /* not after an exception, which the reading might disturb */
		mark_allocator(true);
	begin = is_timed ? now_ns() : 0;
	nvtxDomainRangePop(NULL);
	if (is_timed) {
		timed_ns += (double)(now_ns() - begin);
		nr_timed++;
	}
	return result;
}

/* --- steps --------------------------------------------------------------------------------------- */

/*
 * A training step ends when an optimizer's step ends. The next one begins when data is loaded or an outermost module
 * is called for training. So losses and other calls that are no modules are in the step too. The ranges of a thread must
 * nest, so a step neither begins nor ends while a range of the program's own is open. A program that has ranges of its own
 * at the outermost level marks its steps itself: we mark none there.
 */
static bool has_optimizer;   /* an optimizer has stepped: there is a training loop */
static bool has_own_ranges;  /* the program has ranges of its own at the outermost level */
static bool has_samplers;    /* the samplers of loaders are guarded */
static PyObject *grad_is_on; /* torch.is_grad_enabled */
static struct label step_label;

void sonde_modules_steps(PyObject *is_grad_enabled)
{
	Py_IncRef(is_grad_enabled);
	grad_is_on = is_grad_enabled;
	step_label.handle = nvtxDomainRegisterStringA(NULL, "step");
	step_label.nr_entries = 1; /* counts the first iteration, which is over before we know that there are steps */
}

static bool is_true(PyObject *value)
{
	bool is = value && PyObject_IsTrue(value) > 0;

	if (value)
		Py_DecRef(value);
	else
		PyErr_Clear();
	return is;
}

static void end_step(void)
{
	if (!thread_state.is_in_step || thread_state.nr_own || thread_state.depth)
		return;
	if (thread_state.is_step_read && !PyErr_Occurred())
		mark_allocator(true);
	nvtxDomainRangePop(NULL);
	thread_state.is_in_step = false;
}

void sonde_modules_end(void) { end_step(); }

/*
 * Begins a step if one should begin now. `module` is an outermost module that is about to be called; NULL = data is
 * about to be loaded.
 */
static void begin_step(PyObject *module)
{
	bool is_training;

	if (!grad_is_on || !has_optimizer || has_own_ranges || thread_state.depth || thread_state.nr_own ||
		(thread_state.is_in_step && (thread_state.was_called || !module)))
		return;
	is_training = (!module || is_true(PyObject_GetAttrString(module, "training"))) &&
		      is_true(PyObject_CallFunctionObjArgs(grad_is_on, NULL));
	if (thread_state.is_in_step && !is_training)
		end_step(); /* the data was for an evaluation */
	else if (!thread_state.is_in_step && is_training) {
		thread_state.is_step_read = is_read_here(&step_label);
		push_label(step_label.handle);
		if (thread_state.is_step_read)
			mark_allocator(false);
		thread_state.is_in_step = true;
	}
	thread_state.was_called = thread_state.is_in_step && module;
}

/* --- loading of data ----------------------------------------------------------------------------- */

static bool take_number(PyObject *of, const char *name, long long *out)
{
	PyObject *number = PyObject_GetAttrString(of, name);

	*out = number ? PyLong_AsLongLong(number) : 0;
	if (number)
		Py_DecRef(number);
	if (!PyErr_Occurred())
		return number != NULL;
	PyErr_Clear();
	return false;
}

/*
 * The call that finds no more data must not begin a step. A loader with workers shows that beforehand: it has got everything
 * that it has asked its workers for. A loader without workers asks its sampler first, so its step begins when the sampler has
 * answered (call_sampler).
 */
static PyObject *call_loader(struct guard *g, PyObject *args, PyObject *kwargs)
{
	PyObject *loader = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
	bool may_begin = grad_is_on && has_optimizer && !has_own_ranges && !thread_state.depth && !thread_state.nr_own &&
			 !thread_state.is_in_step;
	long long nr_got = 0, nr_asked = 0;
	bool has_workers = loader && take_number(loader, "_rcvd_idx", &nr_got) && take_number(loader, "_send_idx", &nr_asked);
	PyObject *result;

	if (may_begin && has_samplers && !has_workers) {
		thread_state.to_load = g;
		result = PyObject_Call(g->original, args, kwargs);
		if (!thread_state.to_load)
			nvtxDomainRangePop(NULL);
		thread_state.to_load = NULL;
	} else {
		if (!has_workers || nr_got < nr_asked)
			begin_step(NULL);
		result = call_marked(g, &g->label, args, kwargs);
	}
	if (!result && !thread_state.was_called)
		end_step(); /* there is no more data */
	return result;
}

static PyObject *call_sampler(const struct guard *g, PyObject *args, PyObject *kwargs)
{
	PyObject *index = PyObject_Call(g->original, args, kwargs);
	const struct guard *loader = thread_state.to_load;

	if (!index || !loader)
		return index;
	thread_state.to_load = NULL;
	begin_step(NULL);
	push_label(loader->label.handle);
	return index;
}

/* --- calls --------------------------------------------------------------------------------------- */

/*
 * Has the namer name `module`, and returns its entry; NULL = it has none. The namer is Python and may run anything, so
 * we search the table again.
 */
static struct named *name_now(const struct guard *g, PyObject *module)
{
	PyObject *none = PyObject_CallFunctionObjArgs(g->namer, module, NULL);

	if (none)
		Py_DecRef(none);
	else
		PyErr_Clear();
	return find_name(module);
}

static PyObject *call_module(const struct guard *g, PyObject *args, PyObject *kwargs)
{
	PyObject *module = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
	struct named *n = module ? find_name(module) : NULL;
	unsigned depth = thread_state.depth;
	struct label *label;
	PyObject *result;

	if (!module)
		return PyObject_Call(g->original, args, kwargs);
	if (!depth) {
		watch_entries();
		watch_cost();
		begin_step(module);
		thread_state.outermost = module;
	}
	n = n ? n : name_now(g, module);
	label = n && !(n->is_leaf && leaves_are_gone && depth) && (!most_depth || depth < most_depth) ? &n->label : NULL;
	thread_state.depth = depth + 1;
	result = label && label->handle ? call_marked(g, label, args, kwargs) : PyObject_Call(g->original, args, kwargs);
	thread_state.depth = depth;
	return result;
}

static PyObject *guard_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct guard *g = (struct guard *)self;
	PyObject *result;

	switch (g->use) {
	case USE_MODULE:
		return call_module(g, args, kwargs);
	case USE_LOADER:
		return call_loader(g, args, kwargs);
	case USE_INDEX:
		return call_sampler(g, args, kwargs);
	case USE_OPTIMIZER:
		result = call_marked(g, &g->label, args, kwargs);
		has_optimizer = true;
		end_step();
		return result;
	case USE_OWN_PUSH:
		has_own_ranges |= !thread_state.depth && !thread_state.is_in_step;
		result = PyObject_Call(g->original, args, kwargs);
		thread_state.nr_own += result != NULL;
		return result;
	case USE_OWN_POP:
		result = PyObject_Call(g->original, args, kwargs);
		thread_state.nr_own -= result && thread_state.nr_own;
		return result;
	default:
		return call_marked(g, &g->label, args, kwargs);
	}
}

/* A guard is bound like a function: found in an instance it becomes a method, found in the class it is itself. */
static PyObject *guard_get(PyObject *self, PyObject *instance, PyObject *owner)
{
	(void)owner;
	if (instance)
		return PyMethod_New(self, instance);
	Py_IncRef(self);
	return self;
}

/*
 * A guard has the attributes of its original, except that it is bound and called as itself: learning rate schedulers wrap
 * `optimizer.step.__func__` and bind it again.
 */
static PyObject *guard_attribute(PyObject *self, PyObject *name)
{
	if (PyUnicode_CompareWithASCIIString(name, "__get__") == 0 || PyUnicode_CompareWithASCIIString(name, "__call__") == 0)
		return PyObject_GenericGetAttr(self, name);
	return PyObject_GetAttr(((struct guard *)self)->original, name);
}

static int guard_set_attribute(PyObject *self, PyObject *name, PyObject *value)
{
	return PyObject_SetAttr(((struct guard *)self)->original, name, value);
}

PyObject *sonde_modules_guard(PyObject *original, int use, PyObject *namer, const char *label)
{
	static struct sonde_python_slot slots[] = {{SLOT_CALL, (void (*)(void))guard_call},
		{SLOT_DESCR_GET, (void (*)(void))guard_get}, {SLOT_GETATTR, (void (*)(void))guard_attribute},
		{SLOT_SETATTR, (void (*)(void))guard_set_attribute}, {0, NULL}};
	static struct sonde_python_type spec = {"sonde.guard", sizeof(struct guard), 0, 0, slots};
	struct guard *g;

	if (!guard_type)
		guard_type = PyType_FromSpec(&spec);
	g = guard_type ? (struct guard *)PyType_GenericAlloc(guard_type, 0) : NULL;
	if (!g)
		return NULL;
	Py_IncRef(original);
	if (namer)
		Py_IncRef(namer);
	g->original = original;
	g->namer = namer;
	g->use = (enum use)use;
	has_samplers |= g->use == USE_INDEX;
	g->label.handle = label ? nvtxDomainRegisterStringA(NULL, label) : NULL;
	Py_IncRef(&g->head);
	return &g->head;
}
