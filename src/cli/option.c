#include "cli/option.h"

#include "base/nearest.h"

#include <inttypes.h>
#include <string.h>

struct parse {
	const struct sonde_usage *usage;
	int argc;
	char **argv;
	int at;
	struct sonde_arena *arena;
	struct sonde_err *err;
};

static int add_word(struct parse *p, struct sonde_word_list *list, const char *word)
{
	const char **slot = sonde_vec_push(list);

	if (!slot)
		return sonde_err_nomem(p->err);
	*slot = word;
	return 0;
}

/* `regex:` patterns may hold commas of their own and stay whole. */
static int add_list(struct parse *p, struct sonde_word_list *list, const char *value)
{
	struct sonde_str rest = sonde_str_from(value);
	int rc = 0;

	if (sonde_str_starts(rest, "regex:"))
		return add_word(p, list, value);
	while (rest.n && rc == 0) {
		struct sonde_str word = sonde_str_trim(sonde_str_cut(rest, ',', &rest));
		const char *copy = word.n ? sonde_arena_z(p->arena, word) : NULL;

		if (word.n)
			rc = copy ? add_word(p, list, copy) : sonde_err_nomem(p->err);
	}
	return rc;
}

static int set_number(struct parse *p, const struct sonde_option *o, const char *value)
{
	bool is_limit = o->kind == SONDE_OPTION_LIMIT;
	uint64_t n = 0;
	const char *c;

	if (is_limit && strcmp(value, "all") == 0)
		value = "0";
	for (c = value; *c >= '0' && *c <= '9' && n < UINT32_MAX; c++)
		n = n * 10 + (uint64_t)(*c - '0');
	if (*c || c == value || (n == 0 && !is_limit) || n > UINT32_MAX)
		return sonde_err_set(p->err, SONDE_ERR_USAGE, "--%s: '%s' is %s", o->name, value,
			is_limit ? "neither a number nor 'all'" : "not a number from 1 on");
	*(size_t *)o->into = n ? (size_t)n : SIZE_MAX;
	return 0;
}

static int set_choice(struct parse *p, const struct sonde_option *o, const char *value)
{
	struct sonde_str rest = sonde_str_from(o->arg);
	int i;

	for (i = 0; rest.n; i++) {
		struct sonde_str word = sonde_str_cut(rest, '|', &rest);

		if (!sonde_str_is(word, value))
			continue;
		if (o->kind == SONDE_OPTION_ONE_OF)
			*(const char **)o->into = value;
		else
			*(int *)o->into = i;
		return 0;
	}
	return sonde_err_set(
		p->err, SONDE_ERR_USAGE, "--%s: '%s' is none of %s", o->name, value, o->arg);
}

static int set(struct parse *p, const struct sonde_option *o, const char *value)
{
	switch (o->kind) {
	case SONDE_OPTION_WORD:
		*(const char **)o->into = value;
		return 0;
	case SONDE_OPTION_WORDS:
		return add_word(p, o->into, value);
	case SONDE_OPTION_LIST:
		return add_list(p, o->into, value);
	case SONDE_OPTION_NUMBER:
	case SONDE_OPTION_LIMIT:
		return set_number(p, o, value);
	case SONDE_OPTION_CHOICE:
	case SONDE_OPTION_ONE_OF:
		return set_choice(p, o, value);
	default:
		*(bool *)o->into = true;
		return 0;
	}
}

static const struct sonde_option *find_long(const struct sonde_usage *u, struct sonde_str name)
{
	size_t i;

	for (i = 0; i < u->nr_options; i++)
		if (sonde_str_is(name, u->options[i].name))
			return &u->options[i];
	return NULL;
}

static const struct sonde_option *find_letter(const struct sonde_usage *u, char letter)
{
	size_t i;

	for (i = 0; i < u->nr_options; i++)
		if (u->options[i].letter == letter)
			return &u->options[i];
	return NULL;
}

static int unknown(struct parse *p, struct sonde_str name)
{
	struct sonde_nearest near = {.word = name, .below = 4};
	size_t i;

	for (i = 0; i < p->usage->nr_options; i++)
		sonde_nearest_offer(&near, sonde_str_from(p->usage->options[i].name));
	if (near.best.n)
		return sonde_err_set(p->err, SONDE_ERR_USAGE,
			"unknown option '%s', did you mean '--%s'?", p->argv[p->at], near.best.p);
	return sonde_err_set(p->err, SONDE_ERR_USAGE, "unknown option '%s'", p->argv[p->at]);
}

/* One option, with the value attached (`value` not NULL) or in the next word. */
static int take(struct parse *p, const struct sonde_option *o, const char *value)
{
	if (o->kind == SONDE_OPTION_FLAG && value)
		return sonde_err_set(p->err, SONDE_ERR_USAGE, "--%s takes no value", o->name);
	if (o->kind != SONDE_OPTION_FLAG && !value) {
		if (p->at + 1 >= p->argc)
			return sonde_err_set(p->err, SONDE_ERR_USAGE, "--%s needs a value (%s)",
				o->name, o->arg);
		value = p->argv[++p->at];
	}
	return set(p, o, value);
}

static int take_word(struct parse *p)
{
	const char *word = p->argv[p->at];
	const struct sonde_option *o;

	if (word[1] == '-') {
		struct sonde_str rest, name = sonde_str_cut(sonde_str_from(word + 2), '=', &rest);

		o = find_long(p->usage, name);
		return o ? take(p, o, word[2 + name.n] ? word + 3 + name.n : NULL)
			 : unknown(p, name);
	}
	o = find_letter(p->usage, word[1]);
	if (!o || (o->kind == SONDE_OPTION_FLAG && word[2]))
		return unknown(p, sonde_str_from(word + 1));
	return take(p, o, word[2] ? word + 2 : NULL);
}

int sonde_options_parse(struct sonde_args *out, const struct sonde_usage *u, int argc, char **argv,
	struct sonde_err *err)
{
	struct parse p = {u, argc, argv, 1, &out->arena, err};
	bool is_over = false;
	int rc = 0;

	for (; p.at < argc && rc == 0; p.at++) {
		const char *word = argv[p.at];

		if (is_over || word[0] != '-' || !word[1]) {
			rc = add_word(&p, &out->operands, word);
		} else if (strcmp(word, "--") == 0) {
			is_over = true;
		} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			out->wants_help = true;
			return 0;
		} else {
			rc = take_word(&p);
		}
	}
	return rc;
}

void sonde_args_release(struct sonde_args *a)
{
	sonde_vec_release(&a->operands);
	sonde_arena_release(&a->arena);
}

#define HELP_COLUMN 30
#define HELP_WIDTH  80

/* Words of `text` from HELP_COLUMN on; the cursor is at `column`. */
static void print_wrapped(struct sonde_sink *to, const char *text, size_t column)
{
	struct sonde_str rest = sonde_str_from(text);

	if (column >= HELP_COLUMN) {
		sonde_sink_printf(to, "\n%*s", HELP_COLUMN, "");
		column = HELP_COLUMN;
	} else {
		sonde_sink_printf(to, "%*s", (int)(HELP_COLUMN - column), "");
		column = HELP_COLUMN;
	}
	while (rest.n) {
		struct sonde_str word = sonde_str_cut(rest, ' ', &rest);

		if (column > HELP_COLUMN && column + 1 + word.n > HELP_WIDTH) {
			sonde_sink_printf(to, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			sonde_sink_putc(to, ' ');
			column++;
		}
		sonde_sink_str(to, word);
		column += word.n;
	}
	sonde_sink_putc(to, '\n');
}

static void print_option(struct sonde_sink *to, const struct sonde_option *o)
{
	struct sonde_buf left = {0};

	if (o->letter)
		sonde_buf_printf(&left, "  -%c, --%s", o->letter, o->name);
	else
		sonde_buf_printf(&left, "      --%s", o->name);
	if (o->kind != SONDE_OPTION_FLAG)
		sonde_buf_printf(&left, " %s", o->arg);
	sonde_sink_str(to, sonde_buf_view(&left));
	print_wrapped(to, o->help, left.n);
	sonde_buf_release(&left);
}

void sonde_usage_print(const struct sonde_usage *u, struct sonde_sink *to)
{
	static const struct sonde_option help = {
		'h', "help", NULL, "this text", SONDE_OPTION_FLAG, NULL};
	size_t i;

	sonde_sink_printf(to, "usage: %s\n\n%s\n\noptions:\n", u->synopsis, u->about);
	for (i = 0; i < u->nr_options; i++)
		print_option(to, &u->options[i]);
	print_option(to, &help);
	sonde_sink_puts(to, "\nexamples:\n");
	for (i = 0; i < 2; i++)
		sonde_sink_printf(to, "  # %s\n  %s\n", u->examples[i][0], u->examples[i][1]);
}
