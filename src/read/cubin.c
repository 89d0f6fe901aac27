#include "read/cubin.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/vec.h"

#include <elf.h>
#include <string.h>

#define MACHINE_CUDA 190 /* EM_CUDA, which not every elf.h has */
#define MAX_NAME     16384u	/* bytes of a function's name: captures cut names at the same length */
#define MAX_ROWS     (1u << 21) /* 48 MiB of rows; the rest of the table is ignored */

/*
 * Opcodes of line programs. Those from 10 on came with versions 3 and 4 of DWARF: they are skipped, by their number
 * of operands.
 */
enum {
	LINE_EXTENDED = 0,
	LINE_COPY = 1,
	LINE_ADVANCE_PC = 2,
	LINE_ADVANCE_LINE = 3,
	LINE_SET_FILE = 4,
	LINE_CONST_ADD_PC = 8,
	LINE_FIXED_ADVANCE_PC = 9,
	LINE_END_SEQUENCE = 1, /* extended opcodes, from here on */
	LINE_SET_ADDRESS = 2,
	LINE_INLINED_CALL = 0x90, /* NVIDIA's own. Operands: row of the call in this sequence, from 1; name of the function */
};

struct row {
	uint64_t address; /* address in its section */
	uint32_t file;	  /* number in `files`; SONDE_CUBIN_NONE = not known */
	uint32_t line;
	uint32_t caller;
	uint32_t zero;
};

/* Rows of one stretch of code, in the order of their addresses. */
struct sequence {
	uint32_t section;
	uint32_t first, nr; /* slice of `rows` */
	uint64_t begin, end;
};

struct file {
	struct sonde_str folder, name;
};

struct function {
	struct sonde_str name;
	uint64_t address; /* address in its section */
	uint32_t section;
};

/* The addresses in the line table are only filled in by relocations: each gives the section and the address for one place. */
struct relocation {
	uint64_t offset; /* in the line table */
	uint64_t address;
	uint32_t section;
	bool adds; /* the value in the table is added to `address` */
};

struct sonde_cubin {
	struct sonde_str bytes;
	SONDE_VEC(struct function) functions; /* sorted by name */
	SONDE_VEC(struct relocation) relocations; /* sorted by offset */
	SONDE_VEC(struct file) files;
	SONDE_VEC(struct row) rows;
	SONDE_VEC(struct sequence) sequences; /* sorted by section and address */
	struct sonde_arena arena;
};

/* --- ELF ---------------------------------------------------------------------------------------- */

static struct sonde_str slice_of(struct sonde_str s, uint64_t at, uint64_t n)
{
	if (at > s.n || n > s.n - at)
		return (struct sonde_str){0};
	return (struct sonde_str){s.p + at, n};
}

static bool section_at(const struct sonde_cubin *c, const Elf64_Ehdr *head, uint32_t number, Elf64_Shdr *out)
{
	const struct sonde_str s = slice_of(c->bytes, head->e_shoff, (uint64_t)head->e_shnum * sizeof(*out));

	if (number >= head->e_shnum || !s.n)
		return false;
	memcpy(out, s.p + number * sizeof(*out), sizeof(*out));
	return true;
}

static struct sonde_str section_bytes(const struct sonde_cubin *c, const Elf64_Shdr *s)
{
	return s->sh_type == SHT_NOBITS ? (struct sonde_str){0} : slice_of(c->bytes, s->sh_offset, s->sh_size);
}

/* The string at offset `at` of a string table: up to its NUL, the end of the table or MAX_NAME bytes. */
static struct sonde_str text_at(struct sonde_str table, uint64_t at)
{
	struct sonde_str s = at < table.n ? slice_of(table, at, table.n - at) : (struct sonde_str){0};

	s.n = s.n < MAX_NAME ? s.n : MAX_NAME;
	s.n = sonde_str_find(s, '\0');
	return s;
}

static bool is_text_at(struct sonde_str table, uint64_t at, const char *text)
{
	return sonde_str_eq(slice_of(table, at, strlen(text) + 1), (struct sonde_str){text, strlen(text) + 1});
}

/* Finds a section by its name; false when there is none. */
static bool find_section(const struct sonde_cubin *c, const Elf64_Ehdr *head, const char *name, Elf64_Shdr *out)
{
	Elf64_Shdr names;
	uint32_t i;

	if (!section_at(c, head, head->e_shstrndx, &names))
		return false;
	for (i = 0; i < head->e_shnum; i++)
		if (section_at(c, head, i, out) && is_text_at(section_bytes(c, &names), out->sh_name, name))
			return true;
	return false;
}

static bool symbol_at(struct sonde_str symbols, uint64_t number, Elf64_Sym *out)
{
	if (number >= symbols.n / sizeof(*out))
		return false;
	memcpy(out, symbols.p + number * sizeof(*out), sizeof(*out));
	return true;
}

/*
 * Names may share bytes of the table. So that a hostile file cannot ask for much memory, all names together are
 * limited to 4 times the table.
 */
static void read_functions(struct sonde_cubin *c, const Elf64_Ehdr *head, struct sonde_str symbols)
{
	struct sonde_str table, name;
	Elf64_Shdr strings;
	Elf64_Sym s;
	uint64_t i, left;

	if (!find_section(c, head, ".strtab", &strings))
		return;
	table = section_bytes(c, &strings);
	left = 4 * (uint64_t)table.n;
	for (i = 0; symbol_at(symbols, i, &s); i++) {
		if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF)
			continue;
		name = text_at(table, s.st_name);
		if (name.n > left)
			return;
		left -= name.n;
		sonde_put(&c->arena, &c->functions, (struct function){name, s.st_value, s.st_shndx});
	}
}

/* There are two kinds: .rela has the number to add to the symbol's address in the entry, .rel has it in the line table itself. */
static void read_relocations(struct sonde_cubin *c, const Elf64_Ehdr *head, struct sonde_str symbols, bool adds)
{
	const size_t nr_bytes = adds ? sizeof(Elf64_Rel) : sizeof(Elf64_Rela);
	struct sonde_str bytes;
	Elf64_Shdr section;
	Elf64_Rela r = {0};
	Elf64_Sym s;
	size_t i;

	if (!find_section(c, head, adds ? ".rel.debug_line" : ".rela.debug_line", &section))
		return;
	bytes = section_bytes(c, &section);
	for (i = 0; i + nr_bytes <= bytes.n; i += nr_bytes) {
		memcpy(&r, bytes.p + i, nr_bytes); /* Elf64_Rel is the beginning of Elf64_Rela */
		if (symbol_at(symbols, ELF64_R_SYM(r.r_info), &s))
			sonde_put(&c->arena, &c->relocations,
				(struct relocation){r.r_offset, s.st_value + (uint64_t)r.r_addend, s.st_shndx, adds});
	}
}

/* --- line programs ---------------------------------------------------------------------------------- */

/* Reads forwards. Reads beyond the end return 0 and set `is_cut`. */
struct cursor {
	const uint8_t *at, *end;
	bool is_cut;
};

static uint64_t take_bytes(struct cursor *c, unsigned nr_bytes)
{
	uint64_t v = 0;
	unsigned i;

	if ((size_t)(c->end - c->at) < nr_bytes) {
		c->is_cut = true;
		c->at = c->end;
		return 0;
	}
	for (i = 0; i < nr_bytes; i++)
		v |= (uint64_t)*c->at++ << (8 * i);
	return v;
}

static uint64_t take_leb(struct cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take_bytes(c, 1);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		v |= ~(uint64_t)0 << shift;
	return v;
}

static struct sonde_str take_text(struct cursor *c)
{
	struct sonde_str s = {(const char *)c->at, (size_t)(c->end - c->at)};

	s.n = sonde_str_find(s, '\0');
	c->at += s.n;
	take_bytes(c, 1);
	return s;
}

/* The registers of a line program. */
struct line_state {
	uint64_t address;
	uint64_t file, line;
	uint64_t context; /* row in this sequence of the call that the code was inlined at, from 1; 0 = not inlined */
	uint32_t section;
	bool is_known; /* `section` is known */
};

struct line_program {
	struct sonde_cubin *cubin;
	const uint8_t *table; /* start of .debug_line, from which the offsets of relocations count */
	struct cursor at;
	uint32_t first_file, nr_files;
	uint32_t first_row; /* first row of this sequence */
	uint8_t min_length, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *nr_operands; /* number of operands by opcode - 1 */
	struct line_state state;
};

/* Reads the directories, then the files. Names are as the compiler wrote them. */
static void read_files(struct line_program *p)
{
	struct sonde_arena scratch = {0};
	SONDE_VEC(struct sonde_str) folders = {0};
	struct sonde_cubin *c = p->cubin;
	struct sonde_str name;
	uint64_t folder;

	while (!p->at.is_cut && (name = take_text(&p->at)).n)
		sonde_put(&scratch, &folders, name);
	p->first_file = (uint32_t)c->files.nr;
	while (!p->at.is_cut && (name = take_text(&p->at)).n) {
		folder = take_leb(&p->at, false);
		take_leb(&p->at, false); /* time of the last change … */
		take_leb(&p->at, false); /* … and size of the file: both often 0 */
		sonde_put(&c->arena, &c->files,
			(struct file){folder && folder <= folders.nr ? folders.at[folder - 1] : (struct sonde_str){0}, name});
	}
	p->nr_files = (uint32_t)c->files.nr - p->first_file;
	c->arena.failed |= scratch.failed;
	sonde_arena_release(&scratch);
}

static void emit_row(struct line_program *p)
{
	const struct line_state *s = &p->state;
	struct sonde_cubin *c = p->cubin;
	const uint64_t nr = c->rows.nr - p->first_row;
	struct row row = {s->address, SONDE_CUBIN_NONE, s->line <= UINT32_MAX ? (uint32_t)s->line : 0, SONDE_CUBIN_NONE, 0};

	if (s->file && s->file <= p->nr_files)
		row.file = p->first_file + (uint32_t)s->file - 1;
	/* A call must come before the rows inlined there; otherwise chains of callers might never end. */
	if (s->context && s->context <= nr)
		row.caller = p->first_row + (uint32_t)s->context - 1;
	/*
	 * Where a function begins inside its section, the compiler repeats a row, and does not count the copy when it
	 * numbers rows for contexts.
	 */
	if (nr && memcmp(&c->rows.at[c->rows.nr - 1], &row, sizeof(row)) == 0)
		return;
	if (c->rows.nr < MAX_ROWS)
		sonde_put(&c->arena, &c->rows, row);
	else
		p->at.is_cut = true;
}

static void begin_sequence(struct line_program *p)
{
	p->state = (struct line_state){.file = 1, .line = 1};
	p->first_row = (uint32_t)p->cubin->rows.nr;
}

static void end_sequence(struct line_program *p)
{
	struct sonde_cubin *c = p->cubin;
	const uint32_t nr = (uint32_t)c->rows.nr - p->first_row;

	if (nr && p->state.is_known)
		sonde_put(&c->arena, &c->sequences,
			(struct sequence){p->state.section, p->first_row, nr, c->rows.at[p->first_row].address, p->state.address});
	begin_sequence(p);
}

static void set_address(struct line_program *p, unsigned nr_bytes)
{
	const uint64_t offset = (uint64_t)(p->at.at - p->table), address = take_bytes(&p->at, nr_bytes);
	const struct sonde_cubin *c = p->cubin;
	size_t low = 0;

	sonde_bisect(low, c->relocations.nr, mid, c->relocations.at[mid].offset < offset);
	p->state.is_known = low < c->relocations.nr && c->relocations.at[low].offset == offset;
	p->state.address = address;
	p->state.section = 0;
	if (!p->state.is_known)
		return;
	p->state.address = c->relocations.at[low].address + (c->relocations.at[low].adds ? address : 0);
	p->state.section = c->relocations.at[low].section;
}

static void run_extended(struct line_program *p)
{
	const uint64_t n = take_leb(&p->at, false);
	const uint8_t *next;

	if (n > (uint64_t)(p->at.end - p->at.at)) {
		p->at.is_cut = true;
		return;
	}
	if (!n)
		return;
	next = p->at.at + n;
	switch (take_bytes(&p->at, 1)) {
	case LINE_END_SEQUENCE:
		end_sequence(p);
		break;
	case LINE_SET_ADDRESS:
		set_address(p, n - 1 > 8 ? 8 : (unsigned)n - 1);
		break;
	case LINE_INLINED_CALL:
		p->state.context = take_leb(&p->at, false);
		break;
	}
	p->at.at = next;
}

static void run_special(struct line_program *p, unsigned opcode)
{
	const unsigned by = opcode - p->opcode_base;

	p->state.address += (uint64_t)p->min_length * (by / p->line_range);
	p->state.line += (uint64_t)(int64_t)(p->line_base + (int)(by % p->line_range));
	emit_row(p);
}

static void run_standard(struct line_program *p, unsigned opcode)
{
	struct line_state *s = &p->state;
	unsigned i;

	switch (opcode) {
	case LINE_EXTENDED:
		run_extended(p);
		break;
	case LINE_COPY:
		emit_row(p);
		break;
	case LINE_ADVANCE_PC:
		s->address += p->min_length * take_leb(&p->at, false);
		break;
	case LINE_ADVANCE_LINE:
		s->line += take_leb(&p->at, true);
		break;
	case LINE_SET_FILE:
		s->file = take_leb(&p->at, false);
		break;
	case LINE_CONST_ADD_PC:
		s->address += (uint64_t)p->min_length * ((255u - p->opcode_base) / p->line_range);
		break;
	case LINE_FIXED_ADVANCE_PC:
		s->address += take_bytes(&p->at, 2);
		break;
	default: /* columns, statements, blocks, and opcodes of later versions */
		for (i = 0; i < p->nr_operands[opcode - 1]; i++)
			take_leb(&p->at, false);
	}
}

/* Reads one table: a head, directories, files, a program. The cursor `unit` ends where the table does. */
static void read_unit(struct sonde_cubin *c, const uint8_t *table, struct cursor unit)
{
	struct line_program p = {.cubin = c, .table = table, .at = unit};
	const unsigned version = (unsigned)take_bytes(&p.at, 2);
	const uint64_t head_length = take_bytes(&p.at, 4);
	const uint8_t *program = p.at.at;
	unsigned opcode;

	if (version < 2 || version > 4 || head_length > (uint64_t)(p.at.end - p.at.at))
		return;
	program += head_length;
	p.min_length = (uint8_t)take_bytes(&p.at, 1);
	if (version == 4)
		take_bytes(&p.at, 1); /* operations per instruction: for VLIW only */
	take_bytes(&p.at, 1);		/* initial value of the is_statement flag */
	p.line_base = (int8_t)take_bytes(&p.at, 1);
	p.line_range = (uint8_t)take_bytes(&p.at, 1);
	p.opcode_base = (uint8_t)take_bytes(&p.at, 1);
	p.nr_operands = p.at.at;
	if (!p.line_range || !p.opcode_base || (size_t)(p.at.end - p.at.at) < p.opcode_base)
		return;
	p.at.at += p.opcode_base - 1;
	read_files(&p);
	p.at.at = program;
	p.at.is_cut = false;
	begin_sequence(&p);
	while (!p.at.is_cut && p.at.at < p.at.end) {
		opcode = (unsigned)take_bytes(&p.at, 1);
		if (opcode >= p.opcode_base)
			run_special(&p, opcode);
		else
			run_standard(&p, opcode);
	}
}

static void read_lines(struct sonde_cubin *c, struct sonde_str bytes)
{
	const uint8_t *table = (const uint8_t *)bytes.p;
	struct cursor at = {table, bytes.n ? table + bytes.n : table, false}, unit;
	uint64_t length;

	while (!at.is_cut && at.at < at.end) {
		length = take_bytes(&at, 4);
		if (length >= 0xfffffff0 || length > (uint64_t)(at.end - at.at)) /* cut off, or 64-bit DWARF, which no cubin has */
			return;
		unit = (struct cursor){at.at, at.at + length, false};
		read_unit(c, table, unit);
		at.at = unit.end;
	}
}

/* --- the cubin ---------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return sonde_str_cmp(((const struct function *)a)->name, ((const struct function *)b)->name);
}

static int by_offset(const void *a, const void *b)
{
	return sonde_cmp(((const struct relocation *)a)->offset, ((const struct relocation *)b)->offset);
}

static int by_place(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	if (x->section != y->section)
		return sonde_cmp(x->section, y->section);
	return x->begin != y->begin ? sonde_cmp(x->begin, y->begin) : sonde_cmp(x->first, y->first);
}

static bool is_cubin(struct sonde_str bytes, Elf64_Ehdr *head)
{
	if (bytes.n < sizeof(*head))
		return false;
	memcpy(head, bytes.p, sizeof(*head));
	return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
	       head->e_ident[EI_DATA] == ELFDATA2LSB && head->e_machine == MACHINE_CUDA &&
	       head->e_shentsize == sizeof(Elf64_Shdr);
}

int sonde_cubin_open(struct sonde_cubin **out, struct sonde_str bytes, struct sonde_err *err)
{
	struct sonde_str symbols = {0};
	struct sonde_cubin *c;
	Elf64_Shdr section;
	Elf64_Ehdr head;

	*out = NULL;
	if (!is_cubin(bytes, &head))
		return sonde_err_set(err, SONDE_ERR_FORMAT, "not a cubin (an ELF file with GPU machine code)");
	c = sonde_calloc(1, sizeof(*c));
	if (!c)
		return sonde_err_nomem(err);
	c->bytes = bytes;
	if (find_section(c, &head, ".symtab", &section))
		symbols = section_bytes(c, &section);
	read_functions(c, &head, symbols);
	read_relocations(c, &head, symbols, false);
	read_relocations(c, &head, symbols, true);
	sonde_vec_sort(&c->functions, by_name);
	sonde_vec_sort(&c->relocations, by_offset);
	if (find_section(c, &head, ".debug_line", &section))
		read_lines(c, section_bytes(c, &section));
	sonde_vec_sort(&c->sequences, by_place);
	if (sonde_arena_status(&c->arena, err)) {
		sonde_cubin_free(c);
		return SONDE_ERR_NOMEM;
	}
	*out = c;
	return 0;
}

void sonde_cubin_free(struct sonde_cubin *c)
{
	if (!c)
		return;
	sonde_arena_release(&c->arena);
	sonde_free(c);
}

uint32_t sonde_cubin_nr_rows(const struct sonde_cubin *c)
{
	return (uint32_t)c->rows.nr;
}

uint32_t sonde_cubin_find(const struct sonde_cubin *c, struct sonde_str function, uint64_t pc)
{
	const struct function *f;
	const struct sequence *s;
	uint64_t address;
	size_t low = 0;

	sonde_bisect(low, c->functions.nr, mid, sonde_str_cmp(c->functions.at[mid].name, function) < 0);
	if (low == c->functions.nr || !sonde_str_eq(c->functions.at[low].name, function))
		return SONDE_CUBIN_NONE;
	f = &c->functions.at[low];
	if (pc > UINT64_MAX - f->address)
		return SONDE_CUBIN_NONE;
	address = f->address + pc;
	low = 0;
	sonde_bisect(low, c->sequences.nr, mid, c->sequences.at[mid].section < f->section ||
		(c->sequences.at[mid].section == f->section && c->sequences.at[mid].begin <= address));
	if (!low)
		return SONDE_CUBIN_NONE;
	s = &c->sequences.at[low - 1];
	if (s->section != f->section || address >= s->end)
		return SONDE_CUBIN_NONE;
	/* Several rows may have one address: the last is the code's, those before are the calls it was inlined at. */
	low = s->first;
	sonde_bisect(low, s->first + s->nr, mid, c->rows.at[mid].address <= address);
	return low > s->first ? (uint32_t)low - 1 : SONDE_CUBIN_NONE;
}

struct sonde_cubin_row sonde_cubin_row(const struct sonde_cubin *c, uint32_t number)
{
	const struct row *r = &c->rows.at[number];
	const struct file none = {0}, *file = r->file == SONDE_CUBIN_NONE ? &none : &c->files.at[r->file];

	return (struct sonde_cubin_row){file->folder, file->name, r->line, r->caller};
}
