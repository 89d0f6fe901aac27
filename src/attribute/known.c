/*
 * Regions that somebody knows to be there: a look at the program saw their ranges. A report that
 * tells ranges by their launches alone has no entry of those without any.
 */
#include "attribute/launches_int.h"

#define MAX_DEPTH 512

/* The next part of an id, up to a plain `/` or `@`, escapes taken off into `out`; what ended it. */
static char next_part(struct sonde_str *rest, struct sonde_buf *out)
{
	char end = '\0';
	size_t i;

	sonde_buf_clear(out);
	for (i = 0; i < rest->n && !end; i++) {
		if (rest->p[i] == '\\' && i + 1 < rest->n)
			sonde_buf_putc(out, rest->p[++i]);
		else if (rest->p[i] == '/' || rest->p[i] == '@')
			end = rest->p[i];
		else
			sonde_buf_putc(out, rest->p[i]);
	}
	*rest = (struct sonde_str){rest->p + i, rest->n - i};
	return end;
}

/* Makes the stacks of one id in one process. Of a domain that the capture does not have there is no region. */
static int add_id(struct sonde_build *b, struct sonde_str id, uint32_t process, struct sonde_err *err)
{
	bool is_start_end = sonde_str_ends(id, "@@");
	enum sonde_region_kind kind = is_start_end ? SONDE_REGION_START_END : SONDE_REGION_PUSH_POP;
	uint32_t domain = SONDE_NONE, stack = SONDE_NONE;
	struct sonde_str rest = {id.p, id.n - (is_start_end ? 2 : 0)};
	struct sonde_buf part = {0};
	unsigned depth;
	int rc = 0;

	for (depth = 0; rc == 0 && depth < MAX_DEPTH; depth++) {
		char end = next_part(&rest, &part);
		uint32_t label;

		if (end == '@' && depth == 0) {
			domain = sonde_map_find(&b->r->strings, sonde_buf_view(&part));
			if (domain == SONDE_NONE)
				break;
			continue;
		}
		rc = sonde_build__rewrite(b, sonde_buf_view(&part), &label, err);
		if (rc)
			break;
		stack = stack == SONDE_NONE ? sonde_build__root(b, process, domain, label, kind)
					    : sonde_build__child(b, stack, label, kind);
		if (stack == SONDE_NONE || part.failed)
			rc = sonde_err_nomem(err);
		if (end != '/')
			break;
	}
	if (rc == 0 && stack != SONDE_NONE && !sonde_vec_put(&b->known, (struct sonde_known){stack, process}))
		rc = sonde_err_nomem(err);
	sonde_buf_release(&part);
	return rc;
}

int sonde_build__known(struct sonde_build *b, struct sonde_err *err)
{
	const struct sonde_words ids = b->l->selection.known;
	uint32_t process;
	size_t i;
	int rc = 0;

	for (process = 0; process < b->r->processes.nr; process++)
		for (i = 0; i < ids.nr && rc == 0; i++)
			rc = add_id(b, sonde_str_from(ids.at[i]), process, err);
	return rc;
}
