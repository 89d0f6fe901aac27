/*
 * System calls without libc, for code that runs in the helper: that process
 * shares the host's memory, and with it the `errno` of a thread of the host.
 *
 * Each returns what the kernel does: a negative errno on failure.
 */
#ifndef SONDE_INJECT_RAW_INT_H
#define SONDE_INJECT_RAW_INT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long raw_call(long n, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long out;

	__asm__ volatile("syscall"
			 : "=a"(out)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return out;
}

/* Valgrind recognizes this sequence of rotations, which otherwise has no effect, as a question: here, whether valgrind is there. */
static inline bool raw_is_in_valgrind(void)
{
	const volatile uint64_t question[6] = {0x1001};
	uint64_t answer;

	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "=d"(answer)
			 : "a"(question), "0"(0ull)
			 : "cc", "memory");
	return answer != 0;
}
#elif defined(__aarch64__)
static inline long raw_call(long n, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}

static inline bool raw_is_in_valgrind(void)
{
	const volatile uint64_t question[6] = {0x1001};
	register uint64_t answer __asm__("x3") = 0;
	register const volatile uint64_t *at __asm__("x4") = question;

	__asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(answer)
			 : "r"(at)
			 : "cc", "memory");
	return answer != 0;
}
#else
#error "system calls of this processor are not known: add them here"
#endif

static inline int raw_open(const char *path, int flags, int mode)
{
	return (int)raw_call(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0);
}

static inline long raw_read(int fd, void *to, size_t n)
{
	return raw_call(SYS_read, fd, (long)to, (long)n, 0, 0);
}

static inline long raw_write(int fd, const void *from, size_t n)
{
	return raw_call(SYS_write, fd, (long)from, (long)n, 0, 0);
}

static inline void raw_close(int fd)
{
	raw_call(SYS_close, fd, 0, 0, 0, 0);
}

/*
 * Reads as much of a file as fits into `cap` bytes with a NUL at the end; returns the number of bytes, 0 when the file
 * cannot be read.
 */
size_t sonde_raw__slurp(const char *path, char *to, size_t cap);

/* Builds text without stdio, which works only in threads that libc knows. */
struct raw_text {
	char *p;
	size_t n, cap; /* length and room; the text is always NUL-terminated, and cut where it does not fit */
};

void sonde_raw__text(struct raw_text *t, const char *text);
void sonde_raw__number(struct raw_text *t, uint64_t number);

#endif
