/*
 * Fuzzes config files: the input is loaded, composed as the only file, resolved,
 * written out and read back.
 */
#include "hydra/compose.h"
#include "hydra/yaml.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Written text must read back as the same value. */
static void check_round_trip(struct hydra_ctx *cx, const struct hydra_datum *n)
{
	static const struct hydra_from from = {.name = {"again.yaml", 10}};
	struct sonde_buf b = {0};
	struct hydra_datum *again;

	hydra_yaml__dump(&b, n);
	if (hydra_yaml__load(&again, cx, &from, sonde_buf_view(&b)) == 0 && n->seq.nr &&
		again->kind != n->kind)
		abort();
	sonde_buf_release(&b);
}

static void compose(struct hydra_ctx *cx, struct hydra_datum *config, struct hydra_datum *defaults)
{
	struct hydra_compose c = {.cx = cx, .name = SONDE_STR("fuzz"), .job_name = "fuzz"};
	struct hydra_loaded file = {.config = config, .defaults = defaults, .found = true};
	struct hydra_from from = {.name = {"fuzz.yaml", 9}};
	struct hydra_loaded **slot;
	struct hydra_lookup look;

	c.search.cx = cx;
	file.from = &from;
	hydra_search__add(&c.search, HYDRA_SOURCE_BUILTIN, "hydra", (struct sonde_str){0});
	hydra_search__add(&c.search, HYDRA_SOURCE_SCHEMA, "schema", (struct sonde_str){0});
	slot = sonde_vec_push(&c.search.files);
	if (slot && sonde_map_add(&c.search.paths, SONDE_STR("fuzz"), NULL) == 0) {
		*slot = &file;
		if (hydra_compose__run(&c) == 0) {
			look = hydra_compose__scope(&c);
			hydra_interp__resolve_tree(&look, c.job);
		}
	}
	hydra_compose__release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hydra_from from = {.name = {"fuzz.yaml", 9}};
	struct sonde_arena arena = {0};
	struct sonde_notes notes = {0};
	struct hydra_ctx cx = {.arena = &arena, .notes = &notes};
	struct hydra_datum *n, *defaults;
	struct sonde_err err;

	if (hydra_yaml__load_config(&n, &cx, &from, (struct sonde_str){(const char *)data, size}) ==
		0) {
		check_round_trip(&cx, n);
		hydra_ctx__clear(&cx);
		defaults = hydra_datum__getz(n, "defaults");
		hydra_datum__drop(defaults);
		compose(&cx, n, defaults);
	}
	hydra_ctx__report(&cx, &err);
	sonde_notes_release(&notes);
	sonde_arena_release(&arena);
	return 0;
}
