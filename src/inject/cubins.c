/*
 * Cubins: the code of kernels, kept beside the capture so that any machine can find the source lines of PC samples.
 * When a module is loaded, a callback of the driver copies its cubin, if the cubin has a line table. The thread that
 * drains PC samples computes CUPTI's checksum of the copy: samples name their cubin by this checksum. The flusher
 * writes the copy to cubins/CHECKSUM.cubin, once for all processes of a run. cubins_mb limits the size of all copies.
 */
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <elf.h>
#include <limits.h>
#include <sys/mman.h>

#define MAX_CUBINS 1024u
#define PUT_BYTES  (1u << 20) /* one flush stops writing cubins once it has written this much */

enum { CUBIN_NONE, CUBIN_COPIED, CUBIN_CHECKSUMMED, CUBIN_DONE };

static struct cubin {
	_Atomic uint32_t state;
	uint8_t *at;
	size_t nr_bytes;
	uint64_t checksum;
} cubins[MAX_CUBINS];
static _Atomic uint32_t nr_cubins;
static _Atomic uint64_t kept_bytes;

/* Whether the ELF file has a section with this name. */
static bool has_section(const uint8_t *p, size_t n, const char *name)
{
	Elf64_Ehdr head;
	Elf64_Shdr names, s;
	uint32_t i;

	if (n < sizeof(head))
		return false;
	memcpy(&head, p, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_shentsize != sizeof(s) || head.e_shstrndx >= head.e_shnum ||
		head.e_shoff > n || (uint64_t)head.e_shnum * sizeof(s) > n - head.e_shoff)
		return false;
	memcpy(&names, p + head.e_shoff + head.e_shstrndx * sizeof(s), sizeof(names));
	if (names.sh_offset > n || names.sh_size > n - names.sh_offset)
		return false;
	for (i = 0; i < head.e_shnum; i++) {
		memcpy(&s, p + head.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_name < names.sh_size && strlen(name) < names.sh_size - s.sh_name &&
			!memcmp(p + names.sh_offset + s.sh_name, name, strlen(name) + 1))
			return true;
	}
	return false;
}

/* Takes `nr_bytes` of the limit; false, and takes nothing, when there is too little left: smaller modules may still fit. */
static bool take_room(size_t nr_bytes)
{
	uint64_t limit = sonde_inject.config.cubin_bytes, kept = atomic_load(&kept_bytes);

	do {
		if (atomic_load(&nr_cubins) >= MAX_CUBINS || nr_bytes > limit || kept > limit - nr_bytes)
			return false;
	} while (!atomic_compare_exchange_weak(&kept_bytes, &kept, kept + nr_bytes));
	return true;
}

void sonde_cubins__keep(const void *at, size_t nr_bytes)
{
	uint32_t number;
	void *copy;

	if (!sonde_inject.config.cubin_bytes || !has_section(at, nr_bytes, ".debug_line"))
		return;
	if (!take_room(nr_bytes)) {
		sonde_flusher__note("the code of some kernels was not kept (limit: pipeline.native.cubins_mb): their PC samples have no "
				    "source lines");
		return;
	}
	copy = mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	number = copy == MAP_FAILED ? MAX_CUBINS : atomic_fetch_add(&nr_cubins, 1);
	if (number >= MAX_CUBINS) {
		atomic_fetch_sub(&kept_bytes, nr_bytes);
		if (copy != MAP_FAILED)
			munmap(copy, nr_bytes);
		return;
	}
	memcpy(copy, at, nr_bytes);
	cubins[number].at = copy;
	cubins[number].nr_bytes = nr_bytes;
	atomic_store(&cubins[number].state, CUBIN_COPIED);
}

static uint32_t count_cubins(void)
{
	uint32_t nr = atomic_load(&nr_cubins);

	return nr < MAX_CUBINS ? nr : MAX_CUBINS;
}

void sonde_cubins__checksum(uint64_t (*checksum)(const void *, size_t))
{
	uint32_t i, nr = count_cubins();

	for (i = 0; i < nr; i++)
		if (atomic_load(&cubins[i].state) == CUBIN_COPIED) {
			cubins[i].checksum = checksum(cubins[i].at, cubins[i].nr_bytes);
			atomic_store(&cubins[i].state, CUBIN_CHECKSUMMED);
		}
}

bool sonde_cubins__has(uint64_t checksum)
{
	uint32_t i, nr = count_cubins(), state;

	for (i = 0; i < nr; i++) {
		state = atomic_load(&cubins[i].state);
		if ((state == CUBIN_CHECKSUMMED || state == CUBIN_DONE) && cubins[i].checksum == checksum)
			return checksum;
	}
	return false;
}

/* --- the flusher ------------------------------------------------------------------------------------- */

static void add_path(struct raw_text *t, const char *name, uint64_t checksum)
{
	static const char digits[] = "0123456789abcdef";
	char hex[17] = {0};
	int i;

	for (i = 0; i < 16; i++)
		hex[i] = digits[checksum >> (60 - 4 * i) & 15];
	sonde_raw__text(t, sonde_inject.config.output);
	sonde_raw__text(t, "/" SONDE_CUBINS_FOLDER);
	if (!name)
		return;
	sonde_raw__text(t, "/");
	sonde_raw__text(t, hex);
	sonde_raw__text(t, name);
}

/*
 * Writes the file under another name first and renames it, so that a file is either complete or missing. If that fails,
 * only source lines are missing.
 */
static void write_cubin(const struct cubin *c)
{
	static char folder[PATH_MAX], path[PATH_MAX], part[PATH_MAX];
	struct raw_text to = {folder, 0, sizeof(folder)};
	size_t done = 0;
	long n = 1;
	int fd;

	add_path(&to, NULL, 0);
	to = (struct raw_text){path, 0, sizeof(path)};
	add_path(&to, ".cubin", c->checksum);
	if (raw_call(SYS_faccessat, AT_FDCWD, (long)path, 0, 0, 0) == 0)
		return; /* another process, or another context of this process, has written the same cubin */
	to = (struct raw_text){part, 0, sizeof(part)};
	add_path(&to, ".part", c->checksum);
	sonde_raw__number(&to, (uint64_t)sonde_inject.pid);
	raw_call(SYS_mkdirat, AT_FDCWD, (long)folder, 0700, 0, 0);
	fd = raw_open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	while (done < c->nr_bytes && n > 0) {
		n = raw_write(fd, c->at + done, c->nr_bytes - done);
		done += n > 0 ? (size_t)n : 0;
	}
	raw_close(fd);
	if (done < c->nr_bytes || raw_call(SYS_renameat2, AT_FDCWD, (long)part, AT_FDCWD, (long)path, 0) != 0) {
		raw_call(SYS_unlinkat, AT_FDCWD, (long)part, 0, 0, 0);
		sonde_flusher__note("the code of some kernels could not be written: their PC samples have no source lines");
	}
}

void sonde_cubins__put(bool all)
{
	uint32_t i, nr = count_cubins();
	size_t done = 0;

	for (i = 0; i < nr; i++) {
		struct cubin *c = &cubins[i];

		if (atomic_load(&c->state) != CUBIN_CHECKSUMMED)
			continue;
		if (c->checksum)
			write_cubin(c);
		raw_call(SYS_munmap, (long)c->at, (long)c->nr_bytes, 0, 0, 0);
		atomic_store(&c->state, CUBIN_DONE);
		done += c->nr_bytes;
		if (!all && done >= PUT_BYTES)
			return; /* the rest waits for the next flush: events must not wait for long */
	}
}
