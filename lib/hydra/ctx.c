/* The context of a composition: its failure, and its memory, which is limited. */
#include "hydra/ctx.h"

#include <string.h>

/* Records a failure, unless there is one already. */
static int __attribute__((format(printf, 3, 0)))
record(struct hydra_ctx *cx, struct hydra_fail fail, const char *fmt, va_list ap)
{
	struct sonde_buf b = {0};

	if (cx->fail.code)
		return cx->fail.code;
	sonde_buf_vprintf(&b, fmt, ap);
	fail.msg = sonde_arena_dup(cx->arena, sonde_buf_view(&b));
	if (b.failed || cx->arena->failed)
		hydra_ctx__nomem(cx);
	else
		cx->fail = fail;
	sonde_buf_release(&b);
	return cx->fail.code;
}

int hydra_ctx__fail(struct hydra_ctx *cx, const char *type, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	record(cx, (struct hydra_fail){.code = SONDE_ERR_USAGE, .type = type}, fmt, ap);
	va_end(ap);
	return cx->fail.code;
}

void *hydra_ctx__refuse(struct hydra_ctx *cx, const char *type, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	record(cx, (struct hydra_fail){.code = SONDE_ERR_USAGE, .type = type}, fmt, ap);
	va_end(ap);
	return NULL;
}

int hydra_ctx__fail_at(struct hydra_ctx *cx, const char *type, struct sonde_str file, uint32_t line,
	const char *fmt, ...)
{
	struct hydra_fail fail = {.code = SONDE_ERR_USAGE, .type = type};
	va_list ap;

	if (file.n && !cx->fail.code)
		fail.where = sonde_arena_printf(cx->arena, "%.*s:%u", SONDE_STR_ARG(file), line);
	va_start(ap, fmt);
	record(cx, fail, fmt, ap);
	va_end(ap);
	return cx->fail.code;
}

int hydra_ctx__nomem(struct hydra_ctx *cx)
{
	if (!cx->fail.code)
		cx->fail = (struct hydra_fail){.code = SONDE_ERR_NOMEM,
			.type = "MemoryError",
			.msg = SONDE_STR("out of memory")};
	return cx->fail.code;
}

int hydra_ctx__limit(struct hydra_ctx *cx, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	record(cx, (struct hydra_fail){.code = SONDE_ERR_LIMIT, .type = "LimitError"}, fmt, ap);
	va_end(ap);
	return cx->fail.code;
}

bool hydra_ctx__is_deep(struct hydra_ctx *cx, unsigned depth)
{
	if (depth > HYDRA_MAX_DEPTH)
		hydra_ctx__limit(cx, "values are nested deeper than %d levels", HYDRA_MAX_DEPTH);
	return depth > HYDRA_MAX_DEPTH;
}

int hydra_ctx__wrap(struct hydra_ctx *cx, const char *type, const char *fmt, ...)
{
	struct hydra_fail inner = cx->fail;
	va_list ap;

	if (!hydra_ctx__is_user_error(cx))
		return cx->fail.code;
	hydra_ctx__clear(cx);
	va_start(ap, fmt);
	record(cx,
		(struct hydra_fail){.code = SONDE_ERR_USAGE,
			.type = type,
			.cause_type = inner.type,
			.cause = inner.msg,
			.where = inner.where},
		fmt, ap);
	va_end(ap);
	return cx->fail.code;
}

void hydra_ctx__clear(struct hydra_ctx *cx)
{
	cx->fail = (struct hydra_fail){0};
}

bool hydra_ctx__is_user_error(const struct hydra_ctx *cx)
{
	return cx->fail.code == SONDE_ERR_USAGE;
}

bool hydra_ctx__is_type(const struct hydra_ctx *cx, const char *type)
{
	return cx->fail.code && strcmp(cx->fail.type, type) == 0;
}

bool hydra_ctx__is_value_error(const struct hydra_ctx *cx)
{
	static const char *const types[] = {"ConfigKeyError", "ConfigAttributeError",
		"ConfigTypeError", "ConfigIndexError", "ValidationError", "KeyValidationError",
		"GrammarParseError", "InterpolationKeyError", "InterpolationResolutionError",
		"InterpolationToMissingValueError", "UnsupportedInterpolationType",
		"UnsupportedValueType", "MissingMandatoryValue"};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (hydra_ctx__is_type(cx, types[i]))
			return true;
	return false;
}

void *hydra_ctx__alloc(struct hydra_ctx *cx, size_t nr, size_t size)
{
	void *p;

	if (cx->arena->nr_bytes > HYDRA_MAX_ARENA_BYTES ||
		(size && nr > HYDRA_MAX_ARENA_BYTES / size)) {
		hydra_ctx__limit(cx, "the configuration grows beyond %u MiB while it is composed",
			HYDRA_MAX_ARENA_BYTES >> 20);
		return NULL;
	}
	p = sonde_arena_calloc(cx->arena, nr ? nr : 1, size);
	if (!p)
		hydra_ctx__nomem(cx);
	return p;
}

struct sonde_str hydra_ctx__dup(struct hydra_ctx *cx, struct sonde_str s)
{
	struct sonde_str copy = {0};
	char *p = hydra_ctx__alloc(cx, s.n + 1, 1);

	if (!p)
		return copy;
	if (s.n)
		memcpy(p, s.p, s.n);
	return (struct sonde_str){p, s.n};
}

struct sonde_str hydra_ctx__take(struct hydra_ctx *cx, struct sonde_buf *buf)
{
	struct sonde_str s = {0};

	if (buf->failed)
		hydra_ctx__nomem(cx);
	else
		s = hydra_ctx__dup(cx, sonde_buf_view(buf));
	sonde_buf_release(buf);
	return s;
}

struct sonde_str hydra_ctx__join(struct hydra_ctx *cx, const struct sonde_str *parts, size_t nr)
{
	struct sonde_buf b = {0};
	size_t i;

	for (i = 0; i < nr; i++)
		sonde_buf_str(&b, parts[i]);
	return hydra_ctx__take(cx, &b);
}

struct sonde_str hydra_ctx__printf(struct hydra_ctx *cx, const char *fmt, ...)
{
	struct sonde_buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	return hydra_ctx__take(cx, &b);
}

/* Whether a line is a detail of the value layer's messages, which hydra_ctx__report leaves out. */
static bool is_detail(struct sonde_str line)
{
	return sonde_str_starts(line, "    full_key:") ||
	       sonde_str_starts(line, "    object_type=") ||
	       sonde_str_starts(line, "    reference_type=") ||
	       sonde_str_starts(line, "See https://hydra.cc") || line.n == 0;
}

/* Joins the lines of a message into one: indented lines are items of a list, others are sentences. */
static void flatten(struct sonde_buf *b, struct sonde_str text)
{
	bool in_list = false;

	while (text.n) {
		struct sonde_str line = sonde_str_cut(text, '\n', &text);
		bool item = line.n && line.p[0] == '\t';

		if (sonde_str_starts(line, "Config search path:"))
			break;
		if (is_detail(line))
			continue;
		if (b->n && !item && b->p[b->n - 1] == '.')
			b->n--;
		if (b->n && item)
			sonde_buf_puts(b, in_list ? ", " : " ");
		else if (b->n)
			sonde_buf_puts(b, "; ");
		in_list = item;
		sonde_buf_str(b, sonde_str_trim(line));
	}
}

/* A message of the override lexer ends with a line of blanks and a caret. This writes the column as a number instead. */
static bool flatten_lexer_error(struct sonde_buf *b, struct sonde_str text)
{
	static const char head[] = "LexerNoViableAltException: ";
	const char *caret = text.n ? memrchr(text.p, '^', text.n) : NULL;
	struct sonde_str line = {text.p + sizeof(head) - 1, 0};
	size_t blanks = 0;

	if (!caret || !sonde_str_starts(text, head))
		return false;
	while (caret - blanks > text.p && caret[-1 - (ptrdiff_t)blanks] == ' ')
		blanks++;
	line.n = (size_t)(caret - blanks - line.p - 1);
	sonde_buf_printf(b,
		"override '%.*s': the character in column %zu is not allowed here, "
		"quote the value",
		SONDE_STR_ARG(line), blanks + 2 - sizeof(head));
	return true;
}

/* Control characters of the input, which messages quote, must not reach a terminal. */
static void make_printable(char *z)
{
	for (; *z; z++)
		if ((unsigned char)*z < 0x20 || *z == 0x7f)
			*z = ' ';
}

int hydra_ctx__report(const struct hydra_ctx *cx, struct sonde_err *err)
{
	struct sonde_buf b = {0};
	int code;

	if (!cx->fail.code)
		return 0;
	if (!flatten_lexer_error(&b, cx->fail.msg))
		flatten(&b, cx->fail.msg);
	if (cx->fail.cause_type)
		flatten(&b, cx->fail.cause);
	if (b.failed) {
		sonde_buf_release(&b);
		return sonde_err_nomem(err);
	}
	/* Input that exceeds a limit is a mistake of the user, like any other wrong input. */
	code = cx->fail.code == SONDE_ERR_LIMIT ? SONDE_ERR_USAGE : cx->fail.code;
	sonde_err_set(err, code, "%.*s%s%s", SONDE_STR_ARG(cx->fail.where),
		cx->fail.where.n ? ": " : "", b.p ? b.p : "");
	if (err)
		make_printable(err->msg);
	sonde_buf_release(&b);
	return code;
}
