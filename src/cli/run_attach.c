#include "base/clock.h"
#include "cli/run_int.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEVICES	   "CUDA_VISIBLE_DEVICES"
#define TICK_MS	   50
#define PATIENCE_NS 3000000000u	 /* after so long without an NVTX call, the user is told what sonde waits for … */
#define GIVE_UP_NS 10000000000u /* … and after so long, or --for if that is longer, sonde gives up */
#define REST_NS	   15000000000u /* most time for the program to write the rest */

int sonde_run_attach_check(const struct sonde_run *r, struct sonde_err *err)
{
	static const char *const stages[] = {"Nsight Compute", "Nsight Systems", "torch.profiler"};
	const bool is_on[] = {r->set.ncu_enable, r->set.nsys_enable, r->set.torch_enable};
	size_t i;

	for (i = 0; i < sizeof(is_on) / sizeof(*is_on); i++)
		if (is_on[i])
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"attach: %s cannot be added to a running program: it must start the program itself. Leave it "
				"out, or start the program by `sonde run`",
				stages[i]);
	if (r->set.modules && strcmp(r->set.modules, "off") != 0)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"attach: --modules cannot be added to a running program: Python loads it when it starts. Start the "
			"program by `sonde run --modules`, or put ranges into it");
	if (r->set.native_pc_exponent)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"attach: pipeline.native.pc (--lines) cannot be added to a running program: CUPTI must sample a CUDA "
			"context from its beginning. Start the program by `sonde run --lines`");
	if (r->set.window.kind == SONDE_WINDOW_CTL || r->set.window.kind == SONDE_WINDOW_SIGNAL)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"attach: capture.window=%s is for `sonde run`: here the window opens when the program is awake, and "
			"--for or Ctrl-C closes it",
			r->set.window_text);
	if (!r->set.native_enable)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"attach: with pipeline.native.enable=false there is nothing to capture: leave it out");
	return 0;
}

static bool has_word(struct sonde_str list, struct sonde_str word)
{
	while (list.n)
		if (sonde_str_eq(sonde_str_cut(list, ',', &list), word))
			return true;
	return false;
}

/*
 * The sampler beside the sleepers sees all devices that any of them sees. A sleeper without the variable sees all
 * devices, and then so does the sampler: a word without a value removes our own variable.
 */
void sonde_run_attach_env(const struct sonde_run *r, struct sonde_argv *env)
{
	const struct sonde_sleepers *s = r->request.attach->sleepers;
	struct sonde_buf all = {0}, one = {0};
	struct sonde_str rest, word;
	bool is_limited = true;
	size_t i;

	for (i = 0; i < s->all.nr && is_limited; i++) {
		sonde_buf_clear(&one);
		is_limited = sonde_sleeper_variable(&s->all.at[i], DEVICES, &one);
		for (rest = sonde_buf_view(&one); rest.n;) {
			word = sonde_str_cut(rest, ',', &rest);
			if (has_word(sonde_buf_view(&all), word))
				continue;
			sonde_buf_puts(&all, all.n ? "," : "");
			sonde_buf_str(&all, word);
		}
	}
	sonde_argv_printf(env, is_limited ? DEVICES "=%s" : DEVICES, all.p ? all.p : "");
	env->failed |= all.failed || one.failed;
	sonde_buf_release(&all);
	sonde_buf_release(&one);
}

/* --- signals ------------------------------------------------------------------------------------- */

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

/* From here on Ctrl-C ends the capture. After restore_signals it ends sonde, in case the report takes too long. */
struct signals {
	struct sigaction before[3];
};
static const int ending_signals[3] = {SIGINT, SIGTERM, SIGHUP};

static void catch_signals(struct signals *s)
{
	const struct sigaction by = {.sa_handler = interrupt};
	size_t i;

	is_interrupted = 0;
	for (i = 0; i < 3; i++) {
		sigaction(ending_signals[i], NULL, &s->before[i]);
		if (ending_signals[i] != SIGHUP || s->before[i].sa_handler != SIG_IGN) /* nohup */
			sigaction(ending_signals[i], &by, NULL);
	}
}

static void restore_signals(const struct signals *s)
{
	size_t i;

	for (i = 0; i < 3; i++)
		sigaction(ending_signals[i], &s->before[i], NULL);
}

/* --- one capture --------------------------------------------------------------------------------- */

/* How many sleepers are in which state. */
struct sleeper_counts {
	size_t nr_called, nr_awake; /* at this moment … */
	size_t nr_woken;            /* … and at any time so far */
};

struct watch {
	struct sonde_run *run;
	struct sonde_sleepers *all;
	const struct sonde_child_spec *spec;
	bool *is_called, *was_awake, *is_gone; /* one flag for each sleeper */
	uint64_t called_ns, awake_ns;	       /* when all were called, when the first woke; 0 = not yet */
	bool has_told;
};

static struct sleeper_counts poll_sleepers(struct watch *w)
{
	struct sleeper_counts a = {0};
	size_t i;

	for (i = 0; i < w->all->all.nr; i++) {
		struct sonde_sleeper *s = &w->all->all.at[i];
		enum sonde_phase phase;

		if (!w->is_called[i])
			continue;
		w->is_gone[i] |= sonde_sleeper_is_gone(s);
		phase = w->is_gone[i] ? SONDE_PHASE_ASLEEP : sonde_sleeper_beat(s);
		w->was_awake[i] |= phase >= SONDE_PHASE_AWAKE;
		a.nr_called += phase == SONDE_PHASE_CALLED;
		a.nr_awake += phase > SONDE_PHASE_CALLED;
		/* A sleeper that was awake only between two looks has captured, too. */
		w->was_awake[i] |= phase == SONDE_PHASE_ASLEEP && atomic_load(&s->page->nr_wakes) != s->nr_wakes;
		a.nr_woken += w->was_awake[i];
	}
	return a;
}

static void say_awake(const struct watch *w, const struct sleeper_counts *a)
{
	const struct sonde_sleeper *first = &w->all->all.at[0];
	double seconds = (double)w->run->request.attach->for_ns / 1e9;
	char who[96];

	if (w->run->request.is_quiet)
		return;
	if (w->all->all.nr == 1)
		snprintf(who, sizeof(who), "%s (%d) is awake", first->name, (int)first->pid);
	else
		snprintf(who, sizeof(who), "%zu of %zu processes are awake", a->nr_woken, w->all->all.nr);
	if (seconds > 0)
		sonde_say("%s, captured for %g s; Ctrl-C ends that sooner", who, seconds);
	else
		sonde_say("%s, captured until its window (%s) is over; Ctrl-C ends that sooner", who,
			w->run->set.window_text ? w->run->set.window_text : "all");
}

static void say_waiting(struct watch *w)
{
	const struct sonde_sleeper *first = &w->all->all.at[0];

	if (w->has_told)
		return;
	w->has_told = true;
	sonde_say("%s (%d) has made no NVTX call for %u s, and can only wake at one: still waiting", first->name,
		(int)first->pid, PATIENCE_NS / 1000000000u);
}

/* Whether to go on waiting or capturing. */
static bool goes_on(struct watch *w)
{
	const uint64_t for_ns = w->run->request.attach->for_ns, patience = for_ns > GIVE_UP_NS ? for_ns : GIVE_UP_NS;
	struct sleeper_counts a = poll_sleepers(w);
	uint64_t now = sonde_now_ns();

	if (a.nr_woken && !w->awake_ns) {
		w->awake_ns = now;
		say_awake(w, &a);
	}
	if (!a.nr_called && !a.nr_awake)
		return false;
	if (!a.nr_woken && a.nr_called && now - w->called_ns > PATIENCE_NS)
		say_waiting(w);
	if (is_interrupted || (!a.nr_woken && !a.nr_awake && now - w->called_ns > patience))
		return false;
	return !w->awake_ns || !for_ns || now - w->awake_ns < for_ns;
}

static void pause_for(const struct watch *w, unsigned ms)
{
	const struct timespec step = {.tv_nsec = (long)ms * 1000000L};

	if (w->spec->tick)
		w->spec->tick(w->spec->of);
	nanosleep(&step, NULL);
}

/* Lets the sleepers sleep again, and waits until they have written everything. */
static void put_to_sleep(struct watch *w)
{
	uint64_t until = sonde_now_ns() + REST_NS;
	size_t i;

	for (i = 0; i < w->all->all.nr; i++)
		if (w->is_called[i])
			sonde_sleeper_rest(&w->all->all.at[i]);
	while (poll_sleepers(w).nr_awake && sonde_now_ns() < until)
		pause_for(w, 5);
}

/* Says what became of a sleeper whose capture is missing or not whole. */
static void say_end(struct watch *w, size_t i)
{
	const struct sonde_sleeper *s = &w->all->all.at[i];
	double seconds = w->awake_ns ? (double)(sonde_now_ns() - w->awake_ns) / 1e9 : 0;
	unsigned refusal = w->is_called[i] ? atomic_load(&s->page->refusal) : 0;
	bool has_cuda = w->is_called[i] && atomic_load(&s->page->has_cuda);

	if (w->is_gone[i] && w->was_awake[i]) {
		sonde_say("%s (%d) ended while it was captured: the report has what it did until then", s->name, (int)s->pid);
		sonde_note(&w->run->notes, "the program ended %.1f s after it was woken: this report has what it did until then", seconds);
	} else if (w->is_gone[i]) {
		sonde_say("%s (%d) ended before it woke: nothing of it was captured", s->name, (int)s->pid);
	} else if (refusal && !w->was_awake[i]) {
		sonde_say("%s (%d) could not wake (%s): it goes on as before. Its capture would have been in %s", s->name,
			(int)s->pid, strerror((int)refusal), s->there);
	} else if (!w->was_awake[i]) {
		sonde_say("%s (%d) made no NVTX call, and only such a call wakes it%s: give it a range per step, or start it with "
			  "`eval \"$(sonde env --thread)\"`, which needs none",
			s->name, (int)s->pid, has_cuda ? "" : " (nor has it used CUDA)");
	} else {
		return;
	}
	w->run->has_failed = true;
}

static int call_all(struct watch *w, const struct sonde_native_request *q, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < w->all->all.nr && rc == 0; i++)
		rc = sonde_sleeper_place(&w->all->all.at[i], q, err);
	for (i = 0; i < w->all->all.nr && rc == 0; i++) {
		uint64_t until = sonde_now_ns() + REST_NS;

		/* A sleeper may still be falling asleep, after an attach that was killed. */
		while (!(w->is_called[i] = sonde_sleeper_call(&w->all->all.at[i])) && !is_interrupted &&
			sonde_now_ns() < until && !(w->is_gone[i] = sonde_sleeper_is_gone(&w->all->all.at[i]))) {
			poll_sleepers(w); /* the sleepers that were called before still need a beat */
			pause_for(w, TICK_MS);
		}
	}
	w->called_ns = sonde_now_ns();
	return rc;
}

static void fetch_all(struct watch *w, const struct sonde_native_request *q)
{
	struct sonde_err why = {0};
	char fault[512];
	size_t i;

	for (i = 0; i < w->all->all.nr; i++) {
		struct sonde_sleeper *s = &w->all->all.at[i];

		if (sonde_sleeper_fault(s, fault, sizeof(fault)))
			sonde_say("%s", fault);
		if (sonde_sleeper_fetch(s, q->dir, &why))
			sonde_say("%s", why.msg);
	}
}

int sonde_run_attached(struct sonde_child_end *end, struct sonde_run *r, const struct sonde_child_spec *spec,
	const struct sonde_native_request *q, struct sonde_err *err)
{
	size_t nr = r->request.attach->sleepers->all.nr, i;
	bool *flags = sonde_arena_alloc(&r->arena, 3 * nr * sizeof(*flags));
	struct watch w = {.run = r, .all = r->request.attach->sleepers, .spec = spec};
	struct signals signals;
	int rc;

	if (!flags)
		return sonde_err_nomem(err);
	memset(flags, 0, 3 * nr * sizeof(*flags));
	w.is_called = flags;
	w.was_awake = flags + nr;
	w.is_gone = flags + 2 * nr;
	catch_signals(&signals);
	rc = call_all(&w, q, err);
	while (rc == 0 && goes_on(&w))
		pause_for(&w, TICK_MS);
	put_to_sleep(&w);
	end->is_interrupted = is_interrupted;
	restore_signals(&signals);
	sonde_native_settle(q->dir, q->runner);
	for (i = 0; rc == 0 && i < nr; i++)
		say_end(&w, i);
	fetch_all(&w, q);
	return rc;
}
