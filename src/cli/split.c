#include "cli/split.h"

#include <ctype.h>
#include <string.h>

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

static bool takes_next(const struct sonde_usage *u, const char *word)
{
	struct sonde_str rest, name;
	size_t i;

	if (word[1] != '-') {
		for (i = 0; i < u->nr_options; i++)
			if (u->options[i].letter && u->options[i].letter == word[1])
				return u->options[i].kind != SONDE_OPTION_FLAG && !word[2];
		return false;
	}
	name = sonde_str_cut(sonde_str_from(word + 2), '=', &rest);
	if (word[2 + name.n] == '=')
		return false;
	for (i = 0; i < u->nr_options; i++)
		if (sonde_str_is(name, u->options[i].name))
			return u->options[i].kind != SONDE_OPTION_FLAG;
	return false;
}

int sonde_split(const struct sonde_usage *usage, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i;
		if (argv[i][0] == '-' && argv[i][1])
			i += takes_next(usage, argv[i]);
		else if (!is_override(argv[i]))
			return i;
	}
	return argc;
}
