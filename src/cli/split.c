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

/* Whether the value of this option is the next word. */
static bool takes_next(const struct sonde_usage *u, const char *word)
{
	const struct sonde_option *o = sonde_option_of(u, word);

	return o && o->kind != SONDE_OPTION_FLAG && (word[1] == '-' ? !strchr(word, '=') : !word[2]);
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
