/*
 * What a capture file says of the process it is of: where it ran, as what, and how it was captured. Lines of
 * KEY=VALUE, in a block of their own. Secrets on the command line are masked before they reach the disk.
 */
#include "base/secret.h"
#include "inject/outfile_int.h"
#include "inject/raw_int.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/utsname.h>

#define MAX_SECRETS 32 /* of one word: what is behind the last is masked as well */

/*
 * The word at `at` goes to `to`, before or at where it is, masked. Returns how long it is then. All
 * secrets are found first: they are told by the bytes around them, which are written over.
 */
static size_t mask_word(char *text, size_t to, size_t at, size_t n, struct sonde_secret *s)
{
	size_t from[MAX_SECRETS + 1], end[MAX_SECRETS] = {0}, nr = 0, i, out = to, done = 0;

	sonde_secret_word(s, text + at, n);
	while (sonde_secret_next(s, &from[nr < MAX_SECRETS ? nr : MAX_SECRETS], &i))
		if (nr < MAX_SECRETS)
			end[nr++] = i;
		else
			end[nr - 1] = n;
	for (i = 0; i < nr; i++) {
		size_t len = end[i] - from[i], mask = sizeof(SONDE_SECRET_MASK) - 1;

		memmove(text + out, text + at + done, from[i] - done);
		out += from[i] - done;
		len = len < mask ? len : mask;
		memcpy(text + out, SONDE_SECRET_MASK, len);
		out += len;
		done = end[i];
	}
	memmove(text + out, text + at + done, n - done);
	return out + n - done - to;
}

/* Words that end with a NUL each: what looks like a secret becomes a mask. Returns what is left. */
static size_t mask_words(char *text, size_t len)
{
	struct sonde_secret s = {0};
	size_t at = 0, out = 0, n;

	for (; at < len; at += n + 1) {
		n = strnlen(text + at, len - at);
		out += mask_word(text, out, at, n, &s);
		text[out++] = '\0';
	}
	return out;
}

/* A file of the host's in /proc: `self` is the flusher's own process. */
static void name_of_host(char *to, size_t cap, const char *file)
{
	struct raw_text name = {to, 0, cap};

	sonde_raw__text(&name, "/proc/");
	sonde_raw__number(&name, (uint64_t)sonde_inject.pid);
	sonde_raw__text(&name, file);
}

/* The host's command line, its words apart by blanks. */
static const char *host_command(char *to, size_t cap)
{
	char path[64];
	size_t i, n;

	name_of_host(path, sizeof(path), "/cmdline");
	n = mask_words(to, sonde_raw__slurp(path, to, cap));
	while (n && (to[n - 1] == '\0' || to[n - 1] == '\n'))
		n--;
	for (i = 0; i < n; i++) {
		if (to[i] == '\0' || to[i] == '\n')
			to[i] = ' ';
	}
	to[n] = '\0';
	return to;
}

static const char *host_exe(char *to, size_t cap)
{
	char path[64];
	long n;

	name_of_host(path, sizeof(path), "/exe");
	n = raw_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)to, (long)cap - 1, 0);
	to[n > 0 ? n : 0] = '\0';
	return to;
}

static void say(struct raw_text *t, const char *key, const char *value)
{
	sonde_raw__text(t, key);
	sonde_raw__text(t, value);
	sonde_raw__text(t, "\n");
}

static void say_number(struct raw_text *t, const char *key, uint64_t value)
{
	sonde_raw__text(t, key);
	sonde_raw__number(t, value);
	sonde_raw__text(t, "\n");
}

void sonde_outfile__put_meta(uint32_t part)
{
	static char text[8192 + PATH_MAX], command[4096], exe[PATH_MAX];
	static struct utsname u;
	const struct config *c = &sonde_inject.config;
	struct raw_text t = {text, 0, sizeof(text)};

	raw_call(SYS_uname, (long)&u, 0, 0, 0, 0);
	say(&t, "tool=sonde ", SONDE_VERSION);
	say(&t, "host=", u.nodename);
	say_number(&t, "pid=", (uint64_t)sonde_inject.pid);
	say_number(&t, "ppid=", (uint64_t)sonde_inject.ppid);
	if (*sonde_inject.runner)
		say(&t, "runner=", sonde_inject.runner);
	say(&t, "rank=", sonde_inject.rank);
	say(&t, "ranks=", sonde_inject.nr_ranks);
	say(&t, "command=", host_command(command, sizeof(command)));
	say(&t, "exe=", host_exe(exe, sizeof(exe)));
	say(&t, "ticks=", sonde_inject.use_counter ? "counter" : "monotonic");
	say(&t, "cupti=", c->use_cupti ? "wanted" : "off");
	say(&t, "graphs=", c->whole_graphs ? "whole" : "nodes");
	say_number(&t, "flush_ms=", c->flush_ms);
	if (c->window.text)
		say(&t, "window=", c->window.text);
	if (part)
		say_number(&t, "part=", part);
	sonde_outfile__put_block(SONDE_BLOCK_META, text, t.n, NULL, 0);
}
