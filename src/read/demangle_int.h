/*
 * Inside the demangler.
 *
 *   demangle.c        the pieces names are put together from, and the function with its signature
 *   demangle_name.c   names, nested and local ones, template arguments
 *   demangle_type.c   types
 *
 * Each reads what stands at the cursor and moves it. What cannot be read sets `bad`, and everything
 * after that gives nothing: callers need not ask.
 */
#ifndef SONDE_READ_DEMANGLE_INT_H
#define SONDE_READ_DEMANGLE_INT_H

#include "read/demangle.h"

#include <string.h>

#define SONDE_DEM_SUBS	512
#define SONDE_DEM_DEPTH 100
#define SONDE_DEM_TEXT	65536 /* bytes of a name, at most */

/* A type is what stands before and what stands after a declared name. */
struct sonde_dem_type {
	struct sonde_str pre, post;
};

struct sonde_dem {
	const char *p, *end;
	struct sonde_arena *arena; /* of the pieces */
	size_t max_text;
	struct sonde_dem_type subs[SONDE_DEM_SUBS];
	unsigned nr_subs, depth;
	bool is_template; /* the last name read ends in template arguments */
	bool bad;
};

static inline char sonde_dem__peek(const struct sonde_dem *d)
{
	return d->p < d->end ? *d->p : '\0';
}

static inline bool sonde_dem__eat(struct sonde_dem *d, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(d->end - d->p) < n || memcmp(d->p, text, n) != 0)
		return false;
	d->p += n;
	return true;
}

struct sonde_dem_type sonde_dem__fail(struct sonde_dem *d);
struct sonde_str sonde_dem__join(struct sonde_dem *d, struct sonde_str a, struct sonde_str b);
struct sonde_str sonde_dem__joinz(struct sonde_dem *d, struct sonde_str a, const char *b);
struct sonde_str sonde_dem__whole(struct sonde_dem *d, struct sonde_dem_type t);
struct sonde_dem_type sonde_dem__plain(struct sonde_str s);
/* Keeps a type for substitutions. */
void sonde_dem__remember(struct sonde_dem *d, struct sonde_dem_type t);
size_t sonde_dem__number(struct sonde_dem *d);
/* `_` is 0, `0_` is 1, in base 36 `Z_` is 36. */
size_t sonde_dem__index(struct sonde_dem *d, unsigned base);

struct sonde_str sonde_dem__name(struct sonde_dem *d);
/* Types up to one of `stops`, separated by commas. */
struct sonde_str sonde_dem__list(struct sonde_dem *d, const char *stops);
struct sonde_str sonde_dem__arguments(struct sonde_dem *d); /* of a template */
struct sonde_dem_type sonde_dem__substitution(struct sonde_dem *d);
struct sonde_dem_type sonde_dem__type(struct sonde_dem *d);
/* A function with its signature, or only a name. */
struct sonde_str sonde_dem__encoding(struct sonde_dem *d);

#endif
