/*
 * Who else uses CUPTI in the process. It has one subscriber and one owner of
 * activity records; who comes second takes them over or is refused. CUPTI does
 * not say who it was: the libraries that are loaded do, as far as we know them.
 */
#include "inject/cupti_int.h"
#include "inject/inject_int.h"

#include <link.h>
#include <string.h>

#define SILENT 20u /* times in a row that nothing came, though there were launches */

#define TAKEN(who)  "CUPTI has another subscriber" who ": kernels have no region"
#define STOLEN(who)                                                                                \
	"GPU work was launched, and CUPTI gave no record of it for a while: another user of CUPTI" \
	" in the process" who " took the records over; ranges go on"

static const struct rival {
	const char *library; /* how its file name begins */
	const char *taken, *stolen;
} rivals[] = {
	{"libproton", TAKEN(" (Triton's Proton)"), STOLEN(" (Triton's Proton)")},
	{"libToolsInjection", TAKEN(" (Nsight Systems)"), STOLEN(" (Nsight Systems)")},
	{"libkineto", TAKEN(" (torch.profiler)"), STOLEN(" (torch.profiler)")},
	{"libtorch_cpu", TAKEN(" (probably torch.profiler)"), STOLEN(" (probably torch.profiler)")},
	{"", TAKEN(""), STOLEN("")},
};

static int meet(struct dl_phdr_info *info, size_t size, void *out)
{
	const char *base = strrchr(info->dlpi_name, '/');
	const struct rival **found = out;
	size_t i;

	(void)size;
	base = base ? base + 1 : info->dlpi_name;
	for (i = 0; *base && &rivals[i] < *found; i++)
		if (!strncmp(base, rivals[i].library, strlen(rivals[i].library)))
			*found = &rivals[i];
	return 0;
}

static const struct rival *find(void)
{
	const struct rival *found = &rivals[sizeof(rivals) / sizeof(*rivals) - 1];

	dl_iterate_phdr(meet, (void *)&found);
	return found;
}

void sonde_rivals__note_subscriber(void)
{
	sonde_flusher__note(find()->taken);
}

static uint64_t sum_of_launches(void)
{
	const struct inject *g = &sonde_inject;
	uint32_t i, nr = atomic_load(&g->nr_used);
	uint64_t sum = 0;

	for (i = 0; i < nr && i < MAX_THREADS; i++)
		sum += atomic_load_explicit(&g->threads[i].launched, memory_order_relaxed);
	return sum;
}

void sonde_rivals__look(void)
{
	static uint64_t last_sum, last_records;
	static unsigned nr_silent;
	uint64_t sum = sum_of_launches();
	uint64_t nr_records = atomic_load(&sonde_inject.nr_gpu_records);

	if (nr_records != last_records || !atomic_load(&sonde_inject.windows.is_timing))
		nr_silent = 0;
	else if (sum != last_sum && ++nr_silent == SILENT)
		sonde_flusher__note(find()->stolen);
	last_sum = sum;
	last_records = nr_records;
}
