#include "cli/option.h"

#include "base/nearest.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

struct parse {
	struct sonde_args *args;
	int argc;
	char **argv;
	int at;
	struct sonde_err *err;
};

static void *into_of(const struct parse *p, const struct sonde_option *o)
{
	return p->args->into + o->into;
}

static int add_word(struct parse *p, struct sonde_word_list *list, const char *word)
{
	return sonde_word_list_add(list, word) ? 0 : sonde_err_nomem(p->err);
}

/* Patterns that begin with `regex:` may contain commas, so they stay whole. */
static int add_list(struct parse *p, struct sonde_word_list *list, const char *value)
{
	struct sonde_str rest = sonde_str_from(value);
	int rc = 0;

	if (sonde_str_starts(rest, "regex:"))
		return add_word(p, list, value);
	while (rest.n && rc == 0) {
		struct sonde_str word = sonde_str_trim(sonde_str_cut(rest, ',', &rest));
		const char *copy = word.n ? sonde_arena_z(&p->args->arena, word) : NULL;

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
	*(size_t *)into_of(p, o) = n ? (size_t)n : SIZE_MAX;
	return 0;
}

static int set_choice(struct parse *p, const struct sonde_option *o, const char *value)
{
	struct sonde_str rest = sonde_str_from(o->arg);
	struct sonde_nearest near = {.word = sonde_str_from(value), .below = 4};
	int i;

	for (i = 0; rest.n; i++) {
		struct sonde_str word = sonde_str_cut(rest, '|', &rest);

		sonde_nearest_offer(&near, word);
		if (!sonde_str_is(word, value))
			continue;
		if (o->kind == SONDE_OPTION_ONE_OF)
			*(const char **)into_of(p, o) = value;
		else
			*(int *)into_of(p, o) = i;
		return 0;
	}
	if (near.best.n)
		return sonde_err_set(p->err, SONDE_ERR_USAGE, "--%s: '%s' is not one of %s; did you mean '%.*s'?", o->name,
			value, o->arg, SONDE_STR_ARG(near.best));
	return sonde_err_set(
		p->err, SONDE_ERR_USAGE, "--%s: '%s' is not one of %s", o->name, value, o->arg);
}

static int set_value(struct parse *p, const struct sonde_option *o, const char *value)
{
	switch (o->kind) {
	case SONDE_OPTION_WORD:
	case SONDE_OPTION_MAYBE:
		*(const char **)into_of(p, o) = value;
		return 0;
	case SONDE_OPTION_WORDS:
		return add_word(p, into_of(p, o), value);
	case SONDE_OPTION_LIST:
		return add_list(p, into_of(p, o), value);
	case SONDE_OPTION_NUMBER:
	case SONDE_OPTION_LIMIT:
		return set_number(p, o, value);
	case SONDE_OPTION_CHOICE:
	case SONDE_OPTION_ONE_OF:
		return set_choice(p, o, value);
	default:
		*(bool *)into_of(p, o) = true;
		return 0;
	}
}

/* Finds the option that a word of the command line (`--name`, `--name=VALUE`, `-oVALUE`) means, or NULL. */
static const struct sonde_option *option_of(const struct sonde_usage *u, const char *word)
{
	struct sonde_str rest, name = sonde_str_cut(sonde_str_from(word + 2), '=', &rest);
	size_t i;

	for (i = 0; i < u->nr_options; i++) {
		const struct sonde_option *o = &u->options[i];

		if (word[1] == '-' ? sonde_str_is(name, o->name) : o->letter == word[1])
			return o;
	}
	return NULL;
}

static int refuse_unknown(struct parse *p)
{
	const struct sonde_usage *u = p->args->usage;
	const char *word = p->argv[p->at];
	struct sonde_str rest, name = sonde_str_from(word + (word[1] == '-' ? 2 : 1));
	struct sonde_nearest near = {.word = sonde_str_cut(name, '=', &rest), .below = 4};
	size_t i;

	for (i = 0; i < u->nr_options; i++)
		sonde_nearest_offer(&near, sonde_str_from(u->options[i].name));
	if (near.best.n)
		return sonde_err_set(p->err, SONDE_ERR_USAGE,
			"unknown option '%s', did you mean '--%s'?", word, near.best.p);
	return sonde_err_set(
		p->err, SONDE_ERR_USAGE, "unknown option '%s'; --help lists the options", word);
}

/* Takes one option, with its value attached (`value` not NULL) or in the next word. */
static int take_option(struct parse *p, const struct sonde_option *o, const char *value)
{
	if (o->kind == SONDE_OPTION_FLAG && value)
		return sonde_err_set(p->err, SONDE_ERR_USAGE, "--%s takes no value", o->name);
	if (o->kind == SONDE_OPTION_MAYBE && !value)
		value = "auto";
	if (o->kind != SONDE_OPTION_FLAG && !value) {
		if (p->at + 1 >= p->argc)
			return sonde_err_set(p->err, SONDE_ERR_USAGE, "--%s needs a value (%s)",
				o->name, o->arg);
		value = p->argv[++p->at];
	}
	return set_value(p, o, value);
}

static int take_word(struct parse *p)
{
	const char *word = p->argv[p->at], *sign = strchr(word, '=');
	const struct sonde_option *o = option_of(p->args->usage, word);

	if (!o || (word[1] != '-' && o->kind == SONDE_OPTION_FLAG && word[2]))
		return refuse_unknown(p);
	if (word[1] == '-')
		return take_option(p, o, sign ? sign + 1 : NULL);
	return take_option(p, o, word[2] ? word + 2 : NULL);
}

/* Whether a word is `--help`, or one of its forms from which the manual and the completions are made. */
static bool asks_help(struct sonde_args *out, const char *word)
{
	static const char *const words[] = {[SONDE_HELP_TEXT] = "--help",
		[SONDE_HELP_MAN] = "--help=man",
		[SONDE_HELP_TABLE] = "--help=table"};
	unsigned i;

	for (i = 0; i < sizeof(words) / sizeof(*words) && !out->wants_help; i++) {
		out->wants_help = strcmp(word, words[i]) == 0;
		out->help_as = (enum sonde_help)i;
	}
	if (!out->wants_help)
		out->help_as = SONDE_HELP_TEXT;
	out->wants_help |= strcmp(word, "-h") == 0;
	return out->wants_help;
}

int sonde_options_parse(struct sonde_args *out, const struct sonde_usage *u, void *into, int argc,
	char **argv, struct sonde_err *err)
{
	struct parse p = {out, argc, argv, 1, err};
	bool is_over = false;
	int rc = 0;

	out->usage = u;
	out->into = into;
	for (; p.at < argc && rc == 0; p.at++) {
		const char *word = argv[p.at];

		if (is_over || word[0] != '-' || !word[1]) {
			rc = add_word(&p, &out->operands, word);
		} else if (strcmp(word, "--") == 0) {
			is_over = true;
		} else if (asks_help(out, word)) {
			return 0;
		} else {
			rc = take_word(&p);
		}
	}
	return rc;
}

int sonde_options_read(struct sonde_args *out, const struct sonde_usage *u, void *into, int argc,
	char **argv, struct sonde_err *err)
{
	struct sonde_sink to;
	int rc = sonde_options_parse(out, u, into, argc, argv, err);

	if (rc || !out->wants_help)
		return rc;
	sonde_sink_init_fd(&to, STDOUT_FILENO);
	sonde_usage_print(u, out, &to);
	rc = sonde_sink_close(&to, err);
	return rc ? rc : 1;
}

static bool is_override(const char *word)
{
	const char *c = word;

	if (*c == '~')
		return c[1] != '\0';
	while (*c == '+')
		c++;
	if (!isalpha((unsigned char)*c) && *c != '_')
		return false;
	while (isalnum((unsigned char)*c) || (*c && strchr("_./@:-", *c)))
		c++;
	return *c == '=';
}

/* Whether the value of this option is the next word. */
static bool takes_next(const struct sonde_usage *u, const char *word)
{
	const struct sonde_option *o = option_of(u, word);

	return o && o->kind != SONDE_OPTION_FLAG && o->kind != SONDE_OPTION_MAYBE && (word[1] == '-' ? !strchr(word, '=') : !word[2]);
}

int sonde_options_split(const struct sonde_usage *u, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i;
		if (argv[i][0] == '-' && argv[i][1])
			i += takes_next(u, argv[i]);
		else if (!is_override(argv[i]))
			return i;
	}
	return argc;
}

void sonde_args_release(struct sonde_args *a)
{
	size_t i;

	for (i = 0; a->usage && i < a->usage->nr_options; i++) {
		const struct sonde_option *o = &a->usage->options[i];

		if (o->kind == SONDE_OPTION_WORDS || o->kind == SONDE_OPTION_LIST)
			sonde_vec_release((struct sonde_word_list *)(void *)(a->into + o->into));
	}
	sonde_vec_release(&a->operands);
	sonde_arena_release(&a->arena);
}
