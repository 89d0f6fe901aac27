/*
 * Checks a document against the text of a shipped JSON Schema, with as much of JSON Schema as the two
 * shipped schemas use. An unknown keyword is an error: no rule is skipped in silence.
 */
#include "check/validate_int.h"

#include <math.h>
#include <regex.h>
#include <string.h>

/*
 * The shipped schemas are built into the binary, byte for byte: a binary works uninstalled, and the
 * validator always agrees with the schema that is shipped.
 */
#define BUILT_IN(name, file)                                                                       \
	__asm__(".section .rodata\n"                                                               \
		".global sonde_schema_" name "_begin\n"                                            \
		".global sonde_schema_" name "_end\n"                                              \
		"sonde_schema_" name "_begin:\n"                                                   \
		".incbin \"schema/" file "\"\n"                                                    \
		"sonde_schema_" name "_end:\n"                                                     \
		".byte 0\n"                                                                        \
		".previous\n")
BUILT_IN("report", "sonde.report-1.schema.json");
BUILT_IN("diff", "sonde.diff-1.schema.json");
extern const char sonde_schema_report_begin[] __attribute__((visibility("hidden")));
extern const char sonde_schema_report_end[] __attribute__((visibility("hidden")));
extern const char sonde_schema_diff_begin[] __attribute__((visibility("hidden")));
extern const char sonde_schema_diff_end[] __attribute__((visibility("hidden")));

static struct sonde_str text_between(const char *begin, const char *end)
{
	return (struct sonde_str){begin, (size_t)((uintptr_t)end - (uintptr_t)begin)};
}

struct sonde_str sonde_schema_text(bool is_diff)
{
	return is_diff ? text_between(sonde_schema_diff_begin, sonde_schema_diff_end)
		       : text_between(sonde_schema_report_begin, sonde_schema_report_end);
}

/* One evaluation: the root of the schema (for $ref), the schema object, and the value that must meet it. */
struct eval {
	struct sonde_validation *v;
	const json_t *root, *schema, *value;
};

/* Checks a value inside this one, and removes its key, which was appended at `mark`, from the path. */
static int check_below(
	const struct eval *e, const json_t *schema, const json_t *value, size_t mark)
{
	int rc = sonde_schema__check(e->v, e->root, schema, value);

	sonde_validation__leave(e->v, mark);
	return rc;
}

static const char *type_name(const json_t *value)
{
	static const char *const names[] = {[JSON_OBJECT] = "object",
		[JSON_ARRAY] = "array",
		[JSON_STRING] = "string",
		[JSON_INTEGER] = "integer",
		[JSON_REAL] = "number",
		[JSON_TRUE] = "boolean",
		[JSON_FALSE] = "boolean",
		[JSON_NULL] = "null"};

	return names[json_typeof(value)];
}

static bool is_type(const json_t *value, const char *type)
{
	if (strcmp(type, "number") == 0)
		return json_is_number(value);
	/* In JSON Schema every whole number is an integer, also 1.0. */
	if (strcmp(type, "integer") == 0 && json_is_real(value))
		return json_real_value(value) == floor(json_real_value(value));
	return strcmp(type, type_name(value)) == 0;
}

/* Fails with the value that was found (`is`) and the words that the schema allows: "a, b or c". */
static int refuse(const struct eval *e, const char *is, const json_t *words)
{
	size_t i, nr = json_array_size(words);
	struct sonde_buf list = {0};
	int rc;

	for (i = 0; i < nr; i++) {
		const char *word = json_string_value(json_array_get(words, i));

		sonde_buf_printf(&list, "%s%s", i == 0 ? "" : i + 1 < nr ? ", " : " or ",
			word ? word : "null");
	}
	rc = sonde_validation__fail(e->v, "is %s, must be %s", is, list.failed ? "" : list.p);
	sonde_buf_release(&list);
	return rc;
}

static int check_type(const struct eval *e, const json_t *types)
{
	const json_t *type;
	size_t i;

	if (json_is_string(types))
		return is_type(e->value, json_string_value(types))
			       ? 0
			       : sonde_validation__fail(e->v, "is %s, must be %s",
					 type_name(e->value), json_string_value(types));
	json_array_foreach(types, i, type) if (is_type(e->value, json_string_value(type))) return 0;
	return refuse(e, type_name(e->value), types);
}

static int check_required(const struct eval *e, const json_t *keys)
{
	const json_t *key;
	size_t i;

	json_array_foreach(keys, i, key)
	{
		if (json_is_object(e->value) && !json_object_get(e->value, json_string_value(key)))
			return sonde_validation__fail(
				e->v, "'%s' is missing", json_string_value(key));
	}
	return 0;
}

static int check_properties(const struct eval *e, const json_t *properties)
{
	const char *key;
	json_t *schema;

	json_object_foreach((json_t *)(uintptr_t)properties, key, schema)
	{
		const json_t *member = json_object_get(e->value, key);
		int rc = !member ? 0
				 : check_below(e, schema, member, sonde_validation__key(e->v, key));

		if (rc)
			return rc;
	}
	return 0;
}

static int check_additional(const struct eval *e, const json_t *schema)
{
	const json_t *properties = json_object_get(e->schema, "properties");
	const char *key;
	json_t *member;

	if (!json_is_object(e->value))
		return 0;
	json_object_foreach((json_t *)(uintptr_t)e->value, key, member)
	{
		int rc = json_object_get(properties, key)
				 ? 0
				 : check_below(e, schema, member, sonde_validation__key(e->v, key));

		if (rc)
			return rc;
	}
	return 0;
}

static int check_items(const struct eval *e, const json_t *schema)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(e->value))
		return 0;
	json_array_foreach(e->value, i, item)
	{
		int rc = check_below(e, schema, item, sonde_validation__index(e->v, i));

		if (rc)
			return rc;
	}
	return 0;
}

static int check_const(const struct eval *e, const json_t *wanted)
{
	if (json_equal(e->value, wanted))
		return 0;
	return sonde_validation__fail(e->v, "is '%.64s', must be '%s'",
		json_is_string(e->value) ? json_string_value(e->value) : type_name(e->value),
		json_is_string(wanted) ? json_string_value(wanted) : "?");
}

static int check_enum(const struct eval *e, const json_t *choices)
{
	const json_t *choice;
	size_t i;

	json_array_foreach(choices, i, choice) if (json_equal(e->value, choice)) return 0;
	return refuse(e,
		json_is_string(e->value) ? json_string_value(e->value) : type_name(e->value),
		choices);
}

static int check_pattern(const struct eval *e, const json_t *pattern)
{
	regex_t re;
	int rc;

	if (!json_is_string(e->value))
		return 0;
	if (regcomp(&re, json_string_value(pattern), REG_EXTENDED | REG_NOSUB) != 0)
		return sonde_validation__fail(
			e->v, "schema: bad pattern %s", json_string_value(pattern));
	rc = regexec(&re, json_string_value(e->value), 0, NULL, 0);
	regfree(&re);
	return rc == 0 ? 0
		       : sonde_validation__fail(e->v, "'%s' does not match %s",
				 json_string_value(e->value), json_string_value(pattern));
}

static int check_minimum(const struct eval *e, const json_t *least)
{
	if (!json_is_number(e->value) || json_number_value(e->value) >= json_number_value(least))
		return 0;
	return sonde_validation__fail(e->v, "%.15g is less than %.15g", json_number_value(e->value),
		json_number_value(least));
}

static int check_min_length(const struct eval *e, const json_t *least)
{
	if (!json_is_string(e->value) ||
		(json_int_t)json_string_length(e->value) >= json_integer_value(least))
		return 0;
	return sonde_validation__fail(e->v, "has %zu bytes, must have %lld or more",
		json_string_length(e->value), (long long)json_integer_value(least));
}

static int check_min_items(const struct eval *e, const json_t *least)
{
	if (!json_is_array(e->value) ||
		(json_int_t)json_array_size(e->value) >= json_integer_value(least))
		return 0;
	return sonde_validation__fail(e->v, "has %zu elements, must have %lld or more",
		json_array_size(e->value), (long long)json_integer_value(least));
}

static int check_max_items(const struct eval *e, const json_t *keyword)
{
	if (json_array_size(e->value) > (size_t)json_integer_value(keyword))
		return sonde_validation__fail(e->v, "has more than %lld items", (long long)json_integer_value(keyword));
	return 0;
}

static int check_ref(const struct eval *e, const json_t *ref)
{
	static const char prefix[] = "#/$defs/";
	const char *name = json_string_value(ref);
	const json_t *target = NULL;

	if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
		target = json_object_get(
			json_object_get(e->root, "$defs"), name + sizeof(prefix) - 1);
	if (!target)
		return sonde_validation__fail(e->v, "schema: no %s", name);
	return sonde_schema__check(e->v, e->root, target, e->value);
}

static int check_if(const struct eval *e, const json_t *condition)
{
	struct sonde_validation silent = {.name = "", .err = NULL};
	bool holds = sonde_schema__check(&silent, e->root, condition, e->value) == 0;
	const json_t *branch = json_object_get(e->schema, holds ? "then" : "else");

	sonde_buf_release(&silent.path);
	return branch ? sonde_schema__check(e->v, e->root, branch, e->value) : 0;
}

static int ignore(const struct eval *e, const json_t *argument)
{
	(void)e;
	(void)argument;
	return 0;
}

/* Every keyword that a schema may use. */
static const struct {
	const char *name;
	int (*check)(const struct eval *e, const json_t *argument);
} keywords[] = {
	{"type", check_type},
	{"const", check_const},
	{"enum", check_enum},
	{"required", check_required},
	{"properties", check_properties},
	{"additionalProperties", check_additional},
	{"items", check_items},
	{"minItems", check_min_items},
	{"maxItems", check_max_items},
	{"minLength", check_min_length},
	{"minimum", check_minimum},
	{"pattern", check_pattern},
	{"$ref", check_ref},
	{"if", check_if},
	{"then", ignore},
	{"else", ignore},
	{"$schema", ignore},
	{"$id", ignore},
	{"$defs", ignore},
	{"title", ignore},
	{"description", ignore},
};

static int check_keyword(const struct eval *e, const char *name, const json_t *argument)
{
	size_t i;

	for (i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strcmp(keywords[i].name, name) == 0)
			return keywords[i].check(e, argument);
	return sonde_validation__fail(e->v, "schema: unknown keyword '%s'", name);
}

/* The recursion is as deep as the schema is nested; the value cannot make it deeper. */
int sonde_schema__check(
	struct sonde_validation *v, const json_t *root, const json_t *schema, const json_t *value)
{
	struct eval e = {v, root, schema, value};
	const char *name;
	json_t *argument;
	int rc;

	json_object_foreach((json_t *)(uintptr_t)schema, name, argument)
	{
		rc = check_keyword(&e, name, argument);
		if (rc)
			return rc;
	}
	return 0;
}
