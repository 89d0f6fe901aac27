/* Compares the values, texts and errors that a case expects with those that it got. */
#include "case.h"

#include "hydra/override.h"
#include "hydra/pynumber.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool case_bad(struct hydra_case *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->why, sizeof(t->why), fmt, ap);
	va_end(ap);
	return false;
}

struct sonde_str case_text(const json_t *j)
{
	return (struct sonde_str){json_string_value(j), json_string_length(j)};
}

struct sonde_str case_field(const json_t *j, const char *key)
{
	return case_text(json_object_get(j, key));
}

/* Values are JSON, in which tags mark the types that JSON does not have. */

static struct hydra_datum *tagged(struct hydra_ctx *cx, const json_t *j)
{
	const json_t *map = json_object_get(j, "$map"), *pair;
	struct hydra_datum *n;
	size_t i;

	if (json_object_get(j, "$float")) {
		struct sonde_str s = case_field(j, "$float");

		return hydra_datum__float(cx, strtod(s.p, NULL));
	}
	if (json_object_get(j, "$int"))
		return hydra_pynumber__int(cx, case_field(j, "$int"), 10);
	if (!map)
		return NULL;
	n = hydra_datum__new(cx, HYDRA_MAP);
	json_array_foreach(map, i, pair) hydra_datum__set(cx, n,
		case_value(cx, json_array_get(pair, 0)), case_value(cx, json_array_get(pair, 1)));
	return n;
}

struct hydra_datum *case_value(struct hydra_ctx *cx, const json_t *j)
{
	struct hydra_datum *n;
	const char *key;
	json_t *value;
	size_t i;

	switch (json_typeof(j)) {
	case JSON_NULL:
		return hydra_datum__new(cx, HYDRA_NULL);
	case JSON_TRUE:
	case JSON_FALSE:
		return hydra_datum__bool(cx, json_is_true(j));
	case JSON_INTEGER:
		return hydra_datum__int(cx, json_integer_value(j));
	case JSON_REAL:
		return hydra_datum__float(cx, json_real_value(j));
	case JSON_STRING:
		return hydra_datum__string(cx, hydra_ctx__dup(cx, case_text(j)));
	case JSON_ARRAY:
		n = hydra_datum__new(cx, HYDRA_LIST);
		json_array_foreach(j, i, value) hydra_datum__push(cx, n, case_value(cx, value));
		return n;
	default:
		break;
	}
	n = tagged(cx, j);
	if (n)
		return n;
	n = hydra_datum__new(cx, HYDRA_MAP);
	json_object_foreach((json_t *)j, key, value)
		hydra_datum__set(cx, n, hydra_datum__text(cx, key), case_value(cx, value));
	return n;
}

/* Same type, same value, same order. */
bool case_same(const struct hydra_datum *a, const struct hydra_datum *b)
{
	uint32_t i;

	if (!a || !b || a->kind != b->kind)
		return false;
	if (a->kind == HYDRA_FLOAT)
		return (a->f == b->f && signbit(a->f) == signbit(b->f)) ||
		       (isnan(a->f) && isnan(b->f));
	if (hydra_datum__is_scalar(a))
		return hydra_datum__equal(a, b);
	if (a->seq.nr != b->seq.nr)
		return false;
	for (i = 0; i < a->seq.nr; i++) {
		if (a->kind == HYDRA_MAP && !case_same(a->seq.at[i]->key, b->seq.at[i]->key))
			return false;
		if (!case_same(a->seq.at[i], b->seq.at[i]))
			return false;
	}
	return true;
}

/* Replaces `<CONFIGS>` in a string of an expectation by the folder of configs. */
static struct sonde_str expand(struct hydra_case *t, struct sonde_str s)
{
	struct sonde_buf b = {0};
	size_t i;

	for (i = 0; i < s.n;) {
		if (i + 9 <= s.n && memcmp(s.p + i, "<CONFIGS>", 9) == 0) {
			sonde_buf_puts(&b, t->run->configs);
			i += 9;
		} else {
			sonde_buf_putc(&b, s.p[i++]);
		}
	}
	return hydra_ctx__take(&t->cx, &b);
}

static void expand_node(struct hydra_case *t, struct hydra_datum *n)
{
	uint32_t i;

	if (n->kind == HYDRA_STRING)
		n->s = expand(t, n->s);
	if (!hydra_datum__is_container(n))
		return;
	for (i = 0; i < n->seq.nr; i++)
		expand_node(t, n->seq.at[i]);
}

static void show(const struct hydra_datum *n, char *out, size_t cap)
{
	struct sonde_buf b = {0};

	if (n)
		hydra_override__value_text(&b, n);
	snprintf(out, cap, "%.600s", b.p ? b.p : "(nothing)");
	sonde_buf_release(&b);
}

bool case_expect(struct hydra_case *t, const char *what, const json_t *expected,
	const struct hydra_datum *got)
{
	struct hydra_datum *e = case_value(&t->cx, expected);
	char want[700], have[700];

	expand_node(t, e);
	if (case_same(e, got))
		return true;
	show(e, want, sizeof(want));
	show(got, have, sizeof(have));
	return case_bad(t, "%s: expected %s, got %s", what, want, have);
}

bool case_expect_text(
	struct hydra_case *t, const char *what, struct sonde_str expected, struct sonde_str got)
{
	expected = expand(t, expected);
	if (sonde_str_eq(expected, got))
		return true;
	return case_bad(t, "%s: expected '%.*s', got '%.*s'", what, SONDE_STR_ARG(expected),
		SONDE_STR_ARG(got));
}

/* Failures. */

static bool is_library_error(struct sonde_str type)
{
	return sonde_str_is(type, "ParserError") || sonde_str_is(type, "ScannerError") ||
	       sonde_str_is(type, "ConstructorError") || sonde_str_is(type, "ComposerError") ||
	       sonde_str_is(type, "ReaderError");
}

static struct sonde_str tail_lines(struct sonde_str s)
{
	size_t n = sonde_str_find(s, '\n');

	return (struct sonde_str){s.p + n, s.n - n};
}

/* Compares errors of an override; for a syntax error, only the kind is compared. */
bool case_expect_override_error(
	struct hydra_case *t, struct sonde_str expected, struct sonde_str got)
{
	static const char see[] =
		"\nSee https://hydra.cc/docs/1.2/advanced/override_grammar/basic for details";
	size_t n = sizeof(see) - 1;

	if (sonde_str_ends(expected, see))
		expected.n -= n;
	if (sonde_str_ends(got, see))
		got.n -= n;
	if (sonde_str_starts(expected, "LexerNoViable") ||
		memmem(expected.p, expected.n, " while evaluating ", 18))
		return case_expect_text(t, "message", expected, got);
	return !sonde_str_starts(got, "LexerNoViable");
}

bool case_expect_error(struct hydra_case *t, const json_t *e)
{
	struct sonde_str type = case_field(e, "type"), msg = case_field(e, "message");
	struct sonde_str cause = expand(t, case_field(e, "cause")), got = t->cx.fail.cause;

	if (!t->cx.fail.code)
		return case_bad(t, "expected %.*s, but it succeeded", SONDE_STR_ARG(type));
	if (is_library_error(type))
		return true;
	if (!sonde_str_is(type, t->cx.fail.type))
		return case_bad(t, "expected %.*s, got %s: %.*s", SONDE_STR_ARG(type),
			t->cx.fail.type, SONDE_STR_ARG(t->cx.fail.msg));
	if (sonde_str_is(type, "OverrideParseException"))
		return case_expect_override_error(t, msg, t->cx.fail.msg);
	if (sonde_str_is(type, "GrammarParseError"))
		return true;
	if (!case_expect_text(t, "message", msg, t->cx.fail.msg))
		return false;
	if (!json_object_get(e, "cause_type"))
		return t->cx.fail.cause_type ? case_bad(t, "unexpected cause") : true;
	if (!t->cx.fail.cause_type ||
		!sonde_str_is(case_field(e, "cause_type"), t->cx.fail.cause_type))
		return case_bad(t, "cause type is %s", t->cx.fail.cause_type);
	if (sonde_str_is(case_field(e, "cause_type"), "GrammarParseError"))
		return case_expect_text(t, "cause", tail_lines(cause), tail_lines(got));
	return case_expect_text(t, "cause", cause, got);
}

bool case_failed(struct hydra_case *t, bool *done)
{
	const json_t *e = json_object_get(t->json, "error");

	*done = true;
	if (e)
		return case_expect_error(t, e);
	if (t->cx.fail.code)
		return case_bad(t, "%s: %.*s | %.*s", t->cx.fail.type,
			SONDE_STR_ARG(t->cx.fail.msg), SONDE_STR_ARG(t->cx.fail.cause));
	*done = false;
	return true;
}
