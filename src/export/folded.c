/*
 * Folded stacks, as flame-graph tools read them: one line per kernel in a region, `step;prefill;attn;gemm 27392`. If
 * kernels do not have the quantity (host time, entries, metrics), one line per region with something of its own.
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
	SONDE_VEC(size_t) lengths; /* length of `path` before each depth */
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

/* Writes a line: the stack, the kernel and its source line if there are any, and the number. */
static void write_line(struct sonde_sink *to, const struct sonde_tree *t, struct stack *s, const struct sonde_leaf *leaf)
{
	char number[SONDE_NUMBER_MAX];

	sonde_sink_str(to, sonde_buf_view(&s->path));
	if (leaf->kernel != SONDE_NONE) {
		sonde_buf_clear(&s->name);
		sonde_buf_putc(&s->name, ';');
		sonde_escape_folded(&s->name, sonde_tree_short_name(t, leaf->kernel));
		to->buf.failed |= s->name.failed;
		sonde_sink_str(to, sonde_buf_view(&s->name));
	}
	if (leaf->line != SONDE_NONE) {
		struct sonde_buf escaped = {0};

		sonde_buf_clear(&s->name);
		sonde_line_name(&s->name, t, leaf->line);
		sonde_escape_folded(&escaped, sonde_buf_view(&s->name));
		to->buf.failed |= s->name.failed || escaped.failed;
		sonde_sink_putc(to, ';');
		sonde_sink_str(to, sonde_buf_view(&escaped));
		sonde_buf_release(&escaped);
	}
	sonde_sink_putc(to, ' ');
	sonde_sink_write(to, number, sonde_number_format(number, round(leaf->v)));
	sonde_sink_putc(to, '\n');
}

static int write_report(struct sonde_sink *to, const struct sonde_tree *t, const struct sonde_report *r,
	const char *by, struct sonde_err *err)
{
	struct sonde_weights w;
	struct stack s = {0};
	size_t i, leaf = 0;
	int rc = sonde_weights_build(&w, t, r, by, err);

	if (rc)
		return rc;
	for (i = 0; i < r->nodes.nr && rc == 0; i++) {
		if (!push(&s, t, &r->nodes.at[i]))
			rc = sonde_err_nomem(err);
		for (; !rc && leaf < w.leaves.nr && w.leaves.at[leaf].node == i; leaf++)
			write_line(to, t, &s, &w.leaves.at[leaf]);
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
