/* NVTX expressions: from text to patterns, and whether the ranges open at a launch fit. */
#include "attribute/nvtx_expr_int.h"

#define MAX_ELEMS 256

/* A slice of an expression's characters. */
struct span {
	size_t from, to;
};

static bool is_default(struct sonde_str domain)
{
	return !domain.p || sonde_str_is(domain, "<default domain>");
}

/* The regular expression in `s`, its errors placed where the user wrote it. */
static int build_regex(struct sonde_pattern *out, struct sonde_pool *pool,
	const struct nvtx_text *t, struct span s, struct sonde_err *err)
{
	struct sonde_err why = {0};
	struct sonde_buf text = {0};
	size_t i;
	int rc;

	for (i = s.from; i < s.to; i++)
		sonde_buf_putc(&text, t->at[i].c);
	rc = text.failed ? SONDE_ERR_NOMEM
			 : sonde_pattern__regex(out, pool, sonde_buf_view(&text), &why);
	sonde_buf_release(&text);
	if (rc == SONDE_ERR_USAGE)
		return nvtx_bad(t, s.from + (size_t)why.pos, err, why.msg);
	return rc ? sonde_err_nomem(err) : 0;
}

/* Only in a label glob do * and ? stand for text. */
static int build_name(struct sonde_pattern *out, struct sonde_pool *pool, const struct nvtx_text *t,
	struct span s, struct sonde_err *err)
{
	bool globs = nvtx_is_label(t);
	uint16_t *glob;
	size_t i;

	if (t->is_regex)
		return build_regex(out, pool, t, s, err);
	glob = sonde_arena_calloc(&pool->arena, s.to - s.from, sizeof(*glob));
	if (!glob)
		return sonde_err_nomem(err);
	for (i = s.from; i < s.to; i++) {
		const struct nvtx_char *ch = &t->at[i];

		glob[i - s.from] = globs && ch->role == '*'   ? SONDE_GLOB_ANY
				   : globs && ch->role == '?' ? SONDE_GLOB_ONE
							      : (unsigned char)ch->c;
	}
	*out = (struct sonde_pattern){.glob = glob, .nr = s.to - s.from};
	return 0;
}

static int add_elem(struct nvtx_expr *e, struct sonde_pool *pool, const struct nvtx_text *t,
	struct span s, struct sonde_err *err)
{
	struct nvtx_elem *elem = &e->elems[e->nr];
	char role = s.to - s.from == 1 ? t->at[s.from].role : 0;

	if (e->nr == MAX_ELEMS)
		return nvtx_bad(t, s.from, err, "more elements than any stack has");
	if (e->kind == NVTX_STACK && (role == '*' || role == '+')) {
		elem->kind = (uint8_t)role;
		e->nr++;
		return 0;
	}
	if (e->kind != NVTX_LABEL && !t->is_regex) {
		size_t star = nvtx_find_role(t, s.from, "*");

		if (star < s.to)
			return nvtx_bad(t, star, err,
				"'*' in a name is no wildcard in Nsight's grammar: write \\* for "
				"the character, a plain glob without '/', or regex:");
	}
	e->nr++;
	return build_name(&elem->name, pool, t, s, err);
}

/* Puts the implied "anything" before and after a stack that is not anchored there. */
static int build_stack(struct nvtx_expr *e, struct sonde_pool *pool, const struct nvtx_text *t,
	struct span s, struct sonde_err *err)
{
	bool outermost = s.from < s.to && t->at[s.from].role == '[';
	bool innermost = s.from < s.to && t->at[s.to - 1].role == ']';
	size_t i, end, wrong;
	int rc = 0;

	s.from += outermost;
	s.to -= innermost && s.to > s.from;
	wrong = nvtx_find_role(t, s.from, "[],");
	if (wrong < s.to)
		return nvtx_bad(t, wrong, err,
			t->at[wrong].role == ','
				? "',' (start/end ranges) and '/' (push/pop ranges) do not mix"
				: "'[' belongs at the beginning, ']' at the end; \\ makes them "
				  "plain");
	if (!outermost)
		e->elems[e->nr++].kind = '*';
	for (i = s.from; i < s.to && rc == 0; i = end + 1) {
		end = nvtx_find_role(t, i, "/");
		end = end < s.to ? end : s.to;
		if (end == i)
			continue;
		rc = add_elem(e, pool, t, (struct span){i, end}, err);
		if (rc == 0 && e->nr == 1u + !outermost && e->elems[e->nr - 1].kind)
			return nvtx_bad(t, i, err,
				"'*' and '+' go between ranges: a range name must come first");
	}
	if (rc == 0 && e->nr == !outermost)
		return nvtx_bad(t, s.from, err, "no range name");
	if (rc == 0 && !innermost)
		e->elems[e->nr++].kind = '*';
	return rc;
}

static int build_list(struct nvtx_expr *e, struct sonde_pool *pool, const struct nvtx_text *t,
	struct span s, struct sonde_err *err)
{
	size_t i, end;
	int rc = 0;

	for (i = s.from; i <= s.to && rc == 0; i = end + 1) {
		end = nvtx_find_role(t, i, ",");
		end = end < s.to ? end : s.to;
		if (end == i)
			return nvtx_bad(t, i, err, "no range name");
		rc = add_elem(e, pool, t, (struct span){i, end}, err);
	}
	return rc;
}

static int build_label(struct nvtx_expr *e, struct sonde_pool *pool, const struct nvtx_text *t,
	size_t at, struct sonde_err *err)
{
	int rc = build_name(&e->label, pool, t, (struct span){0, t->nr}, err);

	e->kind = NVTX_LABEL;
	e->has_domain = at > 0 && at + 1 < t->nr; /* `@x` and `x@` are labels and nothing else */
	if (rc || !e->has_domain)
		return rc;
	rc = build_name(&e->domain, pool, t, (struct span){0, at}, err);
	return rc ? rc : add_elem(e, pool, t, (struct span){at + 1, t->nr}, err);
}

/* At most: what the separators divide, and an implied '*' on either side. */
static size_t count_elems(const struct nvtx_text *t)
{
	size_t nr = 3, i;

	for (i = nvtx_find_role(t, 0, "/,"); i < t->nr; i = nvtx_find_role(t, i + 1, "/,"))
		nr++;
	return nr;
}

int nvtx_expr_build(struct nvtx_expr *out, struct sonde_pool *pool, struct sonde_str item,
	struct sonde_err *err)
{
	struct nvtx_text t;
	struct span s = {0, 0};
	size_t at;
	int rc = nvtx_lex(&t, pool, item, err);

	*out = (struct nvtx_expr){0};
	if (rc)
		return rc;
	out->elems = sonde_arena_calloc(&pool->arena, count_elems(&t), sizeof(*out->elems));
	if (!out->elems)
		return sonde_err_nomem(err);
	at = nvtx_find_role(&t, 0, "@");
	if (nvtx_is_label(&t))
		return build_label(out, pool, &t, at, err);
	s.to = t.nr;
	if (at < t.nr) {
		if (at == 0)
			return nvtx_bad(&t, 0, err, "no domain before '@'");
		rc = build_name(&out->domain, pool, &t, (struct span){0, at}, err);
		out->has_domain = true;
		s.from = at + 1;
	}
	if (rc)
		return rc;
	out->kind = nvtx_find_role(&t, s.from, "/[]") < t.nr ? NVTX_STACK : NVTX_LIST;
	return out->kind == NVTX_STACK ? build_stack(out, pool, &t, s, err)
				       : build_list(out, pool, &t, s, err);
}

static bool domain_fits(const struct nvtx_expr *e, struct sonde_str domain)
{
	if (!e->has_domain)
		return is_default(domain);
	return sonde_pattern__takes(
		&e->domain, is_default(domain) ? SONDE_STR("<default domain>") : domain);
}

/* As in a glob: only the last '*' ever has to be reconsidered. */
static bool stack_fits(const struct nvtx_expr *e, const struct sonde_open_stack *stack)
{
	size_t k = 0, i = 0, star = SIZE_MAX, star_i = 0;

	while (i < stack->nr || k < e->nr) {
		const struct nvtx_elem *elem = k < e->nr ? &e->elems[k] : NULL;

		if (elem && elem->kind == '*') {
			star = k++;
			star_i = i;
		} else if (elem && i < stack->nr &&
			   (elem->kind == '+' ||
				   sonde_pattern__takes(&elem->name, stack->labels[i]))) {
			k++;
			i++;
		} else if (star != SIZE_MAX && star_i < stack->nr) {
			k = star + 1;
			i = ++star_i;
		} else {
			return false;
		}
	}
	return true;
}

static bool list_fits(const struct nvtx_expr *e, const struct sonde_open_ranges *open)
{
	size_t k, i;

	for (k = 0; k < e->nr; k++) {
		for (i = 0; i < open->nr_starts; i++)
			if (domain_fits(e, open->starts[i].domain) &&
				sonde_pattern__takes(&e->elems[k].name, open->starts[i].label))
				break;
		if (i == open->nr_starts)
			return false;
	}
	return true;
}

static bool label_fits(const struct nvtx_expr *e, struct sonde_str domain, struct sonde_str label)
{
	return sonde_pattern__takes(&e->label, label) ||
	       (e->has_domain && sonde_pattern__takes(&e->elems[0].name, label) &&
		       domain_fits(e, domain));
}

static bool any_label_fits(const struct nvtx_expr *e, const struct sonde_open_ranges *open)
{
	size_t i, k;

	for (i = 0; i < open->nr_stacks; i++)
		for (k = 0; k < open->stacks[i].nr; k++)
			if (label_fits(e, open->stacks[i].domain, open->stacks[i].labels[k]))
				return true;
	for (i = 0; i < open->nr_starts; i++)
		if (label_fits(e, open->starts[i].domain, open->starts[i].label))
			return true;
	return false;
}

bool nvtx_expr_takes(const struct nvtx_expr *e, const struct sonde_open_ranges *open)
{
	size_t i;

	if (e->kind == NVTX_LABEL)
		return any_label_fits(e, open);
	if (e->kind == NVTX_LIST)
		return list_fits(e, open);
	for (i = 0; i < open->nr_stacks; i++)
		if (domain_fits(e, open->stacks[i].domain) && stack_fits(e, &open->stacks[i]))
			return true;
	return false;
}

bool nvtx_expr_names(const struct nvtx_expr *e, struct sonde_str label)
{
	size_t k;

	if (e->kind == NVTX_LABEL && sonde_pattern__takes(&e->label, label))
		return true;
	for (k = 0; k < e->nr; k++)
		if (!e->elems[k].kind && sonde_pattern__takes(&e->elems[k].name, label))
			return true;
	return false;
}
