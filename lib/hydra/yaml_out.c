/* Writes values as YAML text, like PyYAML's emitter in block style with 80 columns. */
#include "hydra/yaml_out_int.h"

#include "hydra/pytext.h"

#include <math.h>
#include <string.h>

static void emit(struct hydra_emitter *e, const struct hydra_datum *n, bool in_map);

/* Writes a float as Python prints it, except that YAML needs a point in front of an exponent. */
static void write_float(struct sonde_buf *b, double f)
{
	const char *exponent;

	if (isnan(f) || isinf(f)) {
		sonde_buf_puts(b, isnan(f) ? ".nan" : f < 0 ? "-.inf" : ".inf");
		return;
	}
	hydra_pytext__float(b, f);
	exponent = b->failed || strchr(b->p, '.') ? NULL : strchr(b->p, 'e');
	if (exponent) {
		struct sonde_buf whole = {0};

		sonde_buf_printf(&whole, "%.*s.0%s", (int)(exponent - b->p), b->p, exponent);
		sonde_buf_release(b);
		*b = whole;
	}
}

static void emit_scalar(struct hydra_emitter *e, const struct hydra_datum *n, bool is_key)
{
	struct sonde_buf b = {0};
	int saved = e->indent;

	e->indent = e->indent < 0 ? 2 : e->indent + 2;
	if (n->kind == HYDRA_STRING) {
		hydra_emitter__string(e, n->s, is_key);
	} else {
		if (n->kind == HYDRA_NULL)
			sonde_buf_puts(&b, "null");
		else if (n->kind == HYDRA_BOOL)
			sonde_buf_puts(&b, n->b ? "true" : "false");
		else if (n->kind == HYDRA_INT)
			hydra_pytext__int(&b, n);
		else
			write_float(&b, n->f);
		hydra_emitter__plain(e, sonde_buf_view(&b), !is_key);
	}
	e->out->failed |= b.failed;
	sonde_buf_release(&b);
	e->indent = saved;
}

static void emit_map(struct hydra_emitter *e, const struct hydra_datum *n)
{
	int saved = e->indent;
	uint32_t i;

	e->indent = e->indent < 0 ? 0 : e->indent + 2;
	for (i = 0; i < n->seq.nr; i++) {
		const struct hydra_datum *child = n->seq.at[i];

		hydra_emitter__indent(e);
		if (hydra_emitter__is_simple_key(child->key)) {
			emit_scalar(e, child->key, true);
			hydra_emitter__put(e, ":", false, false);
		} else {
			hydra_emitter__put(e, "?", true, true);
			emit_scalar(e, child->key, false);
			hydra_emitter__indent(e);
			hydra_emitter__put(e, ":", true, true);
		}
		emit(e, child, true);
	}
	e->indent = saved;
}

static void emit_list(struct hydra_emitter *e, const struct hydra_datum *n, bool in_map)
{
	int saved = e->indent;
	uint32_t i;

	if (e->indent < 0)
		e->indent = 0;
	else if (!(in_map && !e->indention))
		e->indent += 2;
	for (i = 0; i < n->seq.nr; i++) {
		hydra_emitter__indent(e);
		hydra_emitter__put(e, "-", true, true);
		emit(e, n->seq.at[i], false);
	}
	e->indent = saved;
}

static void emit(struct hydra_emitter *e, const struct hydra_datum *n, bool in_map)
{
	if (!hydra_datum__is_container(n))
		emit_scalar(e, n, false);
	else if (n->seq.nr == 0)
		hydra_emitter__put(e, n->kind == HYDRA_MAP ? "{}" : "[]", true, false);
	else if (n->kind == HYDRA_MAP)
		emit_map(e, n);
	else
		emit_list(e, n, in_map);
}

void hydra_yaml__dump(struct sonde_buf *out, const struct hydra_datum *n)
{
	struct hydra_emitter e = {.out = out, .indent = -1, .whitespace = true, .indention = true};

	emit(&e, n, false);
	e.indent = -1;
	hydra_emitter__indent(&e);
}
