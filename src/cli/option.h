/*
 * Options: one table per command says what it takes; parsing and help come
 * from it.
 *
 * `--name VALUE`, `--name=VALUE`, `-o VALUE`, `-oVALUE`; `--` ends the options;
 * options and operands may be mixed. Everything points into argv.
 */
#ifndef SONDE_CLI_OPTION_H
#define SONDE_CLI_OPTION_H

#include "base/arena.h"
#include "base/sink.h"
#include "base/words.h"

#include <stddef.h>

enum sonde_option_kind {
	SONDE_OPTION_FLAG,   /* bool *: present or not */
	SONDE_OPTION_WORD,   /* const char **: the last one wins */
	SONDE_OPTION_WORDS,  /* struct sonde_word_list *: may be repeated */
	SONDE_OPTION_LIST,   /* the same, and each value may be a list a,b,c */
	SONDE_OPTION_NUMBER, /* size_t *: 1 or more */
	SONDE_OPTION_LIMIT,  /* size_t *: the same; 0 and `all` are SIZE_MAX */
	SONDE_OPTION_CHOICE, /* int *: index of the word in `arg`, "a|b|c" */
	SONDE_OPTION_ONE_OF, /* const char **: the word itself */
	SONDE_OPTION_MAYBE,  /* const char **: the value after `=`; "auto" if there is none */
};

struct sonde_option {
	char letter; /* 0 = none */
	const char *name;
	const char *arg; /* the value as help writes it; for a choice, all values */
	const char *help;
	uint8_t kind;
	size_t into; /* offset of the member in the command's request */
	/* The configuration key that the option is short for (overrides.h), for a flag KEY=VALUE; NULL = none. */
	const char *key;
};

/*
 * One row; the file defines INTO(member) as the offset in its request. The second form is for options that are short
 * for a key.
 */
#define SONDE_OPT(letter, name, arg, kind, member, help)                                           \
	{letter, name, arg, help, SONDE_OPTION_##kind, INTO(member), NULL}
#define SONDE_OPT_KEY(name, arg, kind, member, key, help)                                          \
	{0, name, arg, help, SONDE_OPTION_##kind, INTO(member), key}

/* Rows that several commands have, the same in each. */
#define SONDE_OPT_WIDTH(member)                                                                    \
	SONDE_OPT(0, "width", "N", NUMBER, member, "columns of the terminal (its own; 100 for a file)")
#define SONDE_OPT_COLOUR(member)                                                                   \
	SONDE_OPT(0, "color", "auto|always|never", CHOICE, member,                                 \
		"colours in text (auto: on a terminal)")
#define SONDE_OPT_CONFIG_DIR(member)                                                               \
	SONDE_OPT(0, "config-dir", "DIR", WORD, member, "look for configuration files here first")
#define SONDE_OPT_CONFIG_NAME(member)                                                              \
	SONDE_OPT(0, "config-name", "NAME", WORD, member, "the configuration to start from (config)")

/* The options of a command, and its help. */
struct sonde_usage {
	const char *synopsis; /* "sonde report INPUT… [options]" */
	const char *about;    /* a sentence or two */
	const struct sonde_option *options;
	size_t nr_options;
	const char *examples[2][2]; /* what the command does, the command */
};

enum sonde_help {
	SONDE_HELP_TEXT,  /* --help */
	SONDE_HELP_MAN,	  /* --help=man: a page of the manual, without its head */
	SONDE_HELP_TABLE, /* --help=table: a line per option, for scripts/completions */
};

/* The words of the command line that are no options. Start with `= {0}`. */
struct sonde_args {
	struct sonde_word_list operands;
	bool wants_help; /* --help was there; nothing after it was read */
	enum sonde_help help_as;
	struct sonde_arena arena; /* texts of lists that were split */
	const struct sonde_usage *usage;
	char *into; /* the request, whose lists of words are released with this struct */
};

/* Fills in the request `into`. Returns 0 or SONDE_ERR_USAGE. */
int sonde_options_parse(struct sonde_args *out, const struct sonde_usage *u, void *into, int argc,
	char **argv, struct sonde_err *err);
/* The same, but prints the help if the user asks for it: then returns 1, and there is nothing more to do. */
int sonde_options_read(struct sonde_args *out, const struct sonde_usage *u, void *into, int argc,
	char **argv, struct sonde_err *err);
/*
 * Where sonde's own words end and the program's begin: returns how many words of argv are sonde's own, argv[0]
 * included. Own words are the options of `u` with their values, and `KEY=VALUE` overrides (also `+KEY=`, `++KEY=`,
 * `~KEY`). The first other word, or `--`, begins the program.
 */
int sonde_options_split(const struct sonde_usage *u, int argc, char **argv);
/* Also releases the word lists of the request, so that commands neither copy nor release them. */
void sonde_args_release(struct sonde_args *a);
/* Prints the help in the form that `args` asks for (usage.c). */
void sonde_usage_print(
	const struct sonde_usage *u, const struct sonde_args *args, struct sonde_sink *to);
/* The head of a manual page, and text in one: nothing in the text becomes a request of troff. */
void sonde_man_head(struct sonde_sink *to, const char *name, const char *summary);
void sonde_man_text(struct sonde_sink *to, struct sonde_str text);

#endif
