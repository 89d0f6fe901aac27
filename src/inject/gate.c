/*
 * The gate's patterns: `GLOB` for labels in any domain, `DOMAIN@GLOB` for one
 * domain (`@GLOB`: the default one). `*` stands for any text, `?` for any byte.
 */
#include "inject/inject_int.h"

static bool glob(const char *pattern, const char *text)
{
	const char *star = NULL, *mark = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			mark = text;
		} else if (*pattern == *text || *pattern == '?') {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++mark;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool sonde_gate__matches(const struct patterns *patterns, const char *domain, const char *label)
{
	uint32_t i;

	for (i = 0; i < patterns->nr; i++) {
		const struct pattern *p = &patterns->at[i];

		if ((!p->domain || glob(p->domain, domain)) && glob(p->label, label))
			return true;
	}
	return false;
}
