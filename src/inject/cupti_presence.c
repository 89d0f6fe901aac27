/*
 * CUPTI comes and goes.
 *
 * Once CUPTI has recorded kernels, every launch of the process is slower, recorded or not, for as
 * long as CUPTI is there (docs/performance-internals.md). Only cuptiFinalize cures that, and CUPTI wants it
 * called at the end of a CUDA call. So when nothing needs to be recorded any more, the collector fetches the
 * records that CUPTI still has; after that, the next CUDA call of the program ends CUPTI when it returns. CUPTI comes
 * back when GPU work must be timed again. That takes some 10 ms, so it must not happen often.
 *
 * Coming and going both wait until the GPU has nothing to do (seen with CUPTI 13.0), even for kernels
 * that nobody records. The budget pays for that time.
 *
 * A graph that was made or launched while CUPTI was there needs CUPTI: the program dies without it. So
 * once there is such a graph, CUPTI stays. It also stays while it owes us records, and where
 * another user gets the records: it is not ours to end then.
 *
 * No thread of the host waits: code that calls CUPTI holds it, and a call that would end CUPTI while it
 * is held leaves that to a later call.
 */
#include "inject/cupti_int.h"
#include "inject/inject_int.h"

#define ROUND_NS 10000000u   /* shortest time between two looks for the remaining records */
#define QUIET_NS 100000000u  /* after so long without any record, records that CUPTI only perhaps owes are given up */
#define LATE_NS  2000000000u /* how long a closed window waits for the records of graphs at most */
#define SLOW_NS	 1500u	     /* how much longer a launch takes while CUPTI is still there */
#define RETURNS	 130000u     /* CUPTI's version from which on it was seen to come back unharmed */

enum { ABSENT, THERE, LEAVING, BUSY, REFUSED };

static struct {
	_Atomic uint32_t state;
	_Atomic uint32_t nr_held;
	_Atomic bool stays;    /* CUPTI stays for good */
	_Atomic bool is_idle;  /* nothing is recorded, CUPTI may go once it has given all records */
	_Atomic uint64_t off_ns; /* when is_idle was set … */
	_Atomic uint64_t gpu_off_ns; /* … and the same on CUPTI's clock */
	_Atomic uint64_t nr_slow;    /* unrecorded launches that CUPTI slowed down, not yet charged or borne */
	/* Only the collector uses these, except nr_records. */
	uint64_t looked_ns, nr_looked; /* time of the last look, and nr_gpu_records then */
	uint64_t quiet_ns; /* when the last record came, as far as looks show */
	uint64_t nr_records; /* nr_gpu_records when CUPTI came */
} p;

bool sonde_presence__hold(void)
{
	uint32_t state;

	atomic_fetch_add(&p.nr_held, 1);
	state = atomic_load(&p.state);
	if (state == THERE || state == LEAVING)
		return true;
	atomic_fetch_sub(&p.nr_held, 1);
	return false;
}

void sonde_presence__release(void)
{
	atomic_fetch_sub(&p.nr_held, 1);
}

void sonde_presence__stay(void)
{
	uint32_t leaving = LEAVING;

	if (likely(atomic_load_explicit(&p.stays, memory_order_relaxed)))
		return;
	atomic_store(&p.stays, true);
	atomic_compare_exchange_strong(&p.state, &leaving, THERE);
}

/* CUPTI's correlation ids start over when it comes back. Ours go on, so we add the highest id so far to later ones. */
static void count_ids_on(void)
{
	struct inject *g = &sonde_inject;
	uint32_t i, id, nr = atomic_load(&g->nr_used), base = atomic_load(&g->id_base), most = 0;

	for (i = 0; i < nr && i < MAX_THREADS; i++) {
		id = atomic_load_explicit(&g->threads[i].launched, memory_order_relaxed) - base;
		most = id > most && id < UINT32_MAX / 2 ? id : most;
	}
	atomic_store(&g->id_base, base + most);
}

static void charge_slow(void)
{
	sonde_budget__charge(atomic_exchange(&p.nr_slow, 0) * SLOW_NS);
}

/* For launches between windows where CUPTI stays: a longer pause does not save their cost, so no pause pays for it. */
static void bear_slow(void)
{
	sonde_budget__bear(atomic_exchange(&p.nr_slow, 0) * SLOW_NS);
}

void sonde_presence__end_call(bool is_kernel)
{
	uint64_t before;
	uint32_t leaving = LEAVING;

	if (is_kernel)
		count(&p.nr_slow);
	if (atomic_load_explicit(&p.state, memory_order_relaxed) != LEAVING ||
		!atomic_compare_exchange_strong(&p.state, &leaving, BUSY))
		return;
	if (atomic_load(&p.nr_held) || atomic_load(&p.stays)) {
		atomic_store(&p.state, atomic_load(&p.stays) ? THERE : LEAVING);
		return;
	}
	before = sonde_now_ns();
	sonde_cupti.cuptiFinalize();
	sonde_cupti.subscriber = NULL;
	count_ids_on();
	sonde_budget__charge(sonde_now_ns() - before);
	charge_slow();
	atomic_store(&p.state, ABSENT);
}

/* --- the holder of the windows' baton ------------------------------------------------------------ */

/*
 * WINDOW_PROFILER needs CUPTI there, since only CUPTI sees the call of cudaProfilerStart. WINDOW_RANGE needs CUPTI there
 * unless there is a budget: then the range may wait for CUPTI to come, and the budget pays for that.
 */
bool sonde_presence__is_kept(void)
{
	unsigned kind = sonde_inject.config.window.kind;

	return kind == WINDOW_PROFILER || (kind == WINDOW_RANGE && !sonde_inject.config.budget_ppm);
}

static bool may_leave(void)
{
	return sonde_cupti.version >= RETURNS && !sonde_presence__is_kept() &&
	       !atomic_load(&p.stays);
}

void sonde_presence__begin(void)
{
	atomic_store(&p.state, THERE);
}

/* Resets the counts of records when CUPTI comes: no thread is in a callback, and CUPTI owes nothing yet. */
static void begin_account(void)
{
	struct inject *g = &sonde_inject;

	p.nr_records = atomic_load(&g->nr_gpu_records);
	atomic_store(&g->records.kernels, 0);
	atomic_store(&g->records.others, 0);
	atomic_store(&g->records.owed_kernels, 0);
	atomic_store(&g->records.perhaps_others, 0);
}

bool sonde_presence__come(void)
{
	uint64_t before = sonde_now_ns();
	uint32_t state = LEAVING;

	if (atomic_exchange(&p.is_idle, false) || atomic_load(&p.state) == LEAVING)
		charge_slow();
	else
		bear_slow();
	if (atomic_compare_exchange_strong(&p.state, &state, THERE))
		return true;
	while ((state = atomic_load(&p.state)) == BUSY)
		sonde_futex__wait(&p.state, BUSY, 1);
	if (state == ABSENT) {
		begin_account();
		state = sonde_cupti__begin_again() ? THERE : REFUSED;
		atomic_store(&p.state, state);
		sonde_budget__charge(sonde_now_ns() - before);
	}
	return state == THERE;
}

/*
 * CUPTI has no times for graphs that run when records are switched off. So where there may be graphs, records go on after a
 * window has closed, until work that began after the closing was recorded.
 */
bool sonde_presence__lingers(void)
{
	return atomic_load(&p.stays);
}

void sonde_presence__go(void)
{
	uint64_t gpu_ns = UINT64_MAX;

	if (!may_leave() && !sonde_presence__lingers())
		return;
	sonde_cupti.cuptiGetTimestamp(&gpu_ns);
	atomic_store(&p.gpu_off_ns, gpu_ns);
	atomic_store(&p.off_ns, sonde_now_ns());
	atomic_store(&p.nr_slow, 0);
	atomic_store(&p.is_idle, true);
}

/* --- the collector ------------------------------------------------------------------------------- */

/* Whether records are still to come. Not every copy has a record: if nothing comes for a while, the missing ones have none. */
static bool owes_records(uint64_t now)
{
	const struct inject *g = &sonde_inject;
	uint64_t quiet = p.quiet_ns < now ? now - p.quiet_ns : 0;

	return atomic_load(&g->records.kernels) < atomic_load(&g->records.owed_kernels) ||
	       (atomic_load(&g->records.others) < atomic_load(&g->records.perhaps_others) &&
		       quiet < QUIET_NS);
}

/* Asks CUPTI for records. False while more may come. */
static bool fetch_rest(uint64_t now)
{
	uint64_t nr, off = atomic_load(&p.off_ns);

	sonde_cupti.cuptiActivityFlushAll(0);
	nr = atomic_load(&sonde_inject.nr_gpu_records);
	if (nr != p.nr_looked || p.quiet_ns < off)
		p.quiet_ns = now;
	p.nr_looked = nr;
	p.looked_ns = now;
	if (sonde_presence__lingers())
		return now - off > LATE_NS ||
		       atomic_load(&sonde_inject.latest_ns) > atomic_load(&p.gpu_off_ns);
	if (owes_records(now))
		return atomic_load(&p.stays);
	sonde_cupti__stamp();
	return true;
}

/* We may end CUPTI only if its records come to us. */
static bool should_leave(void)
{
	return may_leave() && (atomic_load(&sonde_inject.nr_gpu_records) != p.nr_records ||
				      sonde_cupti__is_ours());
}

/*
 * The time between two looks grows: records that did not come for a second need not be asked for a hundred times in the
 * next second.
 */
static uint64_t round_ns(uint64_t now)
{
	return ROUND_NS + (now - atomic_load(&p.off_ns)) / 8;
}

uint64_t sonde_presence__update(void)
{
	uint64_t now = sonde_now_ns();
	uint32_t there = THERE;
	bool is_done;

	if (!atomic_load(&p.is_idle))
		return UINT64_MAX;
	if (now - p.looked_ns < round_ns(now) || !sonde_presence__hold())
		return ROUND_NS / 1000;
	is_done = fetch_rest(now);
	is_done = is_done && sonde_window__end_records();
	if (is_done)
		charge_slow(); /* records went on until now, so the slow launches are a cost of the window */
	if (is_done && atomic_exchange(&p.is_idle, false) && should_leave())
		atomic_compare_exchange_strong(&p.state, &there, LEAVING);
	sonde_presence__release();
	return is_done ? UINT64_MAX : ROUND_NS / 1000;
}

bool sonde_presence__is_settled(void)
{
	return !atomic_load(&p.is_idle);
}
