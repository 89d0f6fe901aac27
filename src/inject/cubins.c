/*
 * Cubins: the code of kernels, kept beside the capture so that any machine can find the source lines of PC samples.
 * When a module is loaded, a callback of the driver copies its cubin, if the cubin has a line table and was not copied
 * before. The thread that drains PC samples computes CUPTI's checksum of the copy: samples name their cubin by this
 * checksum. The flusher writes the copy to cubins/CHECKSUM.cubin, once for all processes of a run, and frees it. cubins_mb
 * limits the size of all cubins that one process keeps: each process of a run may write as much.
 *
 * Cubins are compared by a hash of their bytes. A cubin has its place in the table for life, so that it is known when it is
 * loaded again.
 */
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <elf.h>
#include <limits.h>
#include <sys/mman.h>

#define MAX_CUBINS 16384
#define NR_SLOTS   (2u * MAX_CUBINS)
#define PUT_BYTES  (1u << 20) /* one flush stops writing cubins once it has written this much */
#define TEXT(of)   #of
#define TEXT_OF(n) TEXT(n)
#define NO_LINES   ": their PC samples have no source lines"

enum { CUBIN_NONE, CUBIN_COPIED, CUBIN_CHECKSUMMED, CUBIN_DONE };

static struct cubin {
	_Atomic uint32_t state;
	uint8_t *at; /* the copy, until it is written */
	size_t nr_bytes;
	uint64_t hash, checksum;
} cubins[MAX_CUBINS];
static _Atomic uint32_t by_hash[NR_SLOTS]; /* hash table: number of a cubin plus one; 0 = free */
static uint32_t by_checksum[NR_SLOTS];	   /* the same; only the thread that drains uses it */
static _Atomic uint32_t nr_cubins;
static _Atomic uint64_t kept_bytes;
static uint32_t nr_checksummed, nr_put; /* cubins before these have a checksum, or are done */

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
		if (nr_bytes > limit || kept > limit - nr_bytes)
			return false;
	} while (!atomic_compare_exchange_weak(&kept_bytes, &kept, kept + nr_bytes));
	return true;
}

/* The slot of the cubin with these bytes, or the free slot where it belongs. There is always a free one. */
static _Atomic uint32_t *find_slot(uint64_t hash, size_t nr_bytes, bool *is_there)
{
	uint32_t at = (uint32_t)hash % NR_SLOTS, number;

	for (; (number = atomic_load(&by_hash[at])); at = (at + 1) % NR_SLOTS)
		if (cubins[number - 1].hash == hash && cubins[number - 1].nr_bytes == nr_bytes)
			break;
	*is_there = number;
	return &by_hash[at];
}

/* Enters a copy. False when there is no place, or another thread has just entered the same cubin. */
static bool enter(void *copy, size_t nr_bytes, uint64_t hash)
{
	uint32_t number = atomic_fetch_add(&nr_cubins, 1), none;
	_Atomic uint32_t *slot;
	bool is_there;
	struct cubin *c;

	if (number >= MAX_CUBINS) {
		atomic_store(&nr_cubins, MAX_CUBINS);
		sonde_flusher__note("the code of some kernels was not kept (limit: " TEXT_OF(MAX_CUBINS) " cubins of a process)" NO_LINES);
		return false;
	}
	c = &cubins[number];
	c->at = copy;
	c->nr_bytes = nr_bytes;
	c->hash = hash;
	do {
		slot = find_slot(hash, nr_bytes, &is_there);
		none = 0;
	} while (!is_there && !atomic_compare_exchange_strong(slot, &none, number + 1));
	atomic_store(&c->state, is_there ? CUBIN_DONE : CUBIN_COPIED);
	return !is_there;
}

void sonde_cubins__keep(const void *at, size_t nr_bytes)
{
	bool is_there;
	uint64_t hash;
	void *copy;

	if (!sonde_inject.config.cubin_bytes || !has_section(at, nr_bytes, ".debug_line"))
		return;
	hash = sonde_label__hash(at, nr_bytes);
	find_slot(hash, nr_bytes, &is_there);
	if (is_there)
		return;
	if (!take_room(nr_bytes)) {
		sonde_flusher__note("the code of some kernels was not kept (limit: pipeline.native.cubins_mb)" NO_LINES);
		return;
	}
	copy = mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED) {
		sonde_flusher__note("the code of some kernels was not kept (too little memory)" NO_LINES);
	} else {
		memcpy(copy, at, nr_bytes);
		if (enter(copy, nr_bytes, hash))
			return;
		munmap(copy, nr_bytes);
	}
	atomic_fetch_sub(&kept_bytes, nr_bytes);
}

static uint32_t count_cubins(void)
{
	uint32_t nr = atomic_load(&nr_cubins);

	return nr < MAX_CUBINS ? nr : MAX_CUBINS;
}

/* The slot of a checksum, or the free slot where it belongs. */
static uint32_t *slot_of(uint64_t checksum)
{
	uint32_t at = (uint32_t)checksum % NR_SLOTS;

	while (by_checksum[at] && cubins[by_checksum[at] - 1].checksum != checksum)
		at = (at + 1) % NR_SLOTS;
	return &by_checksum[at];
}

void sonde_cubins__checksum(uint64_t (*checksum)(const void *, size_t))
{
	uint32_t i, nr = count_cubins(), state;

	for (i = nr_checksummed; i < nr; i++) {
		state = atomic_load(&cubins[i].state);
		if (state == CUBIN_COPIED) {
			cubins[i].checksum = checksum(cubins[i].at, cubins[i].nr_bytes);
			*slot_of(cubins[i].checksum) = i + 1;
			atomic_store(&cubins[i].state, CUBIN_CHECKSUMMED);
		}
		nr_checksummed += i == nr_checksummed && state != CUBIN_NONE;
	}
}

bool sonde_cubins__has(uint64_t checksum)
{
	return checksum && *slot_of(checksum);
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
 * only source lines are missing. False when this process has written nothing.
 */
static bool write_cubin(const struct cubin *c)
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
		return false; /* another process has written the same cubin */
	to = (struct raw_text){part, 0, sizeof(part)};
	add_path(&to, ".part", c->checksum);
	sonde_raw__number(&to, (uint64_t)sonde_inject.pid);
	raw_call(SYS_mkdirat, AT_FDCWD, (long)folder, 0700, 0, 0);
	fd = raw_open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	while (done < c->nr_bytes && n > 0) {
		n = raw_write(fd, c->at + done, c->nr_bytes - done);
		done += n > 0 ? (size_t)n : 0;
	}
	raw_close(fd);
	if (done < c->nr_bytes || raw_call(SYS_renameat2, AT_FDCWD, (long)part, AT_FDCWD, (long)path, 0) != 0) {
		raw_call(SYS_unlinkat, AT_FDCWD, (long)part, 0, 0, 0);
		sonde_flusher__note("the code of some kernels could not be written" NO_LINES);
		return false;
	}
	return true;
}

void sonde_cubins__put(bool all)
{
	uint32_t i, nr = count_cubins();
	size_t done = 0;

	for (i = nr_put; i < nr && (all || done < PUT_BYTES); i++) { /* the rest waits for the next flush: events must not wait for long */
		struct cubin *c = &cubins[i];

		if (atomic_load(&c->state) == CUBIN_CHECKSUMMED) {
			if (!c->checksum || !write_cubin(c))
				atomic_fetch_sub(&kept_bytes, c->nr_bytes);
			raw_call(SYS_munmap, (long)c->at, (long)c->nr_bytes, 0, 0, 0);
			atomic_store(&c->state, CUBIN_DONE);
			done += c->nr_bytes;
		}
		nr_put += i == nr_put && atomic_load(&c->state) == CUBIN_DONE;
	}
}
