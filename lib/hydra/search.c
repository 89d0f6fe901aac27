/*
 * Finds configs by path and reads each once: built-in ones, files in folders, and the dummy that means "no config".
 */
#include "hydra/search.h"

#include "base/file.h"
#include "hydra/yaml.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_CHARS 512

int hydra_search__add(struct hydra_search *s, enum hydra_conf_source_kind kind,
	const char *provider, struct sonde_str dir)
{
	struct hydra_conf_source *src = sonde_vec_push(&s->sources);

	if (!src)
		return hydra_ctx__nomem(s->cx);
	src->kind = kind;
	src->provider = hydra_ctx__dup(s->cx, sonde_str_from(provider));
	src->dir = hydra_ctx__dup(s->cx, dir);
	return s->cx->fail.code;
}

void hydra_search__release(struct hydra_search *s)
{
	sonde_vec_release(&s->sources);
	sonde_vec_release(&s->files);
	sonde_map_release(&s->paths);
}

/* DIR/PATH[.yaml] as a C string in the arena; NULL when that cannot be a file name. */
static const char *file_name(
	struct hydra_search *s, struct sonde_str dir, struct sonde_str path, bool yaml)
{
	if (memchr(path.p ? path.p : "", '\0', path.n) || path.n + dir.n > PATH_MAX)
		return NULL;
	return HYDRA_JOIN(s->cx, dir, SONDE_STR("/"), path,
		yaml && !sonde_str_ends(path, ".yaml") ? SONDE_STR(".yaml") : SONDE_STR(""))
		.p;
}

static bool is_kind(const char *name, mode_t kind)
{
	struct stat st;

	return name && stat(name, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

bool hydra_search__is_available(const struct hydra_conf_source *src)
{
	return src->kind != HYDRA_SOURCE_DIR || is_kind(src->dir.p, S_IFDIR);
}

/* Reads the header `# @package a.b`. Such a package is absolute. */
static int read_header_value(struct hydra_search *s, struct hydra_loaded *l, struct sonde_str line)
{
	struct sonde_str word, value, rest = line;

	word = sonde_str_cut(sonde_str_trim(rest), ' ', &rest);
	value = sonde_str_cut(sonde_str_trim(rest), ' ', &rest);
	if (!value.n)
		return hydra_ctx__fail_at(s->cx, "ValueError", l->from->name, 1,
			"Expected header format: KEY VALUE, got '%.*s'", SONDE_STR_ARG(line));
	if (sonde_str_trim(rest).n)
		return hydra_ctx__fail_at(s->cx, "ValueError", l->from->name, 1,
			"Too many components in '%.*s'", SONDE_STR_ARG(line));
	if (!sonde_str_is(word, "@package"))
		return 0;
	l->has_header = true;
	if (sonde_str_is(value, "_global_") || sonde_str_starts(value, "_global_."))
		l->header = hydra_ctx__dup(s->cx, value);
	else
		l->header = hydra_ctx__printf(s->cx, "_global_.%.*s", SONDE_STR_ARG(value));
	return s->cx->fail.code;
}

static int read_header(struct hydra_search *s, struct hydra_loaded *l, struct sonde_str data)
{
	if (data.n > HEADER_CHARS)
		data.n = HEADER_CHARS;
	while (data.n) {
		struct sonde_str line = sonde_str_trim(sonde_str_cut(data, '\n', &data));

		if (!line.n)
			continue;
		if (line.p[0] != '#')
			return 0;
		line = sonde_str_trim((struct sonde_str){line.p + 1, line.n - 1});
		if (!line.n || line.p[0] != '@')
			return 0;
		if (read_header_value(s, l, line))
			return s->cx->fail.code;
	}
	return 0;
}

static int parse(struct hydra_search *s, struct hydra_loaded *l, struct sonde_str data)
{
	struct hydra_datum *node;

	if (hydra_yaml__load_config(&node, s->cx, l->from, data) || read_header(s, l, data))
		return s->cx->fail.code;
	l->config = node;
	l->defaults = hydra_datum__getz(node, "defaults");
	hydra_datum__drop(l->defaults);
	l->found = true;
	return 0;
}

/* Opens `part` in the folder `fd`, and closes `fd`; -1 when it does not exist or is not allowed. */
static int open_step(struct hydra_search *s, const struct hydra_conf_source *src, int fd,
	const char *part, const char *so_far)
{
	int below = openat(fd, part, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char why[1024] = "cannot be examined";
	struct stat st;

	if (fd >= 0)
		close(fd);
	if (below < 0 || (fstat(below, &st) == 0 && src->is_allowed(&st, so_far, why, sizeof(why))))
		return below;
	hydra_ctx__fail(s->cx, "OSError", "%s", why);
	close(below);
	return -1;
}

/*
 * Opens a config of `src` folder by folder, and calls is_allowed for each descriptor. A check of the path
 * would not be enough: somebody may change a link between the check and the opening.
 */
static int open_asking(
	struct hydra_search *s, const struct hydra_conf_source *src, const char *name)
{
	char path[PATH_MAX], *slash = path + src->dir.n, *part = path;
	int fd = AT_FDCWD;

	if (strlen(name) >= sizeof(path))
		return -1;
	memcpy(path, name, strlen(name) + 1);
	for (; slash; part = slash + 1, slash = strchr(part, '/')) {
		*slash = '\0';
		if (*part) /* a//b is a/b */
			fd = open_step(s, src, fd, part, path);
		*slash = '/';
		if (fd == -1)
			return -1;
	}
	return open_step(s, src, fd, part, path);
}

static int map_file(struct hydra_search *s, const struct hydra_conf_source *src, const char *name,
	struct sonde_mapping *m, struct sonde_err *err)
{
	int fd, rc;

	if (!src->is_allowed)
		return sonde_mapping_open(m, name, err);
	fd = open_asking(s, src, name);
	rc = s->cx->fail.code ? s->cx->fail.code : sonde_mapping_open_fd(m, fd, name, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int read_file(struct hydra_search *s, const struct hydra_conf_source *src,
	struct hydra_loaded *l, const char *name)
{
	struct sonde_mapping m;
	struct sonde_err err = {0};

	if (map_file(s, src, name, &m, &err)) {
		if (s->cx->fail.code)
			return s->cx->fail.code;
		hydra_ctx__fail(s->cx, "OSError", "%s", err.msg);
		s->cx->fail.code = err.code;
		return err.code;
	}
	parse(s, l, m.data);
	sonde_mapping_release(&m);
	if (s->cx->fail.code && !s->cx->fail.where.n)
		s->cx->fail.where = l->from->name;
	return s->cx->fail.code;
}

static bool load_from(struct hydra_search *s, const struct hydra_conf_source *src,
	struct hydra_loaded *l, struct sonde_str path)
{
	struct hydra_from *from = hydra_ctx__alloc(s->cx, 1, sizeof(*from));
	const char *name, *text;

	if (!from)
		return true;
	l->from = from;
	if (src->kind == HYDRA_SOURCE_DIR) {
		name = file_name(s, src->dir, path, true);
		if (!is_kind(name, S_IFREG))
			return false;
		from->name = sonde_str_from(name);
		read_file(s, src, l, name);
		return true;
	}
	text = src->kind == HYDRA_SOURCE_BUILTIN ? hydra_builtin__text(path) : NULL;
	if (src->kind == HYDRA_SOURCE_SCHEMA && sonde_str_is(path, HYDRA_DUMMY_CONFIG))
		text = "";
	if (!text)
		return false;
	from->name = hydra_ctx__printf(s->cx, "built-in %.*s.yaml", SONDE_STR_ARG(path));
	parse(s, l, sonde_str_from(text));
	return true;
}

const struct hydra_loaded *hydra_search__load(struct hydra_search *s, struct sonde_str path)
{
	uint32_t i = sonde_map_find(&s->paths, path);
	struct hydra_loaded *l, **slot;
	size_t k;

	if (i != SONDE_NONE)
		return s->files.at[i]->found ? s->files.at[i] : NULL;
	l = hydra_ctx__alloc(s->cx, 1, sizeof(*l));
	slot = l ? sonde_vec_push(&s->files) : NULL;
	if (!slot || sonde_map_add(&s->paths, hydra_ctx__dup(s->cx, path), NULL) == SONDE_NONE) {
		hydra_ctx__nomem(s->cx);
		return NULL;
	}
	*slot = l;
	for (k = 0; k < s->sources.nr; k++)
		if (load_from(s, &s->sources.at[k], l, path))
			break;
	return l->found && !s->cx->fail.code ? l : NULL;
}

/* The part behind `group/` in the path of a built-in config, or NULL. */
static const char *below_group(const char *path, struct sonde_str group)
{
	if (!group.n)
		return path;
	if (strlen(path) <= group.n || memcmp(path, group.p, group.n) != 0)
		return NULL;
	return path[group.n] == '/' ? path + group.n + 1 : NULL;
}

static bool builtin_has_group(struct sonde_str group)
{
	const char *path;
	size_t i;

	for (i = 0; (path = hydra_builtin__path(i)); i++)
		if (below_group(path, group))
			return true;
	return false;
}

bool hydra_search__has_group(struct hydra_search *s, struct sonde_str group)
{
	size_t i;

	for (i = 0; i < s->sources.nr; i++) {
		const struct hydra_conf_source *src = &s->sources.at[i];

		if (src->kind == HYDRA_SOURCE_DIR &&
			is_kind(file_name(s, src->dir, group, false), S_IFDIR))
			return true;
		if (src->kind == HYDRA_SOURCE_BUILTIN && builtin_has_group(group))
			return true;
	}
	return false;
}

static int add_option(struct hydra_search *s, struct hydra_datum *list, struct sonde_str name)
{
	return hydra_datum__push_sorted(
		s->cx, list, hydra_datum__string(s->cx, hydra_ctx__dup(s->cx, name)));
}

static void list_dir_options(struct hydra_search *s, const struct hydra_conf_source *src,
	struct sonde_str group, struct hydra_datum *list)
{
	const char *dir = file_name(s, src->dir, group, false);
	DIR *d = dir ? opendir(dir) : NULL;
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)) && !s->cx->fail.code) {
		struct sonde_str name = sonde_str_from(e->d_name);

		if (!is_kind(file_name(s, sonde_str_from(dir), name, true), S_IFREG))
			continue;
		if (sonde_str_ends(name, ".yaml") && name.n > 5)
			name.n -= 5;
		add_option(s, list, name);
	}
	closedir(d);
}

static void builtin_options(
	struct hydra_search *s, struct sonde_str group, struct hydra_datum *list)
{
	const char *path, *name;
	size_t i;

	for (i = 0; (path = hydra_builtin__path(i)); i++) {
		name = below_group(path, group);
		if (name && !strchr(name, '/'))
			add_option(s, list, sonde_str_from(name));
	}
}

struct hydra_datum *hydra_search__options(struct hydra_search *s, struct sonde_str group)
{
	struct hydra_datum *list = hydra_datum__new(s->cx, HYDRA_LIST);
	size_t i;

	for (i = 0; list && i < s->sources.nr; i++) {
		if (s->sources.at[i].kind == HYDRA_SOURCE_DIR)
			list_dir_options(s, &s->sources.at[i], group, list);
		else if (s->sources.at[i].kind == HYDRA_SOURCE_BUILTIN)
			builtin_options(s, group, list);
	}
	return list;
}

void hydra_search__location(const struct hydra_conf_source *src, struct sonde_buf *b)
{
	char full[PATH_MAX];

	if (src->kind == HYDRA_SOURCE_BUILTIN) {
		sonde_buf_puts(b, "pkg://hydra.conf");
	} else if (src->kind == HYDRA_SOURCE_SCHEMA) {
		sonde_buf_puts(b, "structured://");
	} else {
		sonde_buf_puts(b, "file://");
		sonde_buf_puts(b, realpath(src->dir.p, full) ? full : src->dir.p);
	}
}

void hydra_search__describe(struct hydra_search *s, struct sonde_buf *b)
{
	size_t i;

	for (i = 0; i < s->sources.nr; i++) {
		sonde_buf_printf(
			b, "\n\tprovider=%.*s, path=", SONDE_STR_ARG(s->sources.at[i].provider));
		hydra_search__location(&s->sources.at[i], b);
	}
}
