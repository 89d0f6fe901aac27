/*
 * The gate's patterns: `GLOB` for labels in any domain; `DOMAIN@GLOB` for the
 * labels of one domain, and for any label that looks so. `*` stands for any
 * text, `?` for any byte.
 */
#include "inject/inject_int.h"

static bool glob(const char *pattern, const char *end, const char *text)
{
	const char *star = NULL, *mark = NULL;

	while (*text) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			mark = text;
		} else if (pattern < end && (*pattern == *text || *pattern == '?')) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++mark;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

static const char *end_of(const char *text)
{
	while (*text)
		text++;
	return text;
}

bool sonde_gate__matches(const struct patterns *patterns, const char *domain, const char *label)
{
	uint32_t i;

	for (i = 0; i < patterns->nr; i++) {
		const struct pattern *p = &patterns->at[i];
		const char *end = end_of(p->text);

		if (glob(p->text, end, label))
			return true;
		if (p->label && glob(p->text, p->label - 1, domain) && glob(p->label, end, label))
			return true;
	}
	return false;
}
