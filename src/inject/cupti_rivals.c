/*
 * Finds out who else uses CUPTI in the process. CUPTI has one subscriber and one owner of
 * activity records; whoever comes second takes them over or is refused. From version 13 on
 * CUPTI tells us who the subscriber is. In all other cases we guess from the libraries that
 * are loaded, as far as we know them.
 *
 * Newer versions also give each subscriber its own records (functions called _v2, used by PyTorch's
 * monitor). Once somebody in the process has used these functions, CUPTI refuses all of ours.
 */
#include "inject/cupti_int.h"
#include "inject/inject_int.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

#define SILENT	 20u /* so many looks in a row without any record, though there were launches, mean that records are taken */
#define IN_VAIN	 4u  /* a closed window whose records did not come counts as this many looks */

#define TAKEN(who) "another tool in this process uses CUPTI" who ": sonde cannot tell which region launched a kernel"
#define STOLEN(who)                                                                                        \
	"the program launched GPU work, but CUPTI gave sonde no record of it for a while: another tool in" \
	" this process" who " has taken the records; ranges are still recorded"
#define SCOPED(who)                                                                                        \
	"another tool in this process" who " uses CUPTI's newer records (V2), and CUPTI then gives none to" \
	" sonde: host times only, no kernels"
#define RIVAL(library, who) {library, TAKEN(who), STOLEN(who), SCOPED(who)}

static const struct rival {
	const char *library; /* beginning of the library's file name */
	const char *taken, *stolen, *scoped;
} rivals[] = {
	RIVAL("libproton", " (Triton's Proton)"),
	RIVAL("libToolsInjection", " (Nsight Systems)"),
	RIVAL("libkineto", " (torch.profiler)"),
	{"libtorch_cpu", TAKEN(" (probably torch.profiler)"), STOLEN(" (probably torch.profiler)"),
		SCOPED(" (probably PyTorch's monitor)")},
	RIVAL("", ""),
};

static int match_library(struct dl_phdr_info *info, size_t size, void *out)
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

static const struct rival *find_rival(void)
{
	const struct rival *found = &rivals[sizeof(rivals) / sizeof(*rivals) - 1];

	dl_iterate_phdr(match_library, (void *)&found);
	return found;
}

#ifdef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
static void CUPTIAPI ignore(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
}

/* Asks CUPTI for the name of its subscriber; empty when it does not say. */
static void ask_name(char *name, size_t size)
{
	CUpti_SubscriberHandle mine;
	CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
		.subscriberName = "sonde",
		.oldSubscriberName = name,
		.oldSubscriberSize = size};
	size_t i;

	if (sonde_cupti.subscribe_v2(&mine, ignore, NULL, &params) == CUPTI_SUCCESS) {
		sonde_cupti.unsubscribe(mine); /* the other subscriber is gone by now */
		name[0] = 0;
	}
	name[size - 1] = 0;
	for (i = 0; name[i]; i++)
		name[i] = name[i] < ' ' || name[i] > '~' ? '?' : name[i];
}

static const char *ask_subscriber(void)
{
	static char text[sizeof(TAKEN(" ()")) + CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN]; /* a note must be constant: written once only */
	static const char usual[] = "CUPTI for ";
	char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
	size_t skipped;

	if (text[0] || !sonde_cupti.subscribe_v2 || !sonde_cupti.unsubscribe)
		return text[0] ? text : NULL;
	ask_name(name, sizeof(name));
	skipped = strncmp(name, usual, sizeof(usual) - 1) ? 0 : sizeof(usual) - 1;
	if (name[skipped] && name[skipped] != '<') /* `<not provided>`: the subscriber gave no name */
		snprintf(text, sizeof(text), TAKEN(" (%s)"), name + skipped);
	return text[0] ? text : NULL;
}
#else
static const char *ask_subscriber(void)
{
	return NULL;
}
#endif

void sonde_rivals__note_subscriber(void)
{
	const char *said = ask_subscriber();

	sonde_flusher__note(said ? said : find_rival()->taken);
}

void sonde_rivals__note_refusal(CUptiResult why, const char *what)
{
	sonde_flusher__note(why == CUPTI_ERROR_NOT_COMPATIBLE ? find_rival()->scoped : what);
}

/*
 * In a window, records are missing if there are launches and no record comes; between windows, if CUPTI still owes
 * records of kernels.
 */
void sonde_rivals__check(void)
{
	static uint64_t last_sum, last_records, last_owed;
	static unsigned nr_silent;
	uint64_t sum = sonde_launches__sum(), owed = atomic_load(&sonde_inject.records.owed_kernels);
	uint64_t nr_records = atomic_load(&sonde_inject.nr_gpu_records);

	if (nr_records != last_records)
		nr_silent = 0;
	else if (atomic_load(&sonde_inject.windows.gpu_on))
		nr_silent += sum != last_sum;
	else
		nr_silent += owed && owed != last_owed ? IN_VAIN : 0;
	if (nr_silent >= SILENT)
		sonde_flusher__note_loss(find_rival()->stolen);
	last_sum = sum;
	last_records = nr_records;
	last_owed = owed;
}
