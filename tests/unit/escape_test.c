#include "base/escape.h"
#include "export/folder.h"

#include "unit.h"

#include <jansson.h>
#include <stdio.h>

typedef void (*escape)(struct sonde_buf *out, struct sonde_str text);

static void check(escape f, const char *in, size_t n, const char *want)
{
	struct sonde_buf b = {0};

	f(&b, (struct sonde_str){in, n});
	assert_string_equal(b.p ? b.p : "", want);
	sonde_buf_release(&b);
}
#define CHECK(f, in, want) check(f, in, sizeof(in) - 1, want)

static void terminal(struct sonde_buf *out, struct sonde_str text)
{
	sonde_escape_terminal(out, text, true);
}

static void terminal_ascii(struct sonde_buf *out, struct sonde_str text)
{
	sonde_escape_terminal(out, text, false);
}

static void test_json__quotes_and_controls_are_escaped(void **state)
{
	(void)state;
	CHECK(sonde_escape_json, "plain", "\"plain\"");
	CHECK(sonde_escape_json, "a\"b\\c/", "\"a\\\"b\\\\c/\"");
	CHECK(sonde_escape_json, "\n\t\r\b\f\x01\x7f", "\"\\n\\t\\r\\b\\f\\u0001\\u007f\"");
	CHECK(sonde_escape_json, "a\0b", "\"a\\u0000b\"");
	CHECK(sonde_escape_json, "注意", "\"注意\"");
	CHECK(sonde_escape_json, "\xe2\x80\xae", "\"\\u202e\"");
}

static void test_json__bytes_that_are_not_utf8_can_be_restored(void **state)
{
	(void)state;
	CHECK(sonde_escape_json,
		"a\xff"
		"b",
		"\"a\uFFFDFFb\"");
	CHECK(sonde_escape_json, "\xc3", "\"\uFFFDC3\"");
	CHECK(sonde_escape_json, "\xed\xa0\x80", "\"\uFFFDED\uFFFDA0\uFFFD80\"");
	/* A real U+FFFD stays, unless it could be taken for one of ours. */
	CHECK(sonde_escape_json, "\uFFFD!", "\"\uFFFD!\"");
	CHECK(sonde_escape_json, "\uFFFDFF", "\"\uFFFDEF\uFFFDBF\uFFFDBDFF\"");
}

/* Undoes the escaping of invalid bytes, as described in docs/report-format-reference.md. */
static void restore(struct sonde_buf *out, const char *p, size_t n)
{
	size_t i = 0;

	while (i < n) {
		unsigned byte;

		if (i + 5 <= n && memcmp(p + i, "\xef\xbf\xbd", 3) == 0 &&
			strchr("89ABCDEF", p[i + 3]) && strchr("0123456789ABCDEF", p[i + 4]) &&
			p[i + 3] && p[i + 4] && sscanf(p + i + 3, "%2X", &byte) == 1) {
			sonde_buf_putc(out, (char)byte);
			i += 5;
		} else {
			sonde_buf_putc(out, p[i++]);
		}
	}
}

static void test_json__any_bytes_survive_a_round_trip(void **state)
{
	uint64_t seed = 42;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		static const char some[] = "\xef\xbf\xbd\xff\x80\xc3\xa9\xed\xa0"
					   "ABF09\"\\\n\0/@";
		struct sonde_buf in = {0}, out = {0}, back = {0};
		json_t *value;
		int i;

		for (i = 0; i < 12; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			sonde_buf_putc(&in, some[(seed >> 33) % (sizeof(some) - 1)]);
		}
		sonde_escape_json(&out, sonde_buf_view(&in));
		value = json_loadb(out.p, out.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(value);
		restore(&back, json_string_value(value), json_string_length(value));
		assert_int_equal(back.n, in.n);
		assert_memory_equal(back.p, in.p, in.n);
		json_decref(value);
		sonde_buf_release(&in);
		sonde_buf_release(&out);
		sonde_buf_release(&back);
	}
}

static void test_markdown__nothing_in_a_label_is_active(void **state)
{
	(void)state;
	CHECK(sonde_escape_markdown, "| a | b |", "\\| a \\| b \\|");
	CHECK(sonde_escape_markdown, "<script>alert(1)</script>",
		"&lt;script&gt;alert(1)&lt;/script&gt;");
	CHECK(sonde_escape_markdown, "[x](http://y)", "\\[x\\](http\\://y)");
	CHECK(sonde_escape_markdown, "`code` *b* ~~s~~ $m$",
		"\\`code\\` \\*b\\* \\~\\~s\\~\\~ \\$m\\$");
	CHECK(sonde_escape_markdown, "a\nb\x1b[31m", "a\\\\nb\\\\x1b\\[31m");
	CHECK(sonde_escape_markdown, "&amp; \\", "&amp;amp; \\\\");
	CHECK(sonde_escape_markdown, "_i_ __b__", "\\_i\\_ \\_\\_b\\_\\_");
	CHECK(sonde_escape_markdown, "me@x.org", "me@<!-- -->x.org");
	CHECK(sonde_escape_markdown, "www.x.org", "www\\.x.org");
}

static void test_markdown__ordinary_names_stay_readable(void **state)
{
	(void)state;
	CHECK(sonde_escape_markdown, "A::A1", "A::A1");
	CHECK(sonde_escape_markdown, "gpu__time_duration.sum", "gpu__time_duration.sum");
	CHECK(sonde_escape_markdown, "block.conv1", "block.conv1");
}

static void test_csv__cells_are_quoted_and_never_formulas(void **state)
{
	(void)state;
	CHECK(sonde_escape_csv, "plain", "plain");
	CHECK(sonde_escape_csv, "a,b", "\"a,b\"");
	CHECK(sonde_escape_csv, "say \"x\"", "\"say \"\"x\"\"\"");
	CHECK(sonde_escape_csv, "=1+1", "'=1+1");
	CHECK(sonde_escape_csv, "@SUM(A1,A2)", "\"'@SUM(A1,A2)\"");
	CHECK(sonde_escape_csv, "-x", "'-x");
	CHECK(sonde_escape_csv, "+x", "'+x");
	CHECK(sonde_escape_csv, "\t=x", "'\\t=x");
	CHECK(sonde_escape_csv, "a\nb", "a\\nb");
	CHECK(sonde_escape_csv, "", "");
}

static void test_terminal__control_characters_become_visible(void **state)
{
	(void)state;
	CHECK(terminal, "a\x1b[31mb", "a\\x1b[31mb");
	CHECK(terminal, "a\tb\nc\r", "a\\tb\\nc\\r");
	CHECK(terminal, "\xc2\x9b", "\\u009b"); /* C1: CSI */
	CHECK(terminal,
		"\xe2\x80\xae"
		"x",
		"\\u202ex"); /* right-to-left override */
	CHECK(terminal, "\xff", "\\xff");
	CHECK(terminal, "注意力 🚀", "注意力 🚀");
	CHECK(terminal_ascii, "注 é", "\\u6ce8 \\u00e9");
}

static void test_width__wide_and_combining_characters_align(void **state)
{
	(void)state;
	assert_int_equal(sonde_width(SONDE_STR("abc")), 3);
	assert_int_equal(sonde_width(SONDE_STR("注意力")), 6);
	assert_int_equal(sonde_width(SONDE_STR("🚀")), 2);
	assert_int_equal(sonde_width(SONDE_STR("e\xcc\x81")), 1);
	assert_int_equal(sonde_width(SONDE_STR("│ └─")), 4);
	assert_int_equal(sonde_width_cut(SONDE_STR("注意力"), 5).n, 6);
}

static void folder(const char *want, bool is_hashed, size_t nr, const char *const *labels)
{
	struct sonde_buf b = {0};
	struct sonde_str list[8];
	size_t i;

	for (i = 0; i < nr; i++)
		list[i] = sonde_str_from(labels[i]);
	assert_int_equal(sonde_folder_name(&b, list, nr), is_hashed);
	assert_string_equal(b.p, want);
	sonde_buf_release(&b);
}
#define FOLDER(want, is_hashed, ...)                                                               \
	folder(want, is_hashed, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),            \
		(const char *[]){__VA_ARGS__})

static void test_folder__names_follow_the_rules(void **state)
{
	(void)state;
	FOLDER("A__A1", false, "A", "A::A1");
	FOLDER("A__B", false, "A", "B");
	FOLDER("A__AB__C", false, "A", "AB::C");
	FOLDER("A__B__C", false, "A::B::C");
	FOLDER("a__b", false, "a___b");
	FOLDER(".._.._etc_passwd", false, "../../etc/passwd");
	FOLDER("_script_", false, "<script>");
	FOLDER("x_y_z", false, "x y\tz");
	FOLDER("_", true, "");
	FOLDER("_", true, ".");
	FOLDER("_", true, "..");
}

static void test_folder__long_names_are_cut_and_marked(void **state)
{
	char label[301], want[72];

	(void)state;
	memset(label, 'x', 300);
	label[300] = '\0';
	memset(want, 'x', 71);
	want[71] = '\0';
	FOLDER(want, true, label);
}

static void test_script__nothing_ends_the_element_and_the_json_stays_the_same(void **state)
{
	(void)state;
	CHECK(sonde_escape_script, "{\"a\":\"</script><!-- & -->\"}",
		"{\"a\":\"\\u003c/script\\u003e\\u003c!-- \\u0026 --\\u003e\"}");
	CHECK(sonde_escape_script, "[1,2.5,null]", "[1,2.5,null]");
	CHECK(sonde_escape_script, "", "");
}

static void test_xml__text_and_attributes_are_inert(void **state)
{
	(void)state;
	CHECK(sonde_escape_xml, "<b a='1' c=\"2\">&amp;</b>",
		"&#60;b a=&#39;1&#39; c=&#34;2&#34;&#62;&#38;amp;&#60;/b&#62;");
	CHECK(sonde_escape_xml, "a\x01\n\xff", "a\\x01\\n\\xff");
	CHECK(sonde_escape_xml, "\xef\xbf\xbf", "\\uffff");
	CHECK(sonde_escape_xml, "\u6ce8\u610f", "\u6ce8\u610f");
}

static void test_folded__a_frame_has_no_separator_and_no_line_end(void **state)
{
	(void)state;
	CHECK(sonde_escape_folded, "a;b\nc", "a\\x3bb\\nc");
	CHECK(sonde_escape_folded, "void f<int>(x)", "void f<int>(x)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json__quotes_and_controls_are_escaped),
		cmocka_unit_test(test_json__bytes_that_are_not_utf8_can_be_restored),
		cmocka_unit_test(test_json__any_bytes_survive_a_round_trip),
		cmocka_unit_test(test_markdown__nothing_in_a_label_is_active),
		cmocka_unit_test(test_markdown__ordinary_names_stay_readable),
		cmocka_unit_test(test_csv__cells_are_quoted_and_never_formulas),
		cmocka_unit_test(test_terminal__control_characters_become_visible),
		cmocka_unit_test(test_width__wide_and_combining_characters_align),
		cmocka_unit_test(test_folder__names_follow_the_rules),
		cmocka_unit_test(test_folder__long_names_are_cut_and_marked),
		cmocka_unit_test(test_script__nothing_ends_the_element_and_the_json_stays_the_same),
		cmocka_unit_test(test_xml__text_and_attributes_are_inert),
		cmocka_unit_test(test_folded__a_frame_has_no_separator_and_no_line_end),
	};

	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
