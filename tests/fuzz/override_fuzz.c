/*
 * Override lines of any bytes, one per line: parsed, expanded, written back as
 * text that must parse to the same value, and applied to a small config.
 */
#include "config/merge.h"
#include "config/yaml.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct sonde_ctx *cx, const struct sonde_override *o)
{
	struct sonde_override again;
	struct sonde_buf b = {0};

	sonde_buf_puts(&b, "k=");
	sonde_override__value_text(&b, o->value);
	if (sonde_override__parse(&again, cx, sonde_buf_view(&b)) == 0 && again.value &&
		o->value->kind == SONDE_STRING && again.value->kind == SONDE_STRING &&
		!sonde_str_eq(o->value->s, again.value->s))
		abort();
	sonde_ctx__clear(cx);
	sonde_buf_release(&b);
}

static void one_line(struct sonde_ctx *cx, struct sonde_datum *root, struct sonde_str line)
{
	struct sonde_lookup look = {.cx = cx};
	struct sonde_override o;
	struct sonde_err err;

	if (sonde_override__parse(&o, cx, line) == 0) {
		if (o.value && sonde_datum__is_sweep(o.value) && o.value->kind <= SONDE_RANGE)
			sonde_override__expand(cx, o.value);
		sonde_ctx__clear(cx);
		if (o.value && !sonde_datum__is_sweep(o.value))
			check_text(cx, &o);
		if (!sonde_datum__is_sweep(o.value) && sonde_apply__override(&look, root, &o) == 0)
			sonde_interp__resolve_tree(&look, sonde_datum__copy(cx, root));
	}
	sonde_ctx__report(cx, &err);
	sonde_ctx__clear(cx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sonde_from from = {.name = {"base.yaml", 9}};
	struct sonde_arena arena = {0};
	struct sonde_ctx cx = {.arena = &arena};
	struct sonde_str rest = {(const char *)data, size};
	struct sonde_datum *root;
	unsigned nr = 0;

	sonde_yaml__load(&root, &cx, &from,
		SONDE_STR("a: 1\nb: {c: [1, {d: x}], e: null}\nr: ${b.c}\nm: ???\nt: text\n"));
	while (rest.n && nr++ < 20 && root)
		one_line(&cx, root, sonde_str_cut(rest, '\n', &rest));
	sonde_arena_release(&arena);
	return 0;
}
