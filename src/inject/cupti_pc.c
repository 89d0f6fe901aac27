/*
 * PC samples: at which instruction the GPU's warps were found, and why they did not go on.
 *
 * CUPTI samples all the time ("continuous" mode), from the moment a context is made until it is destroyed; kernels are
 * not serialized. A thread of ours drains the samples that CUPTI has gathered, adds them up by function, instruction and
 * reason, and writes the sums as events with the times of this drain and the last one. The thread never starts or stops the
 * sampling, since that can hang the program: outside windows it throws away what it drains.
 *
 * The period is set once, when a context is made, since changing it means to begin sampling again. Only the time between
 * two drains follows the load: CUPTI adds up samples of equal instructions meanwhile, so fewer drains cost less. All
 * drains take 2 % of the time of one core at most (with a budget, half of the budget at most): the thread has a credit, which
 * earns this share of the passing time and pays for drains. Without credit a drain stops, and a later one goes on with what CUPTI
 * still has. Only the last drain of a context takes as long as it needs.
 *
 * CUPTI must not leave while it samples (cupti_presence.c), and a forked child never touches any of this.
 */
#include "inject/cupti_int.h"
#include "inject/inject_int.h"

#include <cupti_pcsampling.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#define DRAIN_NS      20000000u /* shortest time between two drains */
#define SLOW_NS	      500000000u /* a longer time between two drains is noted */
#define SLOW_ROUNDS   25u /* the same for unfinished drains in a row */
#define COST_PPM      20000u /* share of one core's time that drains may take */
#define CREDIT_MS     1000u /* time that earns the largest credit */
/*
 * CUPTI's threads take samples from the GPU, and then find their code. They do each step when they wake: every WORKER_MS,
 * which we set, or every 100 ms, which is the default. So we may get a sample LAG_MS after it was taken.
 */
#define WORKER_MS     10u
#define LAG_MS	      (2 * WORKER_MS + 5)
#define OLD_LAG_MS    205u /* the same for a CUPTI that keeps its default */
#define NR_PCS	      2048u /* instructions that CUPTI hands over at once */
#define NR_LAST_PCS   8192u /* the same when sampling ends: CUPTI throws away what is more */
#define NR_REASONS    64u
#define MAX_CONTEXTS  64u
#define SCRATCH_BYTES ((size_t)64 << 20)
#define NR_ROWS	      (1u << 16) /* most rows that are added up before they are written */
#define NR_SLOTS      (4 * NR_ROWS)
#define NR_FUNCTIONS  4096u
#define MAX_ROUNDS    4096u /* most rounds of one drain, in case CUPTI never comes to an end */
#define LOCK_NS	      2000000000u /* how long to wait for a lock */
#define LOOK_ROUNDS   25u /* drains between two looks whether the main thread has ended */

#define PC_CALLS(X)                                                                                \
	X(cuptiPCSamplingEnable)                                                                   \
	X(cuptiPCSamplingDisable)                                                                  \
	X(cuptiPCSamplingGetData)                                                                  \
	X(cuptiPCSamplingSetConfigurationAttribute)                                                \
	X(cuptiPCSamplingGetNumStallReasons)                                                       \
	X(cuptiPCSamplingGetStallReasons)                                                          \
	X(cuptiGetCubinCrc)                                                                        \
	X(cuptiGetDeviceId)

/* A buffer that CUPTI fills, with room for its PCs and their reasons. */
struct filled {
	CUpti_PCSamplingData data;
	CUpti_PCSamplingPCData pcs[NR_LAST_PCS];
	CUpti_PCSamplingStallReason reasons[NR_LAST_PCS][NR_REASONS];
};

/* States of a slot for a context. A slot in the state GONE, whose context was destroyed or refused, can be used again. */
enum { CONTEXT_NONE, CONTEXT_SAMPLED, CONTEXT_ENDING, CONTEXT_GONE, CONTEXT_LOST /* CUPTI failed: we leave the context alone */ };

struct context {
	_Atomic uint32_t state;
	CUcontext it;
	uint32_t device;
	struct filled *rest; /* CUPTI puts the remaining samples here when sampling ends */
};

/* A function with samples since the last drain, and the list of its rows. */
struct function {
	const struct label *label;
	uint64_t cubin; /* checksum */
	uint32_t device;
	uint32_t first; /* index of its first row, plus one; 0 = none */
};

/* The samples at one instruction for one reason. */
struct row {
	uint32_t function, pc, reason; /* reason: number of its name in the string table */
	uint32_t next;		       /* index of the function's next row, plus one; 0 = none */
	uint32_t slot;		       /* index of this row's entry in `slots` */
	uint32_t samples, not_issued;
};

static struct {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a field */
#define FIELD(name) __typeof__(&(name)) name;
	PC_CALLS(FIELD)
#undef FIELD
	_Atomic uint32_t lock; /* held while draining */
	_Atomic uint32_t drain_wanted; /* changes when the thread should drain now */
	_Atomic bool is_on, ending;
	_Atomic uint32_t nr_contexts;
	struct context contexts[MAX_CONTEXTS];
	_Atomic uint32_t learning; /* a lock, held while asking CUPTI for the reasons */
	bool has_reasons;
	uint32_t reasons[NR_REASONS]; /* by CUPTI's number of a reason: the number of its name in the string table, 0 = none */
	bool is_twin[NR_REASONS];     /* the reason is a `_not_issued` twin: it counts samples in which no warp was issued */
	/* Protected by `lock`, except lag_ms. */
	struct filled *filled;
	struct function *functions;
	struct row *rows;
	uint32_t *slots; /* hash table of rows: index plus one; 0 = free */
	uint32_t nr_functions, nr_rows;
	uint64_t since; /* ticks when the last finished drain began */
	_Atomic uint32_t lag_ms;
	bool counts;	/* samples since then are in a window */
	/* Only the thread that drains uses these. */
	int64_t credit_ns;   /* how long drains may take; below 0 after one that took longer */
	uint64_t earned_ns;  /* when time was last added to it */
	uint64_t stop_ns;    /* time of this thread at which the present drain stops */
	uint32_t turn;	     /* the context that the next drain begins with */
	uint32_t nr_stopped; /* unfinished drains since the last finished one */
	char fast[200];	     /* a note; it names a longer period */
} pc;

/* --- adding up ------------------------------------------------------------------------------------ */

static bool write_function(struct thread *t, const struct function *f, uint64_t now)
{
	struct sonde_event e = {.type = SONDE_EVENT_PC_FUNCTION, .ticks = now, .label = {.number = f->label->id}};
	const uint8_t *before = t->at;

	e.field[SONDE_PC_FUNCTION_DEVICE] = f->device;
	e.field[SONDE_PC_FUNCTION_CUBIN] = f->cubin;
	e.field[SONDE_PC_FUNCTION_TICKS] = now - pc.since + atomic_load(&pc.lag_ms) * (sonde_inject.tick_hz / 1000);
	e.field[SONDE_PC_FUNCTION_PERIOD] = sonde_inject.config.pc_exponent;
	e.field[SONDE_PC_FUNCTION_IS_KEPT] = sonde_cubins__has(f->cubin);
	sonde_ring__write(t, &e);
	return t->at != before;
}

/*
 * Writes the rows of a function. If they go on in another chunk, the function is written there again, since a chunk
 * must be readable by itself.
 */
static void write_rows(struct thread *t, const struct function *f, uint64_t now)
{
	struct sonde_event e = {.type = SONDE_EVENT_PC, .ticks = now};
	bool is_there = write_function(t, f, now);
	uint32_t i, seq = t->seq;

	for (i = f->first; i; i = pc.rows[i - 1].next) {
		const struct row *r = &pc.rows[i - 1];

		while (is_there && (t->seq != seq || t->at > t->limit)) {
			is_there = write_function(t, f, now);
			seq = t->seq;
		}
		if (!is_there) { /* no chunk is free: count the event of this row as lost */
			count_own(&t->nr_lost);
			continue;
		}
		e.field[SONDE_PC_OFFSET] = r->pc;
		e.field[SONDE_PC_REASON] = r->reason;
		e.field[SONDE_PC_SAMPLES] = r->samples;
		e.field[SONDE_PC_NOT_ISSUED] = r->not_issued;
		sonde_ring__write(t, &e);
	}
}

static uint64_t cubin_crc(const void *p, size_t n)
{
	CUpti_GetCubinCrcParams of = {.size = CUpti_GetCubinCrcParamsSize, .cubinSize = n, .cubin = p};

	return pc.cuptiGetCubinCrc(&of) == CUPTI_SUCCESS ? of.cubinCrc : 0;
}

/* Writes all rows, or throws them away when they were sampled outside windows. */
static void empty_rows(void)
{
	uint64_t now = ticks_now();
	struct thread *t = pc.nr_rows && pc.counts ? hook_enter() : NULL;
	uint32_t i;

	sonde_cubins__checksum(cubin_crc); /* before the samples: so the flusher writes their cubins before it completes the file */
	for (i = 0; t && i < pc.nr_functions; i++)
		write_rows(t, &pc.functions[i], now);
	if (t)
		hook_leave(t);
	for (i = 0; i < pc.nr_rows; i++)
		pc.slots[pc.rows[i].slot] = 0;
	pc.nr_rows = pc.nr_functions = 0;
}

/*
 * Finds or adds the function of a record. Searches from the end, since records of one function mostly follow each
 * other. NULL when the string table is full.
 */
static struct function *find_function(const CUpti_PCSamplingPCData *p, uint32_t device)
{
	const char *name = p->functionName ? p->functionName : "(unknown)";
	struct label *label =
		sonde_label__intern(SONDE_STRING_KERNEL | LABEL_KEPT, 0, name, strnlen(name, SONDE_LABEL_LIMIT));
	uint32_t i;

	if (!label)
		return NULL;
	for (i = pc.nr_functions; i-- > 0;) {
		struct function *f = &pc.functions[i];

		if (f->label == label && f->cubin == p->cubinCrc && f->device == device)
			return f;
	}
	pc.functions[pc.nr_functions] = (struct function){label, p->cubinCrc, device, 0};
	return &pc.functions[pc.nr_functions++];
}

static void add_row(struct function *f, uint32_t offset, uint32_t reason, const CUpti_PCSamplingStallReason *s)
{
	uint32_t number = (uint32_t)(f - pc.functions), samples = s->samples;
	bool is_twin = pc.is_twin[s->pcSamplingStallReasonIndex];
	uint64_t h = ((uint64_t)number << 40 ^ (uint64_t)offset << 8 ^ reason) * 0x9e3779b97f4a7c15u;
	uint32_t at = (uint32_t)(h >> 32) & (NR_SLOTS - 1);
	struct row *r;

	for (; pc.slots[at]; at = (at + 1) & (NR_SLOTS - 1)) {
		r = &pc.rows[pc.slots[at] - 1];
		if (r->function == number && r->pc == offset && r->reason == reason)
			break;
	}
	if (!pc.slots[at]) {
		pc.rows[pc.nr_rows] = (struct row){number, offset, reason, f->first, at, 0, 0};
		f->first = pc.slots[at] = ++pc.nr_rows;
	}
	r = &pc.rows[pc.slots[at] - 1];
	*(is_twin ? &r->not_issued : &r->samples) += samples;
}

static void count_dropped(uint64_t nr)
{
	atomic_fetch_add(&sonde_inject.nr_pc_dropped, pc.counts ? nr : 0);
}

static void take_pc(const CUpti_PCSamplingPCData *p, uint32_t device)
{
	struct function *f;
	size_t i;

	if (pc.nr_rows + NR_REASONS > NR_ROWS || pc.nr_functions == NR_FUNCTIONS)
		empty_rows();
	f = p->pcOffset < UINT32_MAX ? find_function(p, device) : NULL;
	for (i = 0; i < p->stallReasonCount && i < NR_REASONS; i++) {
		const CUpti_PCSamplingStallReason *s = &p->stallReason[i];
		const uint32_t index = s->pcSamplingStallReasonIndex;

		if (f && s->samples && index < NR_REASONS && pc.reasons[index])
			add_row(f, (uint32_t)p->pcOffset, pc.reasons[index], s);
		else if (index >= NR_REASONS || !pc.is_twin[index]) /* twins count samples that other reasons have */
			count_dropped(s->samples);
	}
}

/* Samples come too fast for the credit, or for CUPTI's buffer. */
static void note_fast(void)
{
	sonde_flusher__note(pc.fast);
}

/* Takes what CUPTI has put into a buffer. CUPTI's total of samples is wrong if the period was chosen, so we add up the records. */
static void take_filled(const struct filled *b, uint32_t device)
{
	size_t i;

	count_dropped(b->data.droppedSamples);
	atomic_fetch_add(&sonde_inject.nr_pc_full, pc.counts && b->data.hardwareBufferFull);
	if (pc.counts && b->data.hardwareBufferFull)
		note_fast();
	for (i = 0; i < b->data.totalNumPcs && i < b->data.collectNumPcs; i++)
		take_pc(&b->pcs[i], device);
}

static void empty_filled(struct filled *b, size_t nr_pcs)
{
	size_t i;

	b->data = (CUpti_PCSamplingData){.size = sizeof(b->data), .collectNumPcs = nr_pcs, .pPcData = b->pcs};
	for (i = 0; i < nr_pcs; i++) {
		b->pcs[i].size = sizeof(b->pcs[i]);
		b->pcs[i].stallReason = b->reasons[i];
		b->pcs[i].stallReasonCount = 0;
	}
}

/* --- draining ------------------------------------------------------------------------------------- */

static bool take_lock(_Atomic uint32_t *lock)
{
	uint64_t start = sonde_now_ns();
	uint32_t none = 0;

	while (!atomic_compare_exchange_strong(lock, &none, 1)) {
		if (sonde_now_ns() - start > LOCK_NS)
			return false;
		sonde_futex__wait(lock, 1, 1);
		none = 0;
	}
	return true;
}

static void give_lock(_Atomic uint32_t *lock)
{
	atomic_store(lock, 0);
	sonde_futex__wake(lock);
}

static bool lock_draining(void)
{
	return take_lock(&pc.lock);
}

static void unlock_draining(void)
{
	give_lock(&pc.lock);
}

/*
 * While PM sampling runs on the same GPU, CUPTI 13.0 fails with "unknown error": what it has filled in is no data, and another call
 * may crash. So we do not call it again for this context, not even to disable the sampling.
 */
static void leave_alone(struct context *c)
{
	atomic_store(&c->state, CONTEXT_LOST);
	sonde_flusher__note_loss("CUPTI stopped giving PC samples, as it does when another tool samples the counters of the same GPU: later "
				 "ones are missing");
}

static uint64_t thread_ns(void)
{
	return sonde_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Returns whether CUPTI has nothing more. Unless it is the context's last drain, stops when the credit is used up. */
static bool drain_context(struct context *c, bool is_last)
{
	CUpti_PCSamplingGetDataParams get = {
		.size = CUpti_PCSamplingGetDataParamsSize, .ctx = c->it, .pcSamplingData = &pc.filled->data};
	uint32_t i;
	CUptiResult rc;

	for (i = 0; i < MAX_ROUNDS; i++) {
		empty_filled(pc.filled, NR_PCS);
		rc = pc.cuptiPCSamplingGetData(&get);
		if (rc == CUPTI_ERROR_OUT_OF_MEMORY) {
			pc.filled->data.hardwareBufferFull = 1;
		} else if (rc != CUPTI_SUCCESS) {
			leave_alone(c);
			return true;
		}
		take_filled(pc.filled, c->device);
		if (rc != CUPTI_SUCCESS || !pc.filled->data.totalNumPcs || !pc.filled->data.remainingNumPcs)
			return true;
		if (!is_last && (atomic_load(&pc.ending) || thread_ns() >= pc.stop_ns))
			return false;
	}
	return true;
}

/* Ends the sampling of a context. CUPTI puts its remaining samples into the buffer that it got in configure(). */
static void end_context(struct context *c)
{
	CUpti_PCSamplingDisableParams disable = {.size = CUpti_PCSamplingDisableParamsSize, .ctx = c->it};
	uint32_t sampled = CONTEXT_SAMPLED;

	if (!atomic_compare_exchange_strong(&c->state, &sampled, CONTEXT_ENDING))
		return;
	drain_context(c, true);
	if (atomic_load(&c->state) == CONTEXT_LOST)
		return;
	empty_filled(c->rest, NR_LAST_PCS);
	if (pc.cuptiPCSamplingDisable(&disable) == CUPTI_SUCCESS) {
		take_filled(c->rest, c->device);
		count_dropped(c->rest->data.remainingNumPcs); /* each has one sample at least */
		if (pc.counts && c->rest->data.remainingNumPcs)
			sonde_flusher__note_loss("the last PC samples of a CUDA context are not complete: there were too many of them");
	}
	atomic_store(&c->state, CONTEXT_GONE);
}

/*
 * Takes the samples since the last drain. They count if a window was open when the last drain began. A sample may be taken while
 * its context is being drained. So the time of a drain's samples reaches from CUPTI's lag before the beginning of the last drain to
 * the end of this drain. After a drain that did not finish, CUPTI still has samples of that time: so nothing begins anew.
 */
static void drain_all(bool is_end)
{
	uint32_t i = 0, k, nr = atomic_load(&pc.nr_contexts);
	bool is_open = atomic_load(&sonde_inject.windows.gpu_on), is_finished = true;
	uint64_t begin = ticks_now();

	nr = nr < MAX_CONTEXTS ? nr : MAX_CONTEXTS;
	for (k = 0; k < nr && is_finished; k++) {
		struct context *c = &pc.contexts[i = (pc.turn + k) % nr];

		if (is_end)
			end_context(c);
		else if (atomic_load(&c->state) == CONTEXT_SAMPLED)
			is_finished = (!k || thread_ns() < pc.stop_ns) && drain_context(c, false);
	}
	empty_rows();
	if (is_end)
		return;
	pc.nr_stopped = is_finished ? 0 : pc.nr_stopped + 1;
	if (!is_finished) {
		pc.turn = i;
		if (is_open != pc.counts) /* samples of both sides of a window's edge are treated alike */
			note_fast();
		return;
	}
	pc.since = begin;
	pc.counts = is_open;
}

/* The share of one core's time that drains may take. */
static uint32_t cost_ppm(void)
{
	uint32_t budget = sonde_inject.config.budget_ppm / 2;

	return budget && budget < COST_PPM ? budget : COST_PPM;
}

/* The credit is never more than this; a drain at the edge of a window may go as far below 0. */
static int64_t most_credit(void)
{
	return (int64_t)CREDIT_MS * cost_ppm(); /* a millisecond has as many nanoseconds as a share of 1 has ppm */
}

static void earn_credit(void)
{
	uint64_t now = sonde_now_ns(), ms = (now - pc.earned_ns) / 1000000;
	int64_t most = most_credit();

	pc.earned_ns += ms * 1000000;
	ms = ms < CREDIT_MS * 1000 ? ms : CREDIT_MS * 1000;
	pc.credit_ns += (int64_t)ms * cost_ppm();
	pc.credit_ns = pc.credit_ns < most ? pc.credit_ns : most;
}

/* How long to wait: until there is credit again, but not so long that the thread misses the end of the program. */
static uint64_t pause_ns(void)
{
	uint64_t ns = pc.credit_ns < 0 ? (uint64_t)-pc.credit_ns / cost_ppm() * 1000000 : 0;

	if (ns > SLOW_NS || pc.nr_stopped > SLOW_ROUNDS)
		note_fast();
	return ns < DRAIN_NS ? DRAIN_NS : ns < SLOW_NS ? ns : SLOW_NS;
}

/* Drains if there is credit, and pays for it. `is_wanted`: a window's edge should not wait for credit. */
static void drain_on_credit(bool is_wanted)
{
	uint64_t before = thread_ns();
	int64_t least = is_wanted ? -most_credit() : 0;

	earn_credit();
	if (pc.credit_ns < least) {
		if (is_wanted)
			note_fast();
		return;
	}
	pc.stop_ns = before + (uint64_t)(pc.credit_ns - least);
	if (lock_draining()) {
		if (!atomic_load(&pc.ending)) /* otherwise the last drain was or will be made by another thread */
			drain_all(false);
		unlock_draining();
	}
	before = thread_ns() - before;
	pc.credit_ns -= (int64_t)before;
	sonde_budget__bear(before);
}

static void *run_drains(void *arg)
{
	uint64_t pause = DRAIN_NS;
	uint32_t round, wanted, seen = atomic_load(&pc.drain_wanted);

	(void)arg;
	prctl(PR_SET_NAME, "sonde-pc");
	pc.earned_ns = sonde_now_ns();
	for (round = 1; !atomic_load(&pc.ending) && atomic_load(&sonde_inject.is_active); round++) {
		sonde_futex__wait(&pc.drain_wanted, seen, (uint32_t)(pause / 1000000));
		wanted = atomic_load(&pc.drain_wanted) - seen;
		seen += wanted;
		if (round % LOOK_ROUNDS == 0 && sonde_host__main_has_ended())
			break;
		if (!atomic_load(&pc.nr_contexts) || !sonde_presence__hold())
			continue;
		atomic_fetch_add(&sonde_inject.nr_collecting, 1);
		drain_on_credit(wanted);
		atomic_fetch_sub(&sonde_inject.nr_collecting, 1);
		sonde_presence__release();
		pause = pause_ns();
	}
	return NULL;
}

void sonde_pc__drain_now(void)
{
	if (!atomic_load(&pc.is_on))
		return;
	atomic_fetch_add(&pc.drain_wanted, 1);
	sonde_futex__wake(&pc.drain_wanted);
}

void sonde_pc__end(void)
{
	if (!atomic_load(&pc.is_on))
		return;
	atomic_store(&pc.ending, true);
	sonde_pc__drain_now();
	if (!lock_draining()) {
		sonde_flusher__note_loss("the last PC samples are missing: CUPTI did not answer");
		return;
	}
	drain_all(true);
	unlock_draining();
}

/* --- contexts and modules --------------------------------------------------------------------------- */

/* A note says why there are no PC samples; everything else goes on. */
static void note_refusal(CUptiResult why)
{
	switch (why) {
	case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
		sonde_flusher__note_loss("no PC samples: this user may not profile the GPU; `sonde doctor` says what to change");
		break;
	case CUPTI_ERROR_NOT_SUPPORTED:
	case CUPTI_ERROR_NOT_COMPATIBLE:
	case CUPTI_ERROR_INVALID_DEVICE:
		sonde_flusher__note_loss("no PC samples: this GPU, or its driver, has no continuous PC sampling");
		break;
	case CUPTI_ERROR_HARDWARE_BUSY:
	case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
		sonde_flusher__note_loss("no PC samples: another profiler uses the GPU's sampling hardware");
		break;
	default:
		sonde_flusher__note_loss("no PC samples: CUPTI refused to take them");
	}
}

/* Asks CUPTI for the names of the reasons. */
static CUptiResult ask_reasons(CUcontext context)
{
	static char texts[NR_REASONS][CUPTI_STALL_REASON_STRING_SIZE];
	static const char twin[] = "_not_issued";
	CUpti_PCSamplingGetNumStallReasonsParams count_of = {.size = CUpti_PCSamplingGetNumStallReasonsParamsSize, .ctx = context};
	CUpti_PCSamplingGetStallReasonsParams get = {.size = CUpti_PCSamplingGetStallReasonsParamsSize, .ctx = context};
	uint32_t index[NR_REASONS] = {0};
	char *at[NR_REASONS];
	size_t nr = 0, i, n;
	CUptiResult rc;

	count_of.numStallReasons = &nr;
	rc = pc.cuptiPCSamplingGetNumStallReasons(&count_of);
	if (rc != CUPTI_SUCCESS || nr > NR_REASONS)
		return rc != CUPTI_SUCCESS ? rc : CUPTI_ERROR_NOT_SUPPORTED;
	for (i = 0; i < nr; i++)
		at[i] = texts[i];
	get.numStallReasons = nr;
	get.stallReasonIndex = index;
	get.stallReasons = at;
	rc = pc.cuptiPCSamplingGetStallReasons(&get);
	for (i = 0; rc == CUPTI_SUCCESS && i < nr; i++) {
		const struct label *label;

		n = strnlen(at[i], CUPTI_STALL_REASON_STRING_SIZE);
		if (index[i] >= NR_REASONS)
			continue;
		pc.is_twin[index[i]] = n > sizeof(twin) - 1 && !memcmp(at[i] + n - sizeof(twin) + 1, twin, sizeof(twin) - 1);
		n -= pc.is_twin[index[i]] ? sizeof(twin) - 1 : 0;
		label = sonde_label__intern(SONDE_STRING_NAME | LABEL_KEPT, 0, at[i], n);
		pc.reasons[index[i]] = label ? label->id : 0;
	}
	return rc;
}

/*
 * Learns the reasons once, from the first context that has them: they are the same for all devices of a kind. No context is sampled
 * before that, so nobody reads them meanwhile.
 */
static CUptiResult learn_reasons(CUcontext context)
{
	CUptiResult rc = CUPTI_SUCCESS;

	if (!take_lock(&pc.learning))
		return CUPTI_ERROR_UNKNOWN;
	if (!pc.has_reasons)
		rc = ask_reasons(context);
	pc.has_reasons |= rc == CUPTI_SUCCESS;
	give_lock(&pc.learning);
	return rc;
}

static CUptiResult configure(const struct context *c)
{
	CUpti_PCSamplingConfigurationInfo info[5] = {0};
	CUptiResult rc;
	CUpti_PCSamplingConfigurationInfoParams set = {.size = CUpti_PCSamplingConfigurationInfoParamsSize,
		.ctx = c->it, .numAttributes = sizeof(info) / sizeof(*info), .pPCSamplingConfigurationInfo = info};

	info[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
	info[0].attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
	info[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
	info[1].attributeData.samplingPeriodData.samplingPeriod = sonde_inject.config.pc_exponent;
	info[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE;
	info[2].attributeData.scratchBufferSizeData.scratchBufferSize = SCRATCH_BYTES;
	info[3].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
	info[3].attributeData.samplingDataBufferData.samplingDataBuffer = &c->rest->data;
	info[4].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN;
	info[4].attributeData.workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan = WORKER_MS;
	rc = pc.cuptiPCSamplingSetConfigurationAttribute(&set);
	if (rc != CUPTI_SUCCESS) { /* old versions do not know the last attribute */
		set.numAttributes--;
		rc = pc.cuptiPCSamplingSetConfigurationAttribute(&set);
		if (rc == CUPTI_SUCCESS)
			atomic_store(&pc.lag_ms, OLD_LAG_MS);
	}
	return rc;
}

/* Takes a slot with a buffer for a new context; NULL when there is no slot or no memory. */
static struct context *find_slot(void)
{
	uint32_t number = atomic_load(&pc.nr_contexts), i, gone;
	struct context *c = NULL;

	for (i = 0; i < number && !c; i++) {
		gone = CONTEXT_GONE;
		if (atomic_compare_exchange_strong(&pc.contexts[i].state, &gone, CONTEXT_NONE))
			c = &pc.contexts[i];
	}
	while (!c && number < MAX_CONTEXTS)
		if (atomic_compare_exchange_strong(&pc.nr_contexts, &number, number + 1))
			c = &pc.contexts[number];
	if (!c || c->rest || (c->rest = sonde_ring__reserve(sizeof(*c->rest))))
		return c;
	atomic_store(&c->state, CONTEXT_GONE);
	return NULL;
}

static void refuse_context(struct context *c, CUptiResult why)
{
	note_refusal(why);
	atomic_store(&c->state, CONTEXT_GONE);
}

/*
 * A context is about to be destroyed: takes its remaining samples. The program waits here while another thread drains, also at
 * its end, since that thread may be using the context. It waits for LOCK_NS at most.
 */
static void leave_context(CUcontext it)
{
	uint32_t i, nr = atomic_load(&pc.nr_contexts);
	bool is_ours = false;

	if (!lock_draining())
		return;
	for (i = 0; i < nr && i < MAX_CONTEXTS; i++)
		if (atomic_load(&pc.contexts[i].state) == CONTEXT_SAMPLED && pc.contexts[i].it == it) {
			end_context(&pc.contexts[i]);
			is_ours = true;
		}
	if (is_ours)
		empty_rows(); /* these rows are of this context only, so `since` does not change */
	unlock_draining();
}

static void begin_context(CUcontext it)
{
	CUpti_PCSamplingEnableParams enable = {.size = CUpti_PCSamplingEnableParamsSize, .ctx = it};
	CUpti_PCSamplingDisableParams disable = {.size = CUpti_PCSamplingDisableParamsSize, .ctx = it};
	struct context *c;
	CUptiResult rc;

	if (atomic_load(&pc.ending))
		return;
	c = find_slot();
	if (!c) {
		sonde_flusher__note_loss("some CUDA contexts have no PC samples: the program has too many contexts");
		return;
	}
	c->it = it;
	empty_filled(c->rest, NR_LAST_PCS);
	rc = pc.cuptiGetDeviceId(it, &c->device);
	if (rc == CUPTI_SUCCESS)
		rc = pc.cuptiPCSamplingEnable(&enable);
	if (rc != CUPTI_SUCCESS) {
		refuse_context(c, rc);
		return;
	}
	rc = learn_reasons(it);
	if (rc == CUPTI_SUCCESS)
		rc = configure(c);
	if (rc != CUPTI_SUCCESS) {
		pc.cuptiPCSamplingDisable(&disable);
		refuse_context(c, rc);
		return;
	}
	atomic_store(&c->state, CONTEXT_SAMPLED);
	if (atomic_load(&pc.ending)) /* the last drain may have missed it */
		leave_context(it);
	sonde_pc__drain_now();
}

void sonde_pc__resource(CUpti_CallbackId id, const CUpti_ResourceData *r)
{
	const CUpti_ModuleResourceData *module = r->resourceDescriptor;

	if (!atomic_load(&pc.is_on) || !atomic_load(&sonde_inject.traces_gpu) || !sonde_ring__is_own())
		return;
	if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		begin_context(r->context);
	else if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
		leave_context(r->context);
	else if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED && module && module->pCubin)
		sonde_cubins__keep(module->pCubin, module->cubinSize);
}

/* --- the beginning ------------------------------------------------------------------------------------ */

static bool find_calls(void *lib)
{
#define LOAD(name)                                                                                 \
	*(void **)&pc.name = dlsym(lib, #name);                                                    \
	if (!pc.name)                                                                              \
		return false;
	PC_CALLS(LOAD)
#undef LOAD
	return true;
}

static bool make_room(void)
{
	pc.filled = sonde_ring__reserve(sizeof(*pc.filled));
	pc.functions = sonde_ring__reserve(NR_FUNCTIONS * sizeof(*pc.functions));
	pc.rows = sonde_ring__reserve(NR_ROWS * sizeof(*pc.rows));
	pc.slots = sonde_ring__reserve(NR_SLOTS * sizeof(*pc.slots));
	return pc.filled && pc.functions && pc.rows && pc.slots;
}

void sonde_pc__start(void *lib)
{
	static const CUpti_CallbackId ids[] = {CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
		CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_MODULE_LOADED};
	uint32_t exponent = sonde_inject.config.pc_exponent + 2;
	size_t i;

	if (!sonde_inject.config.pc_exponent)
		return;
	if (!find_calls(lib)) {
		sonde_flusher__note_loss("no PC samples: this CUPTI is too old; install CUPTI of CUDA 12 or newer");
		return;
	}
	if (!sonde_cupti.subscriber || !make_room()) {
		sonde_flusher__note_loss("no PC samples: another tool uses CUPTI, or there is too little memory");
		return;
	}
	snprintf(pc.fast, sizeof(pc.fast), "there are more PC samples than can be taken in time, so their split over regions is coarse, and some near "
					   "the edges of windows may be missing: pipeline.native.pc=%lu takes fewer", 1ul << (exponent < 31 ? exponent : 31));
	pc.since = ticks_now();
	atomic_store(&pc.lag_ms, LAG_MS);
	pc.counts = !sonde_inject.config.has_windows;
	atomic_store(&pc.is_on, true);
	if (!sonde_thread__start(run_drains)) {
		atomic_store(&pc.is_on, false);
		sonde_flusher__note_loss("no PC samples: sonde could not start the thread that takes them");
		return;
	}
	sonde_presence__stay();
	for (i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		sonde_cupti.cuptiEnableCallback(1, sonde_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE, ids[i]);
}
