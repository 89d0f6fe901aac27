/*
 * Makes a page of HTML from its parts: src/export/html/page.html names the places of the others.
 *
 * A Content-Security-Policy allows exactly the page's script and style, by hash: whatever a label contains, nothing
 * else can run or load.
 */
#include "base/escape.h"
#include "base/sha256.h"
#include "export/html_int.h"

#include <string.h>

#define POUR_AT_ONCE 65536u

void sonde_html__pour(struct sonde_sink *to, struct sonde_sink *json)
{
	struct sonde_str rest = sonde_buf_view(&json->buf);

	while (rest.n) {
		size_t n = rest.n < POUR_AT_ONCE ? rest.n : POUR_AT_ONCE;

		sonde_escape_script(&to->buf, (struct sonde_str){rest.p, n});
		sonde_sink_puts(to, ""); /* lets the sink write what it has */
		rest = (struct sonde_str){rest.p + n, rest.n - n};
	}
	sonde_buf_clear(&json->buf);
}

static void put_hash(struct sonde_sink *to, struct sonde_str text)
{
	unsigned char digest[SONDE_SHA256_BYTES];
	struct sonde_sha256 hash;

	sonde_sha256_init(&hash);
	sonde_sha256_add(&hash, text);
	sonde_sha256_end(&hash, digest);
	sonde_sink_puts(to, "'sha256-");
	sonde_base64(&to->buf, digest, sizeof(digest));
	sonde_sink_putc(to, '\'');
}

/* The files of src/export/html/ are built in: an uninstalled binary works, and the page needs no other file. */
#define ASSET(name, files)                                                                         \
	__asm__(".section .rodata\n"                                                               \
		".global sonde_html_" #name "_begin\n"                                             \
		".global sonde_html_" #name "_end\n"                                               \
		"sonde_html_" #name "_begin:\n" files "sonde_html_" #name "_end:\n"                \
		".byte 0\n"                                                                        \
		".previous\n");                                                                    \
	extern const char sonde_html_##name##_begin[] __attribute__((visibility("hidden")));       \
	extern const char sonde_html_##name##_end[] __attribute__((visibility("hidden")));         \
	static struct sonde_str asset_##name(void)                                                 \
	{                                                                                          \
		return (struct sonde_str){sonde_html_##name##_begin,                               \
			(size_t)((uintptr_t)sonde_html_##name##_end -                              \
				 (uintptr_t)sonde_html_##name##_begin)};                           \
	}

#define FILE_OF(name) ".incbin \"src/export/html/" name "\"\n"

ASSET(page, FILE_OF("page.html"))
ASSET(style, FILE_OF("style.css"))
/* In this order: each file may use those before it. */
ASSET(report_script,
	FILE_OF("base.js") FILE_OF("model.js") FILE_OF("address.js") FILE_OF("colour.js") FILE_OF("header.js")
		FILE_OF("findings.js") FILE_OF("icicle.js") FILE_OF("columns.js") FILE_OF("table.js")
			FILE_OF("entries.js") FILE_OF("panel.js") FILE_OF("roofline.js") FILE_OF("kernels.js")
				FILE_OF("timeline.js") FILE_OF("tracks.js") FILE_OF("ranks.js") FILE_OF("app.js"))
ASSET(diff_script, FILE_OF("base.js") FILE_OF("diff_model.js") FILE_OF("diff_table.js") FILE_OF("diff_chart.js") FILE_OF("diff_panel.js") FILE_OF("diff.js"))

/* Writes the part that belongs at a place of page.html. */
static int put_part(struct sonde_sink *to, const struct sonde_html_page *p, struct sonde_str name)
{
	struct sonde_str style = asset_style(), script = p->kind == SONDE_PAGE_DIFF ? asset_diff_script() : asset_report_script();

	if (sonde_str_is(name, "title"))
		sonde_escape_xml(&to->buf, p->title);
	else if (sonde_str_is(name, "style"))
		sonde_sink_str(to, style);
	else if (sonde_str_is(name, "script"))
		sonde_sink_str(to, script);
	else if (sonde_str_is(name, "style_hash"))
		put_hash(to, style);
	else if (sonde_str_is(name, "script_hash"))
		put_hash(to, script);
	else if (sonde_str_is(name, "plain"))
		p->write_plain(p->of);
	else if (sonde_str_is(name, "data"))
		return p->write_data(p->of);
	return 0;
}

int sonde_html__put_page(struct sonde_sink *to, const struct sonde_html_page *p)
{
	struct sonde_str rest = asset_page(), name;
	int rc = 0;

	while (rest.n && rc == 0) {
		const char *mark = memmem(rest.p, rest.n, "{{", 2);
		size_t before = mark ? (size_t)(mark - rest.p) : rest.n;

		sonde_sink_write(to, rest.p, before);
		if (!mark)
			break;
		name = sonde_str_cut((struct sonde_str){mark + 2, rest.n - before - 2}, '}', &rest);
		rest.p++; /* the second brace */
		rest.n--;
		rc = put_part(to, p, name);
	}
	return rc;
}
