#include "export/source_text.h"

#include "base/file.h"
#include "base/md5.h"
#include "base/sink.h"
#include "export/source_note.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_SOURCE (4u << 20) /* most bytes of a file whose lines are shown */
#define MOST_FILES  16u	       /* most files kept in memory */
#define MOST_NOTED  4096u
#define HASH_DIGITS 32u

struct sonde_source_file {
	uint32_t path; /* number of the path's string */
	enum sonde_source_state state;
	struct sonde_buf text;
};

/* --- files ----------------------------------------------------------------------------------------- */

/*
 * Appends a whole file, and says when it was changed. The path comes from the capture, so it may name anything: only
 * regular files are read, and a FIFO is not waited for. A relative path is refused, because nobody knows its folder.
 */
static bool read_file(struct sonde_buf *out, struct sonde_str path, uint64_t *changed_ns)
{
	struct stat st;
	int fd;

	if (!path.n || path.p[0] != '/' || memchr(path.p, '\0', path.n))
		return false;
	sonde_buf_clear(out);
	sonde_buf_str(out, path);
	fd = out->failed ? -1 : open(out->p, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	sonde_buf_clear(out);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MOST_SOURCE && st.st_mtim.tv_sec >= 0) {
		*changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
		sonde_fd_slurp(out, fd);
	}
	close(fd);
	return out->n > 0 && out->n <= MOST_SOURCE;
}

/* When the first process that was sampled began, in ns of real time; 0 = not known. */
static uint64_t captured_ns(const struct sonde_cells *c)
{
	uint64_t first = 0;
	size_t i;

	for (i = 0; i < c->stall_sources.nr; i++) {
		uint64_t ns = c->processes.at[c->stall_sources.at[i].process].first_ns;

		first = ns && (!first || ns < first) ? ns : first;
	}
	return first;
}

/* Compares whole seconds: not every file system has finer times. */
static bool is_older(uint64_t changed_ns, uint64_t than_ns)
{
	return changed_ns / 1000000000 < than_ns / 1000000000;
}

/* --- notes ------------------------------------------------------------------------------------------ */

/* Reads notes: a line `HASH PATH` for each file. */
static void read_notes(struct sonde_source_texts *s, struct sonde_str text)
{
	struct sonde_str line, hash, path;

	while (text.n) {
		line = sonde_str_cut(text, '\n', &text);
		hash = sonde_str_cut(line, ' ', &path);
		if (hash.n == HASH_DIGITS && path.n && s->hashes.nr < MOST_NOTED &&
			sonde_intern_copy(&s->arena, &s->paths, path, NULL) == s->hashes.nr)
			sonde_put(&s->arena, &s->hashes, sonde_arena_dup(&s->arena, hash));
	}
}

/* Finds the notes beside the capture, or beside the archive that it is in. */
static void find_notes(struct sonde_source_texts *s, struct sonde_str input)
{
	const unsigned most = sonde_str_has(input, ".tar/", NULL) ? 3 : 1;
	struct sonde_buf path = {0}, text = {0};
	unsigned up;

	for (up = 0; up < most && input.n; up++) {
		while (input.n && input.p[input.n - 1] != '/')
			input.n--;
		sonde_buf_clear(&path);
		sonde_buf_str(&path, input);
		sonde_buf_puts(&path, SONDE_SOURCE_NOTES);
		sonde_buf_clear(&text);
		if (!path.failed && sonde_file_slurp(&text, path.p)) {
			read_notes(s, sonde_buf_view(&text));
			break;
		}
		input.n -= input.n > 0;
	}
	sonde_buf_release(&path);
	sonde_buf_release(&text);
}

int sonde_source_note(const struct sonde_cells *c, const char *path, struct sonde_err *err)
{
	const uint64_t began = captured_ns(c);
	struct sonde_buf text = {0}, notes = {0};
	struct sonde_map seen = {0};
	uint64_t changed;
	char hash[33];
	size_t i;
	int rc = 0;

	for (i = 0; i < c->lines.nr && seen.nr < MOST_NOTED; i++) {
		const struct sonde_str file = sonde_cells_str(c, c->lines.at[i].file);
		bool is_new = false;

		if (sonde_map_add(&seen, file, &is_new) == SONDE_NONE || !is_new || memchr(file.p, '\n', file.n) ||
			!read_file(&text, file, &changed) || !is_older(changed, began))
			continue; /* it changed while the program ran, so nobody knows what was compiled */
		sonde_md5(hash, sonde_buf_view(&text));
		sonde_buf_printf(&notes, "%s %.*s\n", hash, SONDE_STR_ARG(file));
	}
	if (notes.failed || text.failed)
		rc = sonde_err_nomem(err);
	else if (notes.n)
		rc = sonde_file_write(path, sonde_buf_view(&notes), err);
	sonde_map_release(&seen);
	sonde_buf_release(&notes);
	sonde_buf_release(&text);
	return rc;
}

/* --- texts ------------------------------------------------------------------------------------------- */

void sonde_source_texts_open(struct sonde_source_texts *s, const struct sonde_cells *c)
{
	size_t i;

	*s = (struct sonde_source_texts){.c = c, .captured_ns = captured_ns(c)};
	for (i = 0; i < c->inputs.nr && c->lines.nr; i++)
		find_notes(s, c->inputs.at[i].path);
}

static enum sonde_source_state compare_with_note(struct sonde_source_texts *s, struct sonde_str path, const struct sonde_buf *text,
	uint64_t changed)
{
	uint32_t noted = sonde_map_find(&s->paths, path);
	char hash[33];

	if (noted >= s->hashes.nr)
		return is_older(changed, s->captured_ns) ? SONDE_SOURCE_IS_THERE : SONDE_SOURCE_CHANGED;
	sonde_md5(hash, sonde_buf_view(text));
	return sonde_str_is(s->hashes.at[noted], hash) ? SONDE_SOURCE_IS_THERE : SONDE_SOURCE_CHANGED;
}

static struct sonde_source_file *file_of(struct sonde_source_texts *s, uint32_t path)
{
	struct sonde_source_file f = {.path = path};
	const struct sonde_str name = sonde_cells_str(s->c, path);
	uint64_t changed;
	size_t i;

	for (i = 0; i < s->files.nr; i++)
		if (s->files.at[i].path == path)
			return &s->files.at[i];
	if (s->files.nr == MOST_FILES)
		for (; s->files.nr; s->files.nr--)
			sonde_buf_release(&s->files.at[s->files.nr - 1].text);
	if (read_file(&f.text, name, &changed))
		f.state = compare_with_note(s, name, &f.text, changed);
	if (f.state != SONDE_SOURCE_IS_THERE)
		sonde_buf_release(&f.text);
	i = s->files.nr;
	sonde_put(&s->arena, &s->files, f);
	if (s->files.nr > i)
		return &s->files.at[i];
	sonde_buf_release(&f.text);
	return NULL;
}

enum sonde_source_state sonde_source_text(struct sonde_source_texts *s, const struct sonde_line *line, struct sonde_str *text)
{
	const struct sonde_source_file *f = file_of(s, line->file);
	struct sonde_str rest, at = {0};
	uint32_t i;

	*text = (struct sonde_str){0};
	if (!f || f->state != SONDE_SOURCE_IS_THERE)
		return f ? f->state : SONDE_SOURCE_ABSENT;
	for (rest = sonde_buf_view(&f->text), i = 0; i < line->line && (rest.n || !i); i++)
		at = sonde_str_cut(rest, '\n', &rest);
	if (i != line->line)
		return SONDE_SOURCE_CHANGED;
	*text = sonde_str_trim(at);
	return SONDE_SOURCE_IS_THERE;
}

void sonde_source_texts_release(struct sonde_source_texts *s)
{
	size_t i;

	for (i = 0; i < s->files.nr; i++)
		sonde_buf_release(&s->files.at[i].text);
	sonde_arena_release(&s->arena);
}
