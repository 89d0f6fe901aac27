/* What a finished report says of its capture and its selection. */
#include "compare/reading_int.h"

#include "catalogue/attributes.h"

#include <string.h>

struct sonde_str sonde_reading__text(struct sonde_reading *r, const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	struct sonde_str s = {json_string_value(v), json_string_length(v)};

	if (!s.p)
		return s;
	s = sonde_arena_dup(&r->c->arena, s);
	r->failed |= !s.p;
	return s;
}

static struct sonde_words read_words(struct sonde_reading *r, const json_t *object, const char *key)
{
	const json_t *list = json_object_get(object, key), *word;
	const char **at = sonde_arena_calloc(&r->c->arena, json_array_size(list) + 1, sizeof(*at));
	struct sonde_words out = {at, 0};
	size_t i;

	r->failed |= !at;
	json_array_foreach(list, i, word)
	{
		if (at && json_is_string(word))
			at[out.nr++] = sonde_arena_z(
				&r->c->arena, (struct sonde_str){json_string_value(word),
						      json_string_length(word)});
	}
	return out;
}

bool sonde_reading__is_word(const json_t *object, const char *key, const char *word)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s && strcmp(s, word) == 0;
}

static void read_selection(struct sonde_reading *r, const json_t *from)
{
	struct sonde_selection *s = &r->c->selection;

	s->nvtx_include = read_words(r, from, "nvtx_include");
	s->nvtx_exclude = read_words(r, from, "nvtx_exclude");
	s->kernel_include = read_words(r, from, "kernel_include");
	s->kernel_exclude = read_words(r, from, "kernel_exclude");
	s->labels = read_words(r, from, "labels");
	s->stack_only = sonde_reading__is_word(from, "nesting", "stack");
	s->own_threads = sonde_reading__is_word(from, "threads", "own");
	s->no_origins = sonde_reading__is_word(from, "origins", "off");
}

/* What may differ between two devices of one model. */
static void read_clocks(struct sonde_reading *r, struct sonde_device *d, const json_t *from)
{
	static const char *const names[] = {SONDE_ATTR_CLOCK, SONDE_ATTR_MEMORY_CLOCK};
	struct sonde_attribute *at = sonde_arena_calloc(&r->c->arena, 2, sizeof(*at));
	size_t i;

	r->failed |= !at;
	for (i = 0; at && i < 2; i++)
		if (sonde_report__number(from, names[i]) > 0)
			at[d->nr_attributes++] = (struct sonde_attribute){
				.name = sonde_str_from(names[i]), .value = sonde_report__number(from, names[i])};
	d->attributes = at;
}

static void read_capture(struct sonde_reading *r, const json_t *capture)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(capture, "inputs"), i, item)
	{
		struct sonde_input *in = SONDE_READING_PUSH(r, &r->c->inputs);

		if (!in)
			return;
		in->path = sonde_reading__text(r, item, "file");
		in->source = sonde_reading__text(r, item, "source");
		in->tool = sonde_reading__text(r, item, "tool");
		in->replay_mode = sonde_reading__text(r, item, "replay_mode");
		in->command = sonde_reading__text(r, item, "command");
	}
	json_array_foreach(json_object_get(capture, "devices"), i, item)
	{
		struct sonde_device *d = SONDE_READING_PUSH(r, &r->c->devices);

		if (!d)
			return;
		d->name = sonde_reading__text(r, item, "name");
		read_clocks(r, d, json_object_get(item, "attributes"));
	}
}

/* Which ranks of a job are there. Where some are added up they are not listed: nothing is known then. */
static void read_ranks(struct sonde_reading *r, const json_t *capture)
{
	const json_t *item;
	size_t i;

	if (sonde_report__number(capture, "inputs_folded") > 0)
		return;
	json_array_foreach(json_object_get(capture, "processes"), i, item)
	{
		double rank = sonde_report__number(item, "rank"),
		       size = sonde_report__number(item, "world_size");
		struct sonde_process *p;

		if (!(rank >= 0 && size > rank && size < UINT32_MAX))
			continue;
		p = SONDE_READING_PUSH(r, &r->c->processes);
		if (!p)
			return;
		p->has_rank = true;
		p->rank = (uint32_t)rank;
		p->world_size = (uint32_t)size;
	}
}

/* What it says of itself, and which of that tells of a loss. */
static void read_notes(struct sonde_reading *r, const json_t *document)
{
	static const char *const keys[] = {"notes", "losses"};
	const json_t *item;
	size_t i, k;

	for (k = 0; k < 2; k++) {
		json_array_foreach(json_object_get(document, keys[k]), i, item)
		{
			struct sonde_str text = {json_string_value(item), json_string_length(item)};

			if (text.p)
				sonde_notes_put(&r->t->notes, text, k == 1);
		}
	}
}

void sonde_reading__capture(struct sonde_reading *r, const json_t *document)
{
	read_ranks(r, json_object_get(document, "capture"));
	read_notes(r, document);
	read_selection(r, json_object_get(document, "selection"));
	read_capture(r, json_object_get(document, "capture"));
}
