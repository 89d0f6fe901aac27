/* Compares two sides, which are lists of pipelines. */
#include "base/alloc.h"
#include "compare/diff.h"
#include "export/diff_out.h"
#include "lib/pipeline.h"

#include <math.h>

struct sonde_comparison {
	struct sonde_diff *diff;
	SONDE_VEC(const struct sonde_tree *) trees; /* those of the base come first */
	struct sonde_word_list names;		    /* names of their inputs, in the same order */
	size_t nr_base;
	struct sonde_texts texts;
};

static int add_side(struct sonde_comparison *c, struct sonde_pipeline *const *side, size_t nr,
	struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!side[i]->tree)
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"pipelines must have run before they are compared: call sonde_pipeline_run");
		if (!sonde_vec_put(&c->trees, side[i]->tree) ||
			!sonde_vec_put(&c->names, side[i]->inputs.at[0]))
			return sonde_err_nomem(err);
	}
	return nr ? 0 : sonde_err_set(err, SONDE_ERR_USAGE, "a side has no run to compare: give at least one pipeline for each");
}

static int compare_sides(struct sonde_comparison *c, struct sonde_err *err)
{
	const struct sonde_diff_options options = {.min_effect = SONDE_MIN_EFFECT};
	const struct sonde_diff_side base = {c->trees.at, c->nr_base},
				     new_side = {
					     c->trees.at + c->nr_base, c->trees.nr - c->nr_base};
	int rc = sonde_diff_build(&c->diff, &base, &new_side, &options, err);
	const struct sonde_map *why;

	if (rc || c->diff->is_comparable)
		return rc;
	why = &c->diff->reasons.texts;
	return sonde_err_set(err, SONDE_ERR_FORMAT, "the sides are not comparable: %.*s",
		SONDE_STR_ARG(why->nr ? why->keys[0] : SONDE_STR("")));
}

int sonde_comparison_open(struct sonde_comparison **out, struct sonde_pipeline *const *base,
	size_t nr_base, struct sonde_pipeline *const *new_side, size_t nr_new,
	struct sonde_err *err)
{
	struct sonde_comparison *c = sonde_calloc(1, sizeof(*c));
	int rc = c ? add_side(c, base, nr_base, err) : sonde_err_nomem(err);

	*out = NULL;
	if (rc == 0) {
		c->nr_base = nr_base;
		rc = add_side(c, new_side, nr_new, err);
	}
	if (rc == 0)
		rc = compare_sides(c, err);
	if (rc)
		sonde_comparison_free(c);
	else
		*out = c;
	return rc;
}

void sonde_comparison_free(struct sonde_comparison *c)
{
	if (!c)
		return;
	sonde_diff_free(c->diff);
	sonde_vec_release(&c->trees);
	sonde_vec_release(&c->names);
	sonde_texts__release(&c->texts);
	sonde_free(c);
}

static const struct sonde_diff_region *region_of(const struct sonde_comparison *c, size_t i)
{
	return i < c->diff->regions.nr ? &c->diff->regions.at[i] : NULL;
}

size_t sonde_comparison_nr_regions(const struct sonde_comparison *c)
{
	return c->diff->regions.nr;
}

const char *sonde_comparison_id(struct sonde_comparison *c, size_t region)
{
	const struct sonde_diff_region *r = region_of(c, region);

	return r ? sonde_texts__z(&c->texts, r->id) : NULL;
}

const char *sonde_comparison_verdict(const struct sonde_comparison *c, size_t region)
{
	const struct sonde_diff_region *r = region_of(c, region);

	return r ? sonde_verdict_name(r->verdict) : NULL;
}

double sonde_comparison_ratio(const struct sonde_comparison *c, size_t region)
{
	const struct sonde_diff_region *r = region_of(c, region);

	return r ? r->ratio : NAN;
}

double sonde_comparison_low(const struct sonde_comparison *c, size_t region)
{
	const struct sonde_diff_region *r = region_of(c, region);

	return r ? r->low : NAN;
}

double sonde_comparison_high(const struct sonde_comparison *c, size_t region)
{
	const struct sonde_diff_region *r = region_of(c, region);

	return r ? r->high : NAN;
}

size_t sonde_comparison_nr_sentences(const struct sonde_comparison *c)
{
	return c->diff->sentences.texts.nr;
}

const char *sonde_comparison_sentence(struct sonde_comparison *c, size_t i)
{
	return i < c->diff->sentences.texts.nr
		       ? sonde_texts__z(&c->texts, c->diff->sentences.texts.keys[i])
		       : NULL;
}

int sonde_comparison_export(const struct sonde_comparison *c, const char *format, const char *path,
	struct sonde_err *err)
{
	sonde_diff_writer *write = sonde_diff_writer_named(format);
	const struct sonde_diff_out o = {.base = {c->names.at, c->nr_base},
		.new_side = {c->names.at + c->nr_base, c->names.nr - c->nr_base},
		.is_utf8 = true};
	struct sonde_sink out;
	int rc;

	if (!write)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"there is no format '%s' for comparisons, only %s", format,
			SONDE_DIFF_FORMAT_WORDS);
	rc = sonde_sink_open(&out, path, err);
	return rc ? rc : sonde_sink_finish(&out, write(c->diff, &o, &out, err), err);
}
