/*
 * Makes a large torch.profiler trace from a small one:
 *
 *     kineto_many TRACE.json OUT.json BYTES
 *
 * Writes the events again and again until the file has BYTES, each time later
 * and with other correlation ids, as in a longer run of the same program.
 * Prints the total number of events that the reader uses.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLACES 2000000

/* A number that grows from copy to copy. */
struct place {
	size_t at, n;
	uint64_t value, step;
};

static struct place places[MAX_PLACES];
static size_t nr_places;

static char *load(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *text;

	if (!f || fseek(f, 0, SEEK_END)) {
		perror(path);
		exit(1);
	}
	*n = (size_t)ftell(f);
	rewind(f);
	text = malloc(*n + 1);
	if (!text || fread(text, 1, *n, f) != *n)
		exit(1);
	text[*n] = '\0';
	fclose(f);
	return text;
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void find(const char *text, const char *end, const char *key, uint64_t step)
{
	const char *p = text;

	while ((p = strstr(p, key)) && p < end && nr_places < MAX_PLACES) {
		p += strlen(key);
		p += strspn(p, " ");
		places[nr_places++] = (struct place){
			(size_t)(p - text), strspn(p, "0123456789"), strtoull(p, NULL, 10), step};
	}
}

/* Counts the events that the reader keeps: work, calls and ranges. */
static size_t count_kept(const char *text, const char *end)
{
	static const char *const cats[] = {"\"kernel\"", "\"gpu_memcpy\"", "\"gpu_memset\"",
		"\"cuda_runtime\"", "\"cuda_driver\"", "\"user_annotation\"", "\"Sequence number\""};
	size_t i, nr = 0;
	const char *p;

	for (i = 0; i < sizeof(cats) / sizeof(*cats); i++)
		for (p = text; (p = strstr(p, cats[i])) && p < end; p++)
			nr++;
	return nr;
}

static void write_copy(FILE *out, const char *text, size_t n, uint64_t copy)
{
	size_t i, at = 0;

	for (i = 0; i < nr_places; i++) {
		fwrite(text + at, 1, places[i].at - at, out);
		fprintf(out, "%llu",
			(unsigned long long)(places[i].value + copy * places[i].step));
		at = places[i].at + places[i].n;
	}
	fwrite(text + at, 1, n - at, out);
}

int main(int argc, char **argv)
{
	size_t n, want, done, copies = 0;
	char *text = argc == 4 ? load(argv[1], &n) : NULL;
	char *events = text ? strstr(text, "\"traceEvents\"") : NULL;
	char *begin = events ? strchr(events, '[') : NULL, *end = text ? text + n : NULL;
	FILE *out = begin ? fopen(argv[2], "wb") : NULL;

	if (!out) {
		fprintf(stderr, "usage: kineto_many TRACE.json OUT.json BYTES\n");
		return 2;
	}
	/* The last closing brace of an event at the outermost level: the one before the last `]`. */
	while (end > begin && *end != ']')
		end--;
	while (end > begin && *end != '}')
		end--;
	begin++;
	end++;
	find(begin, end, "\"ts\":", 10000000);
	find(begin, end, "\"correlation\":", 4000000);
	qsort(places, nr_places, sizeof(*places), by_place);
	want = strtoull(argv[3], NULL, 10);
	fwrite(text, 1, (size_t)(begin - text), out);
	for (done = 0; done < want; done += (size_t)(end - begin), copies++) {
		if (copies)
			fputc(',', out);
		write_copy(out, begin, (size_t)(end - begin), copies);
	}
	fputs("\n]}\n", out);
	printf("%zu\n", copies * count_kept(begin, end));
	return fclose(out) == 0 ? 0 : 1;
}
