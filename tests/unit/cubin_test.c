/* Line tables of cubins: tests/data/cubin/ has a cubin, and the line that CUPTI gives for each of its instructions. */
#include "unit.h"

#include "base/file.h"
#include "read/cubin.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CUBIN "tests/data/cubin/nested.cubin"

static struct sonde_cubin *open_it(struct sonde_buf *bytes)
{
	struct sonde_cubin *c;
	struct sonde_err err = {0};

	assert_true(sonde_file_slurp(bytes, CUBIN));
	assert_int_equal(sonde_cubin_open(&c, sonde_buf_view(bytes), &err), 0);
	return c;
}

static void test_cubin__lines_are_what_cupti_says(void **state)
{
	char function[64], want[128], got[512];
	struct sonde_buf bytes = {0};
	struct sonde_cubin *c = open_it(&bytes);
	struct sonde_cubin_row row;
	FILE *f = fopen("tests/data/cubin/nested.lines", "r");
	unsigned pc, nr = 0;
	uint32_t at;

	(void)state;
	assert_non_null(f);
	while (fscanf(f, "%63s %x %127s\n", function, &pc, want) == 3) {
		at = sonde_cubin_find(c, sonde_str_from(function), pc);
		assert_int_not_equal(at, SONDE_CUBIN_NONE);
		row = sonde_cubin_row(c, at);
		snprintf(got, sizeof(got), "%.*s/%.*s:%u", SONDE_STR_ARG(row.folder), SONDE_STR_ARG(row.file), row.line);
		assert_string_equal(got, want);
		nr++;
	}
	assert_int_equal(nr, (768 + 3456 + 1664) / 16);
	fclose(f);
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
}

/* The lines of an instruction, innermost first. */
static void chain_of(const struct sonde_cubin *c, const char *function, unsigned pc, char *out, size_t cap)
{
	uint32_t at = sonde_cubin_find(c, sonde_str_from(function), pc);
	struct sonde_cubin_row row;

	for (*out = '\0'; at != SONDE_CUBIN_NONE; at = row.caller) {
		row = sonde_cubin_row(c, at);
		assert_true(row.caller == SONDE_CUBIN_NONE || row.caller < at);
		snprintf(out + strlen(out), cap - strlen(out), "%s%u", *out ? " < " : "", row.line);
	}
}

/* first() calls l1 in line 15; l1 calls l2 in 10 and 11, l3 in 11; l2 calls l3 in 6; l3 is line 2. */
static void test_cubin__inlined_code_knows_its_callers(void **state)
{
	struct sonde_buf bytes = {0};
	struct sonde_cubin *c = open_it(&bytes);
	char chain[128];

	(void)state;
	chain_of(c, "first", 0x10, chain, sizeof(chain));
	assert_string_equal(chain, "14");
	chain_of(c, "first", 0x60, chain, sizeof(chain));
	assert_string_equal(chain, "9 < 15");
	chain_of(c, "first", 0x70, chain, sizeof(chain));
	assert_string_equal(chain, "5 < 10 < 15");
	chain_of(c, "first", 0x90, chain, sizeof(chain));
	assert_string_equal(chain, "2 < 6 < 10 < 15");
	chain_of(c, "first", 0x100, chain, sizeof(chain));
	assert_string_equal(chain, "2 < 11 < 15");
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
}

/* Each line can call only a few functions: whatever the compiler inlines, a chain leads from the kernel to functions it calls. */
static bool may_call(unsigned caller, unsigned line)
{
	const bool in_l3 = line == 2, in_l2 = line == 5 || line == 6, in_l1 = line >= 9 && line <= 11;

	switch (caller) {
	case 6: return in_l3;
	case 10: return in_l2;
	case 11: return in_l2 || in_l3;
	case 15: return in_l1;
	case 20: return in_l1 || in_l2;
	case 26: return in_l3;
	}
	return false;
}

static void test_cubin__every_chain_is_one_of_the_source(void **state)
{
	static const struct {
		const char *name;
		unsigned size;
	} functions[] = {{"first", 768}, {"second", 3456}, {"third", 1664}};
	struct sonde_buf bytes = {0};
	struct sonde_cubin *c = open_it(&bytes);
	struct sonde_cubin_row row, caller;
	unsigned pc, f, nr_inlined = 0;
	uint32_t at;

	(void)state;
	for (f = 0; f < 3; f++)
		for (pc = 0; pc < functions[f].size; pc += 16)
			for (at = sonde_cubin_find(c, sonde_str_from(functions[f].name), pc); at != SONDE_CUBIN_NONE;
				at = row.caller) {
				row = sonde_cubin_row(c, at);
				if (row.caller == SONDE_CUBIN_NONE)
					continue;
				caller = sonde_cubin_row(c, row.caller);
				assert_true(may_call(caller.line, row.line));
				nr_inlined++;
			}
	assert_true(nr_inlined > 100);
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
}

static void test_cubin__what_is_not_there_is_not_found(void **state)
{
	struct sonde_buf bytes = {0};
	struct sonde_cubin *c = open_it(&bytes);

	(void)state;
	assert_true(sonde_cubin_nr_rows(c) > 100);
	assert_int_equal(sonde_cubin_find(c, SONDE_STR("fourth"), 0), SONDE_CUBIN_NONE);
	assert_int_equal(sonde_cubin_find(c, SONDE_STR("first"), 768), SONDE_CUBIN_NONE);
	assert_int_equal(sonde_cubin_find(c, SONDE_STR("first"), UINT64_MAX), SONDE_CUBIN_NONE);
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
}

static void walk_all(const struct sonde_cubin *c)
{
	struct sonde_cubin_row row;
	unsigned pc;
	uint32_t at;

	for (pc = 0; pc < 4096; pc += 16)
		for (at = sonde_cubin_find(c, SONDE_STR("second"), pc); at != SONDE_CUBIN_NONE; at = row.caller)
			row = sonde_cubin_row(c, at);
}

/* Opens `n` bytes in memory of exactly that size, so that a sanitizer detects a read beyond the end. */
static void try_bytes(const char *p, size_t n)
{
	struct sonde_err err = {0};
	struct sonde_cubin *c;
	char *copy = malloc(n ? n : 1);

	memcpy(copy, p, n);
	if (sonde_cubin_open(&c, (struct sonde_str){copy, n}, &err) == 0)
		walk_all(c);
	else
		assert_true(err.msg[0]);
	sonde_cubin_free(c);
	free(copy);
}

static void test_cubin__damage_gives_an_error_or_fewer_lines(void **state)
{
	struct sonde_buf bytes = {0};
	uint64_t x = 88172645463325252u;
	size_t i;

	(void)state;
	assert_true(sonde_file_slurp(&bytes, CUBIN));
	for (i = 0; i < bytes.n; i += 41)
		try_bytes(bytes.p, i);
	for (i = 0; i < 2000; i++) {
		size_t at;
		char old;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		at = x % bytes.n;
		old = bytes.p[at];
		bytes.p[at] = (char)(x >> 32);
		try_bytes(bytes.p, bytes.n);
		bytes.p[at] = old;
	}
	sonde_buf_release(&bytes);
}

/* The section of an ELF file with this name, for tests to change. */
static Elf64_Shdr *section_of(struct sonde_buf *bytes, const char *name)
{
	Elf64_Ehdr *head = (void *)bytes->p;
	Elf64_Shdr *sections = (void *)(bytes->p + head->e_shoff);
	unsigned i;

	for (i = 0; i < head->e_shnum; i++)
		if (!strcmp(bytes->p + sections[head->e_shstrndx].sh_offset + sections[i].sh_name, name))
			return &sections[i];
	fail_msg("no section %s", name);
	return NULL;
}

/* Rewrites the relocations as older compilers write them: the addend is in the line table. */
static void make_older(struct sonde_buf *bytes, uint64_t adds)
{
	Elf64_Shdr *section = section_of(bytes, ".rela.debug_line"), *lines = section_of(bytes, ".debug_line");
	size_t i, nr = section->sh_size / sizeof(Elf64_Rela);
	Elf64_Rela r;
	uint64_t put;

	for (i = 0; i < nr; i++) {
		memcpy(&r, bytes->p + section->sh_offset + i * sizeof(r), sizeof(r));
		put = (uint64_t)r.r_addend + adds;
		memcpy(bytes->p + lines->sh_offset + r.r_offset, &put, sizeof(put));
		memcpy(bytes->p + section->sh_offset + i * sizeof(Elf64_Rel), &r, sizeof(Elf64_Rel));
	}
	section->sh_name += 0x11; /* behind ".rela.debug_line" there is ".rel.debug_line" */
	section->sh_type = SHT_REL;
	section->sh_size = nr * sizeof(Elf64_Rel);
	section->sh_entsize = sizeof(Elf64_Rel);
	assert_ptr_equal(section_of(bytes, ".rel.debug_line"), section);
}

static void test_cubin__relocations_may_add_to_the_table(void **state)
{
	struct sonde_buf bytes = {0};
	struct sonde_err err = {0};
	struct sonde_cubin *c;
	char chain[128];
	unsigned adds;

	(void)state;
	for (adds = 0; adds <= 32; adds += 32) {
		assert_true(sonde_file_slurp(&bytes, CUBIN));
		make_older(&bytes, adds);
		assert_int_equal(sonde_cubin_open(&c, sonde_buf_view(&bytes), &err), 0);
		chain_of(c, "first", 0x90 + adds, chain, sizeof(chain));
		assert_string_equal(chain, "2 < 6 < 10 < 15");
		sonde_cubin_free(c);
		sonde_buf_release(&bytes);
	}
}

/* A cubin of a table of strings, symbols, and a line table behind them. */
static void make_cubin(struct sonde_buf *to, struct sonde_str strings, struct sonde_str symbols, struct sonde_str lines)
{
	static const char names[] = "\0.strtab\0.symtab\0.debug_line";
	const uint64_t at = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr);
	const Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB}, .e_machine = 190,
		.e_shoff = sizeof(head), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 0};
	const Elf64_Shdr sections[4] = {{.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(names)},
		{.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = at + sizeof(names), .sh_size = strings.n},
		{.sh_name = 9, .sh_type = SHT_SYMTAB, .sh_offset = at + sizeof(names) + strings.n, .sh_size = symbols.n},
		{.sh_name = 17, .sh_type = SHT_PROGBITS, .sh_offset = at + sizeof(names) + strings.n + symbols.n, .sh_size = lines.n}};

	sonde_buf_str(to, SONDE_BYTES(head));
	sonde_buf_str(to, SONDE_BYTES(sections));
	sonde_buf_str(to, SONDE_BYTES(names));
	sonde_buf_str(to, strings);
	sonde_buf_str(to, symbols);
	sonde_buf_str(to, lines);
}

/* 40,000 names that each begin one byte behind the other and end at the end of 20 MB: reading them all would be 800 GB. */
static void test_cubin__names_that_never_end_take_no_time(void **state)
{
	const size_t nr = 40000, nr_bytes = 20000000;
	Elf64_Sym *symbols = calloc(nr, sizeof(*symbols));
	char *strings = malloc(nr_bytes);
	struct sonde_buf bytes = {0};
	struct sonde_err err = {0};
	struct sonde_cubin *c;
	clock_t start;
	size_t i;

	(void)state;
	memset(strings, 'x', nr_bytes);
	for (i = 0; i < nr; i++)
		symbols[i] = (Elf64_Sym){.st_name = (uint32_t)i, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1};
	make_cubin(&bytes, (struct sonde_str){strings, nr_bytes}, (struct sonde_str){(char *)symbols, nr * sizeof(*symbols)},
		(struct sonde_str){0});
	start = clock();
	assert_int_equal(sonde_cubin_open(&c, sonde_buf_view(&bytes), &err), 0);
	assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
	free(symbols);
	free(strings);
}

/* Each byte of the line program makes a row: their number is limited. */
static void test_cubin__rows_have_an_end(void **state)
{
	static const uint8_t head[] = {2, 0, 16, 0, 0, 0, 16, 1, 0, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0};
	const size_t nr = 20000000;
	const uint32_t length = (uint32_t)(sizeof(head) + nr);
	char *lines = malloc(4 + length);
	struct sonde_buf bytes = {0};
	struct sonde_err err = {0};
	struct sonde_cubin *c;

	(void)state;
	memcpy(lines, &length, 4);
	memcpy(lines + 4, head, sizeof(head));
	memset(lines + 4 + sizeof(head), 10 + 1, nr); /* the line after the last one */
	make_cubin(&bytes, (struct sonde_str){0}, (struct sonde_str){0}, (struct sonde_str){lines, 4 + length});
	assert_int_equal(sonde_cubin_open(&c, sonde_buf_view(&bytes), &err), 0);
	assert_int_equal(sonde_cubin_nr_rows(c), 1u << 21);
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cubin__lines_are_what_cupti_says),
		cmocka_unit_test(test_cubin__inlined_code_knows_its_callers),
		cmocka_unit_test(test_cubin__every_chain_is_one_of_the_source),
		cmocka_unit_test(test_cubin__what_is_not_there_is_not_found),
		cmocka_unit_test(test_cubin__relocations_may_add_to_the_table),
		cmocka_unit_test(test_cubin__names_that_never_end_take_no_time),
		cmocka_unit_test(test_cubin__rows_have_an_end),
		cmocka_unit_test(test_cubin__damage_gives_an_error_or_fewer_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
