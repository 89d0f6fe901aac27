/* Makes cells from records, for tests of later rooms. */
#ifndef SONDE_TESTS_FOLDED_H
#define SONDE_TESTS_FOLDED_H

#include "attribute/launches.h"
#include "merge/merging.h"

#include "unit.h"

/* Makes cells with a timeline; a NULL choice is the default one. The caller frees the cells. */
static inline struct sonde_cells *folded(
	const struct sonde_records *r, const struct sonde_choice *choice)
{
	struct sonde_fold_request request = {.keeps_timeline = true, .keeps_untimed = true};
	struct sonde_launches *l = NULL;
	struct sonde_cells *part = NULL, *c = NULL;

	if (choice)
		request.choice = *choice;
	assert_int_equal(sonde_launches_build(&l, r, &request.selection, NULL), 0);
	assert_int_equal(sonde_cells_fold(&part, l, &request, NULL), 0);
	sonde_launches_free(l);
	assert_int_equal(sonde_cells_unite(&c, &part, 1, NULL), 0);
	return c;
}

#endif
