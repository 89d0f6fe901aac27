/*
 * A config file of any bytes: loaded, composed as the only file there is,
 * resolved, written out and read back.
 */
#include "config/compose.h"
#include "config/yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was written must read back as the same value. */
static void check_round_trip(struct sonde_ctx *cx, const struct sonde_datum *n)
{
	static const struct sonde_from from = {.name = {"again.yaml", 10}};
	struct sonde_buf b = {0};
	struct sonde_datum *again;

	sonde_yaml__dump(&b, n);
	if (sonde_yaml__load(&again, cx, &from, sonde_buf_view(&b)) == 0 && n->seq.nr &&
		again->kind != n->kind)
		abort();
	sonde_buf_release(&b);
}

static void compose(struct sonde_ctx *cx, struct sonde_datum *config, struct sonde_datum *defaults)
{
	struct sonde_compose c = {
		.cx = cx, .name = SONDE_STR("fuzz"), .job_name = "fuzz", .version = ""};
	struct sonde_loaded file = {.config = config, .defaults = defaults, .found = true};
	struct sonde_from from = {.name = {"fuzz.yaml", 9}};
	struct sonde_loaded **slot;
	struct sonde_lookup look;

	c.search.cx = cx;
	file.from = &from;
	sonde_search__add(&c.search, SONDE_SOURCE_BUILTIN, "hydra", (struct sonde_str){0});
	sonde_search__add(&c.search, SONDE_SOURCE_SCHEMA, "schema", (struct sonde_str){0});
	slot = sonde_vec_push(&c.search.files);
	if (slot && sonde_map_add(&c.search.paths, SONDE_STR("fuzz"), NULL) == 0) {
		*slot = &file;
		if (sonde_compose__run(&c) == 0) {
			look = sonde_compose__scope(&c);
			sonde_interp__resolve_tree(&look, c.job);
		}
	}
	sonde_compose__release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sonde_from from = {.name = {"fuzz.yaml", 9}};
	struct sonde_arena arena = {0};
	struct sonde_notes notes = {0};
	struct sonde_ctx cx = {.arena = &arena, .notes = &notes};
	struct sonde_datum *n, *defaults;
	struct sonde_err err;

	if (sonde_yaml__load_config(&n, &cx, &from, (struct sonde_str){(const char *)data, size}) ==
		0) {
		check_round_trip(&cx, n);
		sonde_ctx__clear(&cx);
		defaults = sonde_datum__getz(n, "defaults");
		if (defaults)
			sonde_datum__remove(n, sonde_datum__index(defaults));
		compose(&cx, n, defaults);
	}
	sonde_ctx__report(&cx, &err);
	sonde_notes_release(&notes);
	sonde_arena_release(&arena);
	return 0;
}
