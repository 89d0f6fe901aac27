#include "base/argv.h"
#include "base/file.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/newest_run.h"
#include "cli/option.h"

#include <string.h>
#include <unistd.h>

struct request {
	struct sonde_args args;
	bool is_served;
	size_t port;
};

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT(0, "serve", NULL, FLAG, is_served, "serve the page even where there is a browser"),
	SONDE_OPT(0, "port", "N", NUMBER, port, "serve it on this port (any that is free)"),
};

static const struct sonde_usage usage = {"sonde view [INPUT... [KEY=VALUE...]] [options]",
	"Shows the page of a run or of captures in a browser: $BROWSER, or xdg-open where\n"
	"there is a display. Without either the page is served on 127.0.0.1, at an address\n"
	"that nobody can guess, until Ctrl-C; the ssh command that leads there from another\n"
	"machine is printed. INPUT is what `sonde report` reads, a page\n"
	"(.html), or the directory of a comparison (`sonde run --base-cmd`).\n"
	"Without INPUT it is the newest run or comparison.",
	options, sizeof(options) / sizeof(*options),
	{{"the newest run", "sonde view"},
		{"a capture, for a browser on another machine", "sonde view kernels.ncu-rep --serve --port 8080"}}};

/* Finds a page that exists: the one named, or that of a run or a comparison; NULL = the page has to be made. */
static const char *find_page(const struct sonde_word_list *inputs, struct sonde_arena *arena)
{
	static const char *const names[] = {"report.html", "diff.html"};
	const char *input = inputs->at[0], *page;
	size_t i;

	if (inputs->nr != 1)
		return NULL;
	if (!sonde_dir_exists(input))
		return sonde_str_ends(sonde_str_from(input), ".html") ? input : NULL;
	for (i = 0; i < 2; i++) {
		page = sonde_arena_printf(arena, "%s/%s", input, names[i]).p;
		if (page && access(page, R_OK) == 0)
			return page;
	}
	return NULL;
}

/* Runs `sonde report INPUT… -f html -o PAGE`; returns its exit status. */
static int make_page(const struct sonde_word_list *inputs, const char *page)
{
	struct sonde_argv words = {0};
	struct sonde_err err = {0};
	size_t i;
	int status;

	sonde_argv_add(&words, "report");
	sonde_argv_pair(&words, "-f", "html");
	sonde_argv_pair(&words, "-o", page);
	sonde_argv_add(&words, "--");
	for (i = 0; i < inputs->nr; i++)
		sonde_argv_add(&words, inputs->at[i]);
	if (words.failed) {
		sonde_err_nomem(&err);
		status = sonde_cmd_fail(&err);
	} else {
		status = sonde_cmd_report((int)words.words.nr, words.words.at);
	}
	sonde_argv_release(&words);
	return status;
}

static int take_newest(struct request *q, struct sonde_err *err)
{
	const char *newest;
	int rc = sonde_newest_page(&newest, "view", &q->args.arena, err);

	return rc || sonde_word_list_add(&q->args.operands, newest) ? rc : sonde_err_nomem(err);
}

/* `-o FILE` is an option of `sonde report`, so people try it here. */
static int refuse_file(int argc, char **argv, struct sonde_err *err)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], "-o", 2) == 0 || strcmp(argv[i], "--output") == 0)
			return sonde_err_set(err, SONDE_ERR_USAGE, "unknown option '%s'; `sonde report INPUT -o x.html` writes the page to a file", argv[i]);
	return 0;
}

int sonde_cmd_view(int argc, char **argv)
{
	struct request q = {0};
	struct sonde_err err = {0};
	struct sonde_page_view look = {0};
	char made[SONDE_PAGE_PATH];
	int rc = refuse_file(argc, argv, &err), status = 0;

	if (rc == 0)
		rc = sonde_options_read(&q.args, &usage, &q, argc, argv, &err);
	if (rc == 0 && !q.args.operands.nr)
		rc = take_newest(&q, &err);
	if (rc == 0)
		look = (struct sonde_page_view){.page = find_page(&q.args.operands, &q.args.arena),
			.is_served = q.is_served,
			.port = q.port};
	if (rc == 0 && !look.page) {
		rc = sonde_page_view_place(made, &err);
		look.page = made;
		look.is_made = true;
		status = rc ? 0 : make_page(&q.args.operands, made);
	}
	if (rc == 0 && status == 0)
		rc = sonde_page_view_show(&look, &err);
	else if (rc == 0 && look.is_made)
		sonde_page_view_forget(&look);
	sonde_args_release(&q.args);
	return rc < 0 ? sonde_cmd_fail(&err) : status;
}
