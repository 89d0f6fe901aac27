/*
 * A simulated CUDA program whose kernels are PC-sampled:
 *
 *     fake_pc FAKE_CUPTI regions         A has 3 launches of gemm, B 5 of axpy; fill is outside
 *     fake_pc FAKE_CUPTI windows         steps, each with one launch; waits until samples are drained around each
 *     fake_pc FAKE_CUPTI many COUNT      COUNT launches of gemm in A
 *     fake_pc FAKE_CUPTI costly MS       launches in A for that time; says how often samples were asked for, and after how many ms
 *     fake_pc FAKE_CUPTI race            a thread destroys its context while the program's end takes the last samples
 *     fake_pc FAKE_CUPTI slowly          50 functions, one launch each in 5 ms, in A
 *     fake_pc FAKE_CUPTI contexts COUNT  COUNT contexts, one after the other, each with a launch of gemm in A
 *     fake_pc FAKE_CUPTI threads COUNT   COUNT threads, each with contexts and launches of its own; all load the same 20 modules
 *     fake_pc FAKE_CUPTI long            a launch in A of a function whose name is 100,003 bytes
 *     fake_pc FAKE_CUPTI loop            launches in A and B, until the file $FAKE_LOOP_STOP exists
 *     fake_pc FAKE_CUPTI fork            a child also launches and ends
 *     fake_pc FAKE_CUPTI cubins COUNT    loads COUNT modules of 1 MiB with line tables, half of them twice, and one without
 *     fake_pc FAKE_CUPTI reload COUNT    loads one module of 16 KiB COUNT times, another of 1 MiB 300 times, then a third
 *     fake_pc FAKE_CUPTI small COUNT     loads COUNT different modules of 2 KiB, all with one checksum
 *     fake_pc FAKE_CUPTI big             loads modules of 6, 5 and 1 MiB with line tables
 *     fake_pc FAKE_CUPTI code FILE NAME  loads a cubin and launches one of its kernels in A
 */
#include <dlfcn.h>
#include <elf.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GEMM "_Z9gemm_tileILi2EEvPKfS1_Pfi"
#define MIB  (1u << 20)

static void (*launch)(const char *, uint64_t);
static void (*context)(int);
static void (*module)(const void *, size_t);
static uint64_t (*drains)(void), (*asked)(void);

static void *find(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return p;
}

static void in_region(const char *region, const char *kernel, long nr)
{
	nvtxRangePushA(region);
	while (nr-- > 0)
		launch(kernel, 0);
	nvtxRangePop();
}

/* Waits until the library has drained all present samples, and has drained once more. */
static void await_drain(void)
{
	uint64_t before = drains();

	while (getenv("CUDA_INJECTION64_PATH") && drains() < before + 2)
		usleep(1000);
}

static void run_windows(void)
{
	int i;

	for (i = 0; i < 6; i++) {
		launch("_Z4fillPfif", 0); /* between steps, so it is in no window */
		await_drain();
		nvtxRangePushA("step");
		await_drain();
		launch(GEMM, 0);
		await_drain();
		nvtxRangePop();
		await_drain();
	}
}

/* An ELF file with one section besides its names: a line table, or not. */
static char *make_cubin(unsigned number, int has_lines, size_t nr_bytes)
{
	static const char names[] = "\0.debug_line\0.strtab";
	char *p = calloc(1, nr_bytes);
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64}, .e_shoff = sizeof(head), .e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 2, .e_shstrndx = 1};
	Elf64_Shdr sections[2] = {{.sh_name = has_lines ? 1 : 2}, {.sh_name = 13, .sh_offset = 1024, .sh_size = sizeof(names)}};

	memcpy(p, &head, sizeof(head));
	memcpy(p + sizeof(head), sections, sizeof(sections));
	memcpy(p + 1024, names, sizeof(names));
	memcpy(p + 512, &number, sizeof(number));
	if (nr_bytes > 8192) { /* the checksum is of one byte in 4096 */
		memcpy(p + 4096, &number, sizeof(number));
		p[8192] = (char)(number >> 8);
	}
	return p;
}

/* Loads a module several times, each time from other memory. */
static void reload_cubin(unsigned number, size_t nr_bytes, long count)
{
	while (count-- > 0) {
		char *p = make_cubin(number, 1, nr_bytes);

		module(p, nr_bytes);
		free(p);
	}
}

static void load_small(unsigned nr)
{
	while (nr-- > 0)
		reload_cubin(nr, 2048, 1);
	await_drain();
}

static void load_cubins(unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++) {
		char *p = make_cubin(i, 1, MIB);

		module(p, MIB);
		if (i % 2)
			module(p, MIB);
		memset(p, 0xff, MIB); /* the library must keep a copy, not this memory */
		free(p);
	}
	module(make_cubin(7777, 0, MIB), MIB);
	await_drain();
}

static void load_code(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *p = malloc(64 * MIB);
	size_t n = f ? fread(p, 1, 64 * MIB, f) : 0;

	if (!n)
		exit(3);
	module(p, n);
}

static void *run_thread(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 20; i++) {
		context(1);
		reload_cubin((unsigned)i, MIB / 64, 1); /* all threads load the same */
		in_region("A", GEMM, 1);
		context(0);
	}
	return NULL;
}

static void run_threads(long nr)
{
	pthread_t threads[64];
	long i;

	nvtxInitialize(NULL); /* if two threads make the first call at the same time, they race inside NVTX's header */
	nr = nr < 64 ? nr : 64;
	for (i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, run_thread, NULL))
			exit(4);
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

static void launch_slowly(void)
{
	static char names[50][16]; /* records point to them until they are read */
	int i;

	for (i = 0; i < 50; i++) {
		snprintf(names[i], sizeof(names[i]), "slowly%d", i);
		in_region("A", names[i], 1);
		usleep(5000);
	}
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void launch_costly(long ms)
{
	long begin = now_ms();

	do {
		in_region("A", GEMM, 1);
		usleep(5000);
	} while (now_ms() - begin < ms);
	printf("%lu %ld\n", (unsigned long)asked(), now_ms() - begin);
}

static _Atomic int phase; /* 1 = the thread has its context; 2 = the program ends */

static void *run_racer(void *arg)
{
	uint64_t before;

	(void)arg;
	context(1);
	phase = 1;
	while (phase < 2)
		usleep(100);
	before = asked();
	while (asked() < before + 3) /* only the end asks so often when samples are slow to come */
		usleep(100);
	context(0);
	return NULL;
}

static void begin_race(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_racer, NULL) || pthread_detach(thread))
		exit(4);
	while (phase < 1)
		usleep(100);
	in_region("A", GEMM, 1);
	phase = 2;
}

static void launch_long(void)
{
	static char name[100004];

	memset(name, 'x', sizeof(name) - 1);
	in_region("A", name, 1);
}

int main(int argc, char **argv)
{
	const char *path = getenv("CUDA_INJECTION64_PATH"), *mode = argc > 2 ? argv[2] : "regions";
	void *cupti = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *injected = path ? dlopen(path, RTLD_NOW) : NULL;
	long count = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	int (*initialize)(void);

	if (!cupti)
		return 2;
	*(void **)&launch = find(cupti, "fake_launch");
	*(void **)&context = find(cupti, "fake_context");
	*(void **)&module = find(cupti, "fake_module");
	*(void **)&drains = find(cupti, "fake_drains");
	*(void **)&asked = find(cupti, "fake_asked");
	if (injected) {
		*(void **)&initialize = find(injected, "InitializeInjection");
		initialize();
	}
	context(1);
	if (!strcmp(mode, "windows")) {
		run_windows();
	} else if (!strcmp(mode, "many")) {
		in_region("A", GEMM, count);
	} else if (!strcmp(mode, "loop")) {
		for (count = 0; count < 20 || access(getenv("FAKE_LOOP_STOP"), F_OK) != 0; count++) {
			in_region("A", GEMM, 3);
			in_region("B", "_Z4axpyPfif", 5);
			usleep(500);
		}
	} else if (!strcmp(mode, "costly")) {
		launch_costly(count);
		return 0;
	} else if (!strcmp(mode, "race")) {
		begin_race();
	} else if (!strcmp(mode, "slowly")) {
		launch_slowly();
	} else if (!strcmp(mode, "threads")) {
		run_threads(count);
	} else if (!strcmp(mode, "long")) {
		launch_long();
	} else if (!strcmp(mode, "contexts")) {
		for (; count > 0; count--) {
			in_region("A", GEMM, 1);
			context(0);
			if (count > 1)
				context(1);
		}
	} else if (!strcmp(mode, "big")) {
		module(make_cubin(1, 1, 6 * MIB), 6 * MIB);
		module(make_cubin(2, 1, 5 * MIB), 5 * MIB);
		module(make_cubin(3, 1, MIB), MIB);
		await_drain();
	} else if (!strcmp(mode, "reload")) {
		reload_cubin(1, MIB / 64, count);
		reload_cubin(2, MIB, 300);
		reload_cubin(3, MIB, 1);
		await_drain();
	} else if (!strcmp(mode, "small")) {
		load_small((unsigned)count);
	} else if (!strcmp(mode, "cubins")) {
		load_cubins((unsigned)count);
	} else if (!strcmp(mode, "code")) {
		load_code(argv[3]);
		in_region("A", argv[4], 3);
	} else {
		in_region("A", GEMM, 3);
		in_region("B", "_Z4axpyPfif", 5);
		launch("_Z4fillPfif", 0);
	}
	if (!strcmp(mode, "fork") && fork() == 0) {
		in_region("A", GEMM, 7);
		exit(0);
	}
	wait(NULL);
	if (!strcmp(mode, "regions"))
		context(0);
	puts("done");
	return 0;
}
