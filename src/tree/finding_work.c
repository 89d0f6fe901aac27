/*
 * Findings about busy time: work of the GPU that is not needed, or not in this way. No finding names a limiter unless
 * counters show it.
 */
#include "tree/findings_int.h"

#include "base/glob.h"
#include "catalogue/attributes.h"
#include "catalogue/stall_reasons.h"
#include "tree/hot_lines.h"
#include "tree/judge.h"
#include "tree/stall_profile.h"

#include <math.h>
#include <string.h>

#define TINY_NS	      5000 /* a kernel this short is mostly its start and its end */
#define MANY_KERNELS  30   /* per entry: fewer do not matter */
#define SMALL_BYTES   (256 << 10)
#define LEAST_PINNED  (16 << 10) /* bytes of a copy: for smaller copies it does not matter whether the memory is pinned */
#define MANY_COPIES   8	  /* per entry */
#define MOST_KERNELS  6	  /* at most this many of a region's longest kernels are examined */
#define BUSY_PCT      60.0 /* a part that is busier than that limits a kernel, whatever else does */
#define LEAST_KERNEL  0.1 /* share of the region's time: shorter kernels are not examined */
#define LEAST_STAKE   0.25 /* at least this share of a kernel's time is at stake: even a busy part can be given less work */
#define JUST_ABOVE_PEAK 100.5 /* %: this is no rounding any more, and nothing is busier than its peak */
#define FEW_WARPS_PCT 30
#define FEW_SMS_PCT   60
#define LONG_NAME     60 /* bytes; longer names are cut, because they are part of a sentence */
#define EVEN	      1.1 /* max ÷ mean of ranks: below this they have equally much work */

#define TIMES "sum of its launches"

static struct sonde_evidence count_of(uint32_t node, const char *figure, uint64_t nr)
{
	return (struct sonde_evidence){node, SONDE_NONE, sonde_str_from(figure), (double)nr, NAN, "", "counted"};
}

static double per_entry(const struct sonde_node *n, double nr)
{
	return n->instances ? nr / (double)n->instances : nr;
}

/* --- copies ------------------------------------------------------------------------------------- */

/*
 * The time of copies that no other work hides. How long launches ran beside each other is the sum of their times minus
 * their union.
 */
static double exposed_copies(const struct sonde_node *n)
{
	double hidden = n->time_ns - n->times.busy_ns;

	return n->copy_ns > 0 ? fmax(0, n->copy_ns - (hidden > 0 ? hidden : 0)) : 0;
}

static bool has_pageable(const struct sonde_finder *x, const struct sonde_node *n)
{
	double ns = 0;
	uint32_t i;

	for (i = n->first_kernel; i < n->first_kernel + n->nr_kernels; i++)
		if (sonde_str_glob(sonde_tree_str(x->t, x->r->kernels.at[i].name), SONDE_STR("*memcpy*pageable*")))
			ns += x->r->kernels.at[i].time_ns;
	return ns > n->copy_ns / 2;
}

/* Whether most of the copying is within or between GPUs. */
static bool is_on_device(const struct sonde_finder *x, const struct sonde_node *n)
{
	double ns = 0;
	uint32_t i;

	for (i = n->first_kernel; i < n->first_kernel + n->nr_kernels; i++) {
		const struct sonde_kernel *k = &x->r->kernels.at[i];

		if (sonde_kernel_is_copy(x->t, x->r, k) && !sonde_str_glob(sonde_tree_str(x->t, k->name), SONDE_STR("*Host*")))
			ns += k->time_ns;
	}
	return ns > n->copy_ns / 2;
}

static enum sonde_cause copies_cause(const struct sonde_finder *x, const struct sonde_node *n, double called_ns, double cost_ns)
{
	double bytes = n->copies ? n->copy_bytes / (double)n->copies : 0;

	if (bytes >= LEAST_PINNED && has_pageable(x, n))
		return SONDE_CAUSE_PAGEABLE;
	if (is_on_device(x, n))
		return SONDE_CAUSE_DEVICE_COPIES;
	if (bytes < SMALL_BYTES && per_entry(n, (double)n->copies) >= MANY_COPIES)
		return SONDE_CAUSE_SMALL_COPIES;
	return called_ns > cost_ns / 2 ? SONDE_CAUSE_COPY_CALL : SONDE_CAUSE_COPIES;
}

static void say_copies(struct sonde_buf *line, const struct sonde_node *n)
{
	double nr = per_entry(n, (double)n->copies), bytes = n->copy_bytes / (double)n->copies;
	bool is_large = bytes >= 1e9;

	sonde_buf_printf(line, nr == 1 ? ": one copy per entry, " : ": %.6g copies per entry, ", nr);
	sonde_buf_printf(line, "%.3g %s%s at %.3g GB/s", bytes / (is_large ? 1e9 : 1e6), is_large ? "GB" : "MB", nr == 1 ? "" : " each",
		n->copy_bytes / n->copy_ns);
}

/* Costs of copies: the time of those that nothing hides, and the time of their calls in which nothing ran. */
static void add_copies(struct sonde_finder *x)
{
	const struct sonde_node *top = &x->r->nodes.at[x->top], *n;
	size_t at = offsetof(struct sonde_node, times.idle_by) + SONDE_IDLE_COPY * sizeof(double);
	double called = sonde_node__at(top, at), copied = exposed_copies(top);
	uint32_t node = sonde_finder__descend(x, x->top, copied > called ? offsetof(struct sonde_node, copy_ns) : at);
	struct sonde_finding_cost cost;
	struct sonde_buf line = {0};
	struct sonde_finding *f;

	n = &x->r->nodes.at[node];
	called = sonde_node__at(n, at);
	copied = exposed_copies(n);
	if (called + copied <= 0)
		return;
	cost = (struct sonde_finding_cost){called + copied, (called * x->usual.idle[SONDE_IDLE_COPY] + copied * x->usual.gpu) / (called + copied)};
	f = sonde_finder__add(x, copies_cause(x, n, called, called + copied), node, cost);
	if (!f)
		return;
	sonde_finder__prove_ms(f, node, "copy_ms", n->copy_ns, TIMES);
	sonde_finder__prove_ms(f, node, "idle.copy_ms", n->times.idle_by[SONDE_IDLE_COPY], "no launch ran, and the host was in a copy call");
	sonde_finder__prove(f, count_of(node, "copy_count", n->copies));
	sonde_finder__prove(f, (struct sonde_evidence){node, SONDE_NONE, SONDE_STR("copy_bytes"), n->copy_bytes, NAN, "byte", "sum of its copies"});
	if (f->cause == SONDE_CAUSE_COPY_CALL) {
		sonde_buf_puts(&line, "the GPU was idle for ");
		sonde_finder__say_cost(x, &line, f);
		sonde_buf_printf(&line, ", because %s", sonde_causes[f->cause].why);
	} else {
		sonde_buf_printf(&line, "%s take ", sonde_causes[f->cause].why);
		sonde_finder__say_cost(x, &line, f);
	}
	if (n->copies && n->copy_bytes > 0)
		say_copies(&line, n);
	sonde_finder__keep(x, f, &line);
}

/* --- tiny kernels ------------------------------------------------------------------------------- */

static bool is_tiny(const struct sonde_kernel *k)
{
	return k->calls && k->time_ns < TINY_NS * (double)k->calls;
}

static bool is_kernel(const struct sonde_finder *x, const struct sonde_kernel *k)
{
	return !sonde_kernel_is_copy(x->t, x->r, k) && !sonde_kernel_communicates(sonde_tree_str(x->t, k->name));
}

/* The total time of the short kernels in a region, and their number in `*calls`. */
static double sum_tiny(const struct sonde_finder *x, const struct sonde_node *n, double *calls)
{
	double ns = 0;
	uint32_t i;

	*calls = 0;
	for (i = n->first_kernel; i < n->first_kernel + n->nr_kernels; i++)
		if (is_tiny(&x->r->kernels.at[i]) && is_kernel(x, &x->r->kernels.at[i])) {
			ns += x->r->kernels.at[i].time_ns;
			*calls += (double)x->r->kernels.at[i].calls;
		}
	return ns;
}

/* The innermost region that has most of the time of the short kernels, whatever other work the regions around it have. */
static uint32_t descend_to_tiny(const struct sonde_finder *x, uint32_t node)
{
	const struct sonde_node *nodes = x->r->nodes.at;
	double calls, ns = sum_tiny(x, &nodes[node], &calls), part;
	uint32_t i, from = node;

	for (i = from + 1; ns > 0 && i < x->r->nodes.nr && nodes[i].depth > nodes[from].depth; i++) {
		part = nodes[i].parent == node ? sum_tiny(x, &nodes[i], &calls) : 0;
		if (part >= SONDE_MOST_OF_TIME * ns) {
			node = i;
			ns = part;
		}
	}
	return node;
}

/* Many short kernels, and the gaps of the device between them. */
static void add_tiny(struct sonde_finder *x)
{
	uint32_t node = descend_to_tiny(x, x->top);
	const struct sonde_node *n = &x->r->nodes.at[node];
	double queued = sonde_node__at(n, offsetof(struct sonde_node, times.idle_by) + SONDE_IDLE_QUEUED * sizeof(double));
	double calls, ns = sum_tiny(x, n, &calls);
	struct sonde_buf line = {0};
	struct sonde_finding *f;
	double usual;

	if (per_entry(n, calls) < MANY_KERNELS)
		return;
	queued = queued < TINY_NS * calls ? queued : 0; /* longer gaps: the kernels wait for something else */
	usual = (ns * x->usual.gpu + queued * x->usual.idle[SONDE_IDLE_QUEUED]) / (ns + queued);
	f = sonde_finder__add(x, SONDE_CAUSE_TINY_KERNELS, node, (struct sonde_finding_cost){ns + queued, usual});
	if (!f)
		return;
	f->savable_ns = (ns / 2 + queued) * usual;
	sonde_finder__prove(f, count_of(node, "kernel_count", n->launches));
	sonde_finder__prove_ms(f, node, "total_ms", n->time_ns, TIMES);
	sonde_finder__prove_ms(f, node, "idle.queued_ms", n->times.idle_by[SONDE_IDLE_QUEUED],
		"no launch ran, and the next one was launched already");
	sonde_buf_printf(&line, "%.0f kernels per entry, of %.3g µs on average, take ", per_entry(n, calls), ns / calls / 1e3);
	sonde_finder__say_cost(x, &line, f);
	sonde_buf_printf(&line, ": %s", sonde_causes[f->cause].why);
	sonde_finder__keep(x, f, &line);
}

/* --- one kernel --------------------------------------------------------------------------------- */

/* Why neither the SMs nor the memory are busy, as far as the counters show. */
static enum sonde_cause latency_cause(const struct sonde_finder *x, uint64_t calls)
{
	double waves = sonde_figure_of(x->t, &x->figures, SONDE_ROLE_WAVES);
	double active = sonde_figure_of(x->t, &x->figures, SONDE_ROLE_SM_ACTIVE);
	double warps = sonde_figure_of(x->t, &x->figures, SONDE_ROLE_OCCUPANCY);
	uint32_t grid = sonde_tree_column(x->t, SONDE_STR(SONDE_METRIC_GRID));
	double blocks = grid == SONDE_NONE ? NAN : x->figures.at[grid].v / (double)calls; /* the figure is a sum over launches */

	if (isnan(waves) && blocks < x->nr_sms)
		return SONDE_CAUSE_WAVES; /* some SMs have no block at all */
	if (waves < 1 || (isnan(waves) && active < FEW_SMS_PCT))
		return SONDE_CAUSE_WAVES;
	return warps < FEW_WARPS_PCT ? SONDE_CAUSE_OCCUPANCY : SONDE_CAUSE_LATENCY;
}

static void prove_role(struct sonde_finder *x, struct sonde_finding *f, enum sonde_metric_role role)
{
	const struct sonde_role_metric *m = sonde_metric_roles[role].at;
	uint32_t column = SONDE_NONE;
	size_t i;

	for (i = 0; i < SONDE_ROLE_METRICS && m[i].name && column == SONDE_NONE; i++) {
		column = sonde_tree_column(x->t, sonde_str_from(m[i].name));
		if (column != SONDE_NONE && isnan(x->figures.at[column].v))
			column = SONDE_NONE;
	}
	if (column != SONDE_NONE)
		sonde_finder__prove_metric(x, f, column);
}

void sonde_finder__prove_metric(struct sonde_finder *x, struct sonde_finding *f, uint32_t column)
{
	const struct sonde_column *c = &x->t->columns.at[column];
	const struct sonde_figure *v = &x->figures.at[column];
	size_t i;

	for (i = 0; i < f->nr_evidence; i++)
		if (sonde_str_eq(f->evidence[i].figure, c->name))
			return;
	sonde_finder__prove(f, (struct sonde_evidence){f->node, f->kernel, c->name, v->v, v->error, c->unit, c->methods[v->method]});
}

/* The innermost region that has most of a kernel's time. Sets `*row` to the kernel's row there. */
static uint32_t descend_to_kernel(const struct sonde_finder *x, uint32_t node, uint32_t *row)
{
	const struct sonde_report *r = x->r;
	uint32_t i, k, from = node, name = r->kernels.at[*row].name;

	for (i = from + 1; i < r->nodes.nr && r->nodes.at[i].depth > r->nodes.at[from].depth; i++) {
		const struct sonde_node *n = &r->nodes.at[i];

		for (k = n->first_kernel; n->parent == node && k < n->first_kernel + n->nr_kernels; k++)
			if (r->kernels.at[k].name == name &&
				r->kernels.at[k].time_ns >= SONDE_MOST_OF_TIME * r->kernels.at[*row].time_ns) {
				node = i;
				*row = k;
				break;
			}
	}
	return node;
}

/* Appends "b.cu:17", without folders, because it is part of a sentence. */
static void say_line(struct sonde_buf *line, const struct sonde_cells *c, uint32_t at)
{
	sonde_buf_str(line, sonde_str_base(sonde_cells_str(c, c->lines.at[at].file)));
	sonde_buf_printf(line, ":%u", c->lines.at[at].line);
}

/*
 * Appends the line of the kernel at which warps wait most, and for what; without line tables only for what. Appends
 * nothing without PC samples.
 */
static void say_waits(struct sonde_finder *x, struct sonde_buf *line, uint32_t row)
{
	const struct sonde_cells *c = x->t->cells;
	struct sonde_stall_profile p = {0};
	struct sonde_hot_lines hot = {0};
	size_t i;

	x->failed |= !sonde_stall_profile_make(&p, x->t, x->r, SONDE_PART_KERNEL, row) ||
		     !sonde_hot_lines_make(&hot, x->t, x->r, SONDE_PART_KERNEL, row);
	for (i = 0; i < hot.at.nr && hot.at.at[i].reason == SONDE_NONE; i++)
		;
	if (i < hot.at.nr) {
		const struct sonde_hot_line *h = &hot.at.at[i];
		struct sonde_str reason = sonde_stall_reason_words(sonde_cells_str(c, c->stall_reasons.at[h->reason]));
		uint32_t outer = h->line;

		while (c->lines.at[outer].caller != SONDE_NONE)
			outer = c->lines.at[outer].caller;
		sonde_buf_printf(line, ". %.0f%% of its PC samples are at ", 100 * h->samples / hot.samples);
		say_line(line, c, h->line);
		sonde_buf_puts(line, outer != h->line ? ", inlined in " : "");
		if (outer != h->line)
			say_line(line, c, outer);
		sonde_buf_printf(line, ", mostly: %.*s", SONDE_STR_ARG(reason));
	} else if (p.at.nr) {
		sonde_buf_printf(line, ". %.0f%% of its PC samples: %.*s", 100 * p.at.at[0].share,
			SONDE_STR_ARG(sonde_stall_reason_words(p.at.at[0].name)));
	}
	sonde_hot_lines_release(&hot);
	sonde_stall_profile_release(&p);
}

/* Adds the number of PC samples of a kernel as evidence, if it has any. */
static void prove_samples(struct sonde_finder *x, struct sonde_finding *f, uint32_t row)
{
	struct sonde_stall_profile p = {0};

	x->failed |= !sonde_stall_profile_make(&p, x->t, x->r, SONDE_PART_KERNEL, row);
	if (p.at.nr)
		sonde_finder__prove(f, (struct sonde_evidence){f->node, f->kernel, SONDE_STR("stalls.samples"), p.samples, NAN, "", "PC samples"});
	sonde_stall_profile_release(&p);
}

static void say_kernel(struct sonde_finder *x, struct sonde_finding *f, const struct sonde_limiter *limit, uint32_t row)
{
	struct sonde_str name = sonde_tree_short_name(x->t, f->kernel);
	size_t nr = name.n > LONG_NAME ? LONG_NAME : name.n;
	double error = limit->word ? x->figures.at[limit->column].error : 0;
	struct sonde_buf line = {0};

	while (nr < name.n && nr && (name.p[nr] & 0xc0) == 0x80)
		nr--;
	sonde_buf_str(&line, (struct sonde_str){name.p, nr});
	sonde_buf_puts(&line, nr < name.n ? "... takes " : " takes ");
	sonde_finder__say_cost(x, &line, f);
	if (!limit->word)
		sonde_buf_puts(&line, "; what limits it is not known");
	else if (strcmp(limit->word, "latency") == 0)
		sonde_buf_printf(&line, ", limited by %s (the busiest part is at %.2g%% of its peak)", sonde_causes[f->cause].why, limit->pct);
	else if (limit->pct - (error > 0 ? error : 0) >= JUST_ABOVE_PEAK)
		sonde_buf_printf(&line, ", limited by %s, but at %.0f%% of peak, more than is possible: the counter or the clock is wrong",
			sonde_causes[f->cause].why, limit->pct);
	else
		sonde_buf_printf(&line, ", limited by %s, at %.0f%% of peak", sonde_causes[f->cause].why, limit->pct);
	if (limit->word && limit->lacks_caches && limit->pct < BUSY_PCT && f->cause != SONDE_CAUSE_WAVES && f->cause != SONDE_CAUSE_OCCUPANCY)
		sonde_buf_puts(&line, "; the caches were not counted and may be busier");
	if (!limit->word || strcmp(limit->word, "latency") == 0)
		say_waits(x, &line, row);
	sonde_finder__keep(x, f, &line);
}

/* Looks at one kernel of the examined region. */
static void add_kernel(struct sonde_finder *x, uint32_t row, bool is_longest)
{
	const struct sonde_kernel *k = &x->r->kernels.at[row];
	struct sonde_limiter limit;
	struct sonde_finding *f;
	enum sonde_cause cause;
	uint32_t node;

	node = descend_to_kernel(x, x->top, &row);
	sonde_tree_values(x->t, x->r, SONDE_PART_KERNEL, row, &x->figures);
	limit = sonde_limiter_find(x->t, &x->figures);
	cause = sonde_cause_of_limiter(limit.word);
	if (cause == SONDE_CAUSE_LATENCY)
		cause = latency_cause(x, x->r->kernels.at[row].calls);
	if (cause == SONDE_CAUSE_UNLIMITED && (!is_longest || x->r->kernels.at[row].time_ns < LEAST_KERNEL * x->out->run_ns))
		return; /* one such sentence is enough: for the longest kernel, if it takes long */
	f = sonde_finder__add(x, cause, node, (struct sonde_finding_cost){x->r->kernels.at[row].time_ns, x->usual.gpu});
	if (!f)
		return;
	f->kernel = k->name;
	f->savable_ns *= limit.word ? fmax(1 - limit.pct / 100, LEAST_STAKE) : 0;
	sonde_finder__prove(f, (struct sonde_evidence){node, f->kernel, SONDE_STR("total_ms"), f->run_ns / 1e6, NAN, "ms", TIMES});
	prove_samples(x, f, row);
	if (limit.word) {
		sonde_finder__prove_metric(x, f, limit.column);
		prove_role(x, f, SONDE_ROLE_SM);
		prove_role(x, f, SONDE_ROLE_MEMORY);
		prove_role(x, f, cause == SONDE_CAUSE_WAVES ? SONDE_ROLE_WAVES : SONDE_ROLE_OCCUPANCY);
	}
	say_kernel(x, f, &limit, row);
}

/* Looks at the longest kernels. Short ones in large numbers are left to add_tiny. */
static void add_kernels(struct sonde_finder *x)
{
	const struct sonde_node *n = &x->r->nodes.at[x->top];
	uint32_t i, nr = 0;

	for (i = n->first_kernel; i < n->first_kernel + n->nr_kernels && nr < MOST_KERNELS; i++) {
		const struct sonde_kernel *k = &x->r->kernels.at[i];

		if (!(k->time_ns >= LEAST_KERNEL * n->time_ns))
			break;
		if (!is_kernel(x, k) || (is_tiny(k) && per_entry(n, (double)k->calls) >= MANY_KERNELS))
			continue;
		add_kernel(x, i, nr++ == 0);
	}
}

/* --- ranks ---------------------------------------------------------------------------------------- */

/* The collectives of a region; NULL = no rank was compared there. */
static const struct sonde_region_row *find_collectives(const struct sonde_ranks *ranks, uint32_t region)
{
	size_t i;

	for (i = 0; i < ranks->regions.nr; i++)
		if (ranks->regions.at[i].region == region)
			return &ranks->regions.at[i];
	return NULL;
}

/* Whether a straggler is this rank, or its host is. */
static bool is_straggler(const struct sonde_ranks *ranks, const struct sonde_straggler *s, uint32_t rank)
{
	return s->rank == rank || (s->nr_ranks > 1 && sonde_str_eq(ranks->rows.at[s->rank].process->host, ranks->rows.at[rank].process->host));
}

/*
 * Says which rank the others waited for: the one that was last at most collectives of this region. If it is slow, the
 * sentence says why. A rank that is slow elsewhere is not to blame.
 */
static void say_last_rank(const struct sonde_finder *x, struct sonde_buf *line, uint32_t node)
{
	const struct sonde_ranks *ranks = x->t->ranks;
	const struct sonde_region_row *row = ranks ? find_collectives(ranks, x->r->nodes.at[node].region) : NULL;
	size_t i;

	if (!row || row->last == SONDE_NONE)
		return;
	if (2 * row->nr_last <= row->nr) {
		sonde_buf_puts(line, ". It was not always the same one");
		return;
	}
	for (i = 0; i < ranks->stragglers.nr; i++)
		if (is_straggler(ranks, &ranks->stragglers.at[i], row->last)) {
			sonde_buf_printf(line, ". %.*s", SONDE_STR_ARG(ranks->stragglers.at[i].sentence));
			return;
		}
	sonde_buf_printf(line, ". That was %.*s", SONDE_STR_ARG(sonde_rank_name(ranks, row->last)));
	if (row->nr > 1)
		sonde_buf_printf(line, ", %llu of %llu times", (unsigned long long)row->nr_last, (unsigned long long)row->nr);
}

/* How long ranks waited for the last one while nothing else ran. */
static double exposed_wait_ns(const struct sonde_node *n)
{
	return n->comm_wait_ns > 0 && n->times.exposed_ns > 0 ? fmin(n->comm_wait_ns, n->times.exposed_ns) : 0;
}

/* Communication: the time that ranks wait for the last one, and the rest that no kernel hides. */
static void add_communication(struct sonde_finder *x)
{
	size_t exposed_at = offsetof(struct sonde_node, times.exposed_ns);
	uint32_t node = sonde_finder__descend(x, x->top, offsetof(struct sonde_node, comm_wait_ns));
	const struct sonde_node *n = &x->r->nodes.at[node];
	struct sonde_buf line = {0};
	struct sonde_finding *f = sonde_finder__add(x, SONDE_CAUSE_LATE_RANK, node, (struct sonde_finding_cost){exposed_wait_ns(n), x->usual.gpu});

	if (f) {
		bool is_hidden = n->times.exposed_ns < n->comm_wait_ns;

		sonde_finder__prove_ms(f, node, "comm_wait_ms", n->comm_wait_ns, "starts of collectives on all ranks (docs/ranks.md)");
		if (is_hidden)
			sonde_finder__prove_ms(f, node, "exposed_comm_ms", n->times.exposed_ns, "NCCL kernels ran, and no other kernel");
		sonde_buf_puts(&line, "ranks waited ");
		sonde_finder__say_cost(x, &line, f);
		sonde_buf_printf(&line, " in collectives for the last rank%s", is_hidden ? " while nothing else ran" : "");
		say_last_rank(x, &line, node);
		sonde_finder__keep(x, f, &line);
	}
	node = sonde_finder__descend(x, x->top, exposed_at);
	n = &x->r->nodes.at[node];
	f = sonde_finder__add(x, SONDE_CAUSE_EXPOSED_COMM, node,
		(struct sonde_finding_cost){sonde_node__at(n, exposed_at) - exposed_wait_ns(n), x->usual.gpu});
	if (!f)
		return;
	line = (struct sonde_buf){0};
	sonde_finder__prove_ms(f, node, "exposed_comm_ms", x->r->nodes.at[node].times.exposed_ns, "NCCL kernels ran, and no other kernel");
	sonde_finder__prove_ms(f, node, "comm_ms", x->r->nodes.at[node].times.comm_ns, "NCCL kernels ran");
	sonde_buf_puts(&line, "communication takes ");
	sonde_finder__say_cost(x, &line, f);
	sonde_buf_puts(&line, " while no other kernel runs");
	sonde_finder__keep(x, f, &line);
}

/* Ranks whose kernels take longer than those of the others, which wait for them at the end. */
static void add_imbalance(struct sonde_finder *x)
{
	const struct sonde_node *top = &x->r->nodes.at[x->top], *n;
	uint32_t node = sonde_finder__descend(x, x->top, offsetof(struct sonde_node, scope_max_ns));
	struct sonde_finding_cost cost = {0, x->usual.gpu};
	const struct sonde_ranks *ranks = x->t->ranks;
	struct sonde_buf line = {0};
	struct sonde_finding *f;

	n = &x->r->nodes.at[node];
	if (!ranks || !x->r->is_aggregate || n->nr_scopes < 2 || !(n->imbalance >= EVEN) || top->comm_wait_ns > 0)
		return; /* captures that are not ranks of one job do not wait for each other; what waits in collectives is a late rank */
	cost.ns = (double)n->nr_scopes * n->scope_max_ns * (1 - 1 / n->imbalance);
	f = sonde_finder__add(x, SONDE_CAUSE_IMBALANCE, node, cost);
	if (!f)
		return;
	sonde_finder__prove(f, (struct sonde_evidence){node, SONDE_NONE, SONDE_STR("imbalance"), n->imbalance, NAN, "", "largest ÷ mean of the ranks"});
	sonde_buf_printf(&line, "the slowest rank has %.0f%% more work than the average: the others have nothing to do for ", 100 * (n->imbalance - 1));
	sonde_finder__say_cost(x, &line, f);
	if (ranks->stragglers.nr)
		sonde_buf_printf(&line, ". %.*s", SONDE_STR_ARG(ranks->stragglers.at[0].sentence));
	sonde_finder__keep(x, f, &line);
}

void sonde_finder__work(struct sonde_finder *x)
{
	add_copies(x);
	add_tiny(x);
	add_kernels(x);
	add_communication(x);
	add_imbalance(x);
}
