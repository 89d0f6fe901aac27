#include "cli/settings.h"

#include "cli/say.h"

#include <string.h>
#include <unistd.h>

#define CLI "pipeline.ncu.ncu_cli."

static void add_line(struct sonde_overrides *o, struct sonde_str line)
{
	const char **slot = line.p ? sonde_vec_push(&o->lines) : NULL;

	if (slot)
		*slot = line.p;
	else
		o->failed = true;
}

void sonde_overrides_add(struct sonde_overrides *o, const char *line)
{
	add_line(o, sonde_arena_dup(&o->arena, sonde_str_from(line)));
}

/* In quotes, as the override grammar wants it: the quote and backslashes before it are escaped. */
static void quote(struct sonde_buf *b, const char *word)
{
	size_t backslashes = 0;

	sonde_buf_putc(b, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			for (backslashes++; backslashes; backslashes--)
				sonde_buf_putc(b, '\\');
		backslashes = *word == '\\' ? backslashes + 1 : 0;
		sonde_buf_putc(b, *word);
	}
	for (; backslashes; backslashes--)
		sonde_buf_putc(b, '\\');
	sonde_buf_putc(b, '\'');
}

static void add_buf(struct sonde_overrides *o, struct sonde_buf *b)
{
	if (b->failed)
		o->failed = true;
	else
		add_line(o, sonde_arena_dup(&o->arena, sonde_buf_view(b)));
	sonde_buf_release(b);
}

void sonde_overrides_list(
	struct sonde_overrides *o, const char *key, const struct sonde_word_list *words)
{
	struct sonde_buf b = {0};
	size_t i;

	if (!words->nr)
		return;
	sonde_buf_printf(&b, "%s=[", key);
	for (i = 0; i < words->nr; i++) {
		sonde_buf_puts(&b, i ? "," : "");
		quote(&b, words->at[i]);
	}
	sonde_buf_putc(&b, ']');
	add_buf(o, &b);
}

void sonde_overrides_word(struct sonde_overrides *o, const char *key, const char *word)
{
	struct sonde_buf b = {0};

	if (!word)
		return;
	sonde_buf_printf(&b, "%s=", key);
	quote(&b, word);
	add_buf(o, &b);
}

void sonde_overrides_number(struct sonde_overrides *o, const char *key, size_t number)
{
	struct sonde_buf b = {0};

	if (!number)
		return;
	sonde_buf_printf(&b, "%s=%zu", key, number == SONDE_NO_LIMIT ? 0 : number);
	add_buf(o, &b);
}

void sonde_overrides_release(struct sonde_overrides *o)
{
	sonde_vec_release(&o->lines);
	sonde_arena_release(&o->arena);
}

int sonde_settings_compose(struct hydra_config **out, const struct sonde_config_request *req,
	bool is_quiet, struct sonde_err *err)
{
	struct sonde_config_request with_notes = *req;
	struct sonde_notes notes = {0};
	size_t i;
	int rc;

	with_notes.notes = &notes;
	rc = sonde_config_open(out, &with_notes, err);
	for (i = 0; i < notes.texts.nr && !is_quiet; i++)
		sonde_say_text(notes.texts.keys[i]);
	sonde_notes_release(&notes);
	return rc;
}

static int read_list(struct sonde_word_list *into, const struct hydra_config *c, const char *key,
	struct sonde_words *out, struct sonde_err *err)
{
	const struct sonde_str *items;
	size_t i, nr = hydra_config_list(c, key, &items);

	for (i = 0; i < nr; i++) {
		const char **slot = sonde_vec_push(into);

		if (!slot)
			return sonde_err_nomem(err);
		*slot = items[i].p; /* NUL-terminated, as the config's door promises */
	}
	*out = (struct sonde_words){into->at, into->nr};
	return 0;
}

/* Set on the command line, or in a file of the user's: then it must be there. */
static bool is_default(const struct hydra_config *c, const char *key)
{
	struct sonde_str origin = hydra_config_origin(c, key);

	return !sonde_str_starts(origin, "override");
}

static size_t limit_of(int64_t n)
{
	return n > 0 ? (size_t)n : SONDE_NO_LIMIT;
}

static enum sonde_sort sort_named(struct sonde_str word)
{
	if (sonde_str_is(word, "time"))
		return SONDE_SORT_TIME;
	if (sonde_str_is(word, "launches"))
		return SONDE_SORT_LAUNCHES;
	return sonde_str_is(word, "name") ? SONDE_SORT_NAME : SONDE_SORT_ORDER;
}

/* What ncu compared with something else than we would: `regex:` over function names. */
static bool is_comparable(const struct hydra_config *c)
{
	const struct sonde_str *names;
	size_t i, nr = hydra_config_list(c, CLI "kernel_name", &names);

	if (sonde_str_is(hydra_config_str(c, CLI "kernel_name_base"), "demangled"))
		return true;
	for (i = 0; i < nr; i++)
		if (sonde_str_starts(names[i], "regex:"))
			return false;
	return true;
}

static bool stands_in(const struct hydra_config *c, enum sonde_stand_in when, const char *key)
{
	if (!key || when == SONDE_STAND_IN_NEVER)
		return false;
	return when == SONDE_STAND_IN_ALWAYS || !is_default(c, key);
}

static int read_lists(struct sonde_settings *s, const struct hydra_config *c,
	enum sonde_stand_in when, struct sonde_err *err)
{
	const struct sonde_str *items;
	bool chooses_metrics = hydra_config_list(c, "report.metrics", &items) ||
			       hydra_config_list(c, "report.sections", &items);
	const struct {
		const char *key, *capture_key;
		struct sonde_words *out;
	} lists[] = {
		{"report.nvtx.include", CLI "nvtx.include", &s->fold.selection.nvtx_include},
		{"report.nvtx.exclude", CLI "nvtx.exclude", &s->fold.selection.nvtx_exclude},
		{"report.kernels.include", is_comparable(c) ? CLI "kernel_name" : NULL,
			&s->fold.selection.kernel_include},
		{"report.kernels.exclude", CLI "kernel_exclude", &s->fold.selection.kernel_exclude},
		{"report.metrics", chooses_metrics ? NULL : CLI "metrics", &s->fold.choice.metrics},
		{"report.sections", chooses_metrics ? NULL : CLI "sections", &s->fold.choice.sections},
		{"report.labels", NULL, &s->fold.selection.labels},
		{"report.scope", NULL, &s->options.scopes},
		{"report.formats", NULL, &s->options.formats},
	};
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]) && rc == 0; i++) {
		rc = read_list(&s->lists[i], c, lists[i].key, lists[i].out, err);
		if (rc || s->lists[i].nr || !stands_in(c, when, lists[i].capture_key))
			continue;
		rc = read_list(&s->lists[i], c, lists[i].capture_key, lists[i].out, err);
		if (lists[i].out == &s->fold.selection.nvtx_exclude)
			s->fold.selection.is_exclude_done = true;
	}
	return rc;
}

static unsigned kineto_regions(const struct hydra_config *c)
{
	static const struct {
		const char *word;
		unsigned bit;
	} kinds[] = {{"user_annotation", SONDE_KINETO_ANNOTATIONS},
		{"cpu_op", SONDE_KINETO_OPERATORS}, {"python_function", SONDE_KINETO_PYTHON}};
	const struct sonde_str *items;
	size_t i, n, nr = hydra_config_list(c, "report.kineto.regions", &items);
	unsigned bits = 0;

	for (i = 0; i < nr; i++)
		for (n = 0; n < sizeof(kinds) / sizeof(*kinds); n++)
			bits |= sonde_str_is(items[i], kinds[n].word) ? kinds[n].bit : 0;
	return bits;
}

/* all, none, or how many. */
static int read_folders(
	struct sonde_export_options *o, struct sonde_str word, struct sonde_err *err)
{
	size_t i, n = 0;

	o->no_folders = sonde_str_is(word, "none") || sonde_str_is(word, "0");
	o->max_folders = SONDE_NO_LIMIT;
	if (o->no_folders || sonde_str_is(word, "all"))
		return 0;
	for (i = 0; i < word.n && word.p[i] >= '0' && word.p[i] <= '9' && n < 100000000; i++)
		n = n * 10 + (size_t)(word.p[i] - '0');
	if (i < word.n || i == 0)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report.folders must be all, none or a number, not '%.*s'",
			SONDE_STR_ARG(word));
	o->max_folders = n;
	return 0;
}

int sonde_settings_read(struct sonde_settings *s, const struct hydra_config *c,
	enum sonde_stand_in when, struct sonde_err *err)
{
	bool is_named = when == SONDE_STAND_IN_NAMED;
	int rc = read_lists(s, c, when, err);

	s->fold.read.kineto_regions = kineto_regions(c);
	s->fold.selection.stack_only = sonde_str_is(hydra_config_str(c, "report.nesting"), "stack");
	s->fold.selection.own_threads = sonde_str_is(hydra_config_str(c, "report.threads"), "own");
	s->fold.selection.no_origins = sonde_str_is(hydra_config_str(c, "report.origins"), "off");
	s->fold.choice.metrics_by_default =
		is_default(c, "report.metrics") && !(is_named && !is_default(c, CLI "metrics"));
	s->fold.choice.sections_by_default =
		is_default(c, "report.sections") && !(is_named && !is_default(c, CLI "sections"));
	s->fold.choice.no_aggregate = !hydra_config_bool(c, "report.aggregate");
	s->options.lists_entries = hydra_config_bool(c, "report.entries");
	s->options.is_flat = hydra_config_bool(c, "report.flat");
	s->options.full_names = hydra_config_bool(c, "report.full_names");
	s->options.per_scope = hydra_config_bool(c, "report.per_scope");
	s->options.max_regions = limit_of(hydra_config_int(c, "report.max_regions"));
	s->options.max_kernels = limit_of(hydra_config_int(c, "report.max_kernels"));
	s->options.sort = sort_named(hydra_config_str(c, "report.sort"));
	return rc ? rc : read_folders(&s->options, hydra_config_str(c, "report.folders"), err);
}

void sonde_settings_release(struct sonde_settings *s)
{
	size_t i;

	for (i = 0; i < sizeof(s->lists) / sizeof(s->lists[0]); i++)
		sonde_vec_release(&s->lists[i]);
}

int sonde_settings_record(struct hydra_config *c, struct sonde_sink *yaml, struct sonde_err *err)
{
	const struct hydra_dump how = sonde_config_record(c, HYDRA_PART_JOB, "report");

	return hydra_config_dump(c, yaml, &how, err);
}

bool sonde_is_override(const char *operand)
{
	if (access(operand, F_OK) == 0)
		return false; /* a file may be called a=b */
	return strchr(operand, '=') || (operand[0] == '~' && operand[1] && !strchr(operand, '/'));
}
