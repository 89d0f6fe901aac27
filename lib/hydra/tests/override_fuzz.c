/*
 * Fuzzes override lines: each line of the input is parsed, expanded, written back as
 * text that must parse to the same value, and applied to a small config.
 */
#include "hydra/merge.h"
#include "hydra/yaml.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct hydra_ctx *cx, const struct hydra_override *o)
{
	struct hydra_override again;
	struct sonde_buf b = {0};

	sonde_buf_puts(&b, "k=");
	hydra_override__value_text(&b, o->value);
	if (hydra_override__parse(&again, cx, sonde_buf_view(&b)) == 0 && again.value &&
		o->value->kind == HYDRA_STRING && again.value->kind == HYDRA_STRING &&
		!sonde_str_eq(o->value->s, again.value->s))
		abort();
	hydra_ctx__clear(cx);
	sonde_buf_release(&b);
}

static void one_line(struct hydra_ctx *cx, struct hydra_datum *root, struct sonde_str line)
{
	struct hydra_lookup look = {.cx = cx};
	struct hydra_override o;
	struct sonde_err err;

	if (hydra_override__parse(&o, cx, line) == 0) {
		if (o.value && hydra_datum__is_sweep(o.value) && o.value->kind <= HYDRA_RANGE)
			hydra_override__expand(cx, o.value);
		hydra_ctx__clear(cx);
		if (o.value && !hydra_datum__is_sweep(o.value))
			check_text(cx, &o);
		if (!hydra_datum__is_sweep(o.value) && hydra_apply__override(&look, root, &o) == 0)
			hydra_interp__resolve_tree(&look, hydra_datum__copy(cx, root));
	}
	hydra_ctx__report(cx, &err);
	hydra_ctx__clear(cx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hydra_from from = {.name = {"base.yaml", 9}};
	struct sonde_arena arena = {0};
	struct hydra_ctx cx = {.arena = &arena};
	struct sonde_str rest = {(const char *)data, size};
	struct hydra_datum *root;
	unsigned nr = 0;

	hydra_yaml__load(&root, &cx, &from,
		SONDE_STR("a: 1\nb: {c: [1, {d: x}], e: null}\nr: ${b.c}\nm: ???\nt: text\n"));
	while (rest.n && nr++ < 20 && root)
		one_line(&cx, root, sonde_str_cut(rest, '\n', &rest));
	sonde_arena_release(&arena);
	return 0;
}
