/*
 * Folded stacks: one line per region with something of its own,
 * `step;prefill;attn 27392`, as flame-graph tools read them.
 */
#include "base/escape.h"
#include "export/format.h"
#include "base/number.h"
#include "export/weight.h"

#include <math.h>

/* The stack of a node, outermost first: `path` holds the escaped frames of its ancestors. */
struct stack {
	struct sonde_buf path;
	struct sonde_buf name;
	SONDE_VEC(size_t) lengths; /* of `path` before each depth */
};

static bool push(struct stack *s, const struct sonde_tree *t, const struct sonde_node *n)
{
	if (n->depth < s->lengths.nr) {
		s->path.n = s->lengths.at[n->depth];
		s->lengths.nr = n->depth;
	}
	if (!sonde_vec_put(&s->lengths, s->path.n))
		return false;
	sonde_buf_clear(&s->name);
	sonde_frame_name(&s->name, t, n);
	if (s->path.n)
		sonde_buf_putc(&s->path, ';');
	sonde_escape_folded(&s->path, sonde_buf_view(&s->name));
	return !s->path.failed && !s->name.failed;
}

static int write_report(struct sonde_sink *to, const struct sonde_tree *t, const struct sonde_report *r,
	const char *by, struct sonde_err *err)
{
	struct sonde_weights w;
	struct stack s = {0};
	char number[SONDE_NUMBER_MAX];
	size_t i;
	int rc = sonde_weights_build(&w, t, r, by, err);

	if (rc)
		return rc;
	for (i = 0; i < r->nodes.nr && rc == 0; i++) {
		if (!push(&s, t, &r->nodes.at[i]))
			rc = sonde_err_nomem(err);
		if (rc || w.own[i] <= 0)
			continue;
		sonde_sink_str(to, sonde_buf_view(&s.path));
		sonde_sink_putc(to, ' ');
		sonde_sink_write(to, number, sonde_number_format(number, round(w.own[i])));
		sonde_sink_putc(to, '\n');
	}
	sonde_buf_release(&s.path);
	sonde_buf_release(&s.name);
	sonde_vec_release(&s.lengths);
	sonde_weights_release(&w);
	return rc;
}

int sonde_export_folded(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	const struct sonde_report *r = sonde_report_main(t, o);

	return r ? write_report(to, t, r, o->by, err) : 0;
}
