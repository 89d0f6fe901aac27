#include "catalogue/stall_reasons.h"

#include <string.h>

#define PREFIX "smsp__pcsamp_warps_issue_stalled_"
#define TWIN   "_not_issued"

static const struct sonde_stall_reason table[] = {
	{"selected", "issued (selected)", "The warp issued an instruction: no stall.", true},
	{"long_scoreboard", "waits for memory (long scoreboard)",
		"Data from global, local or texture memory has not arrived yet: load it earlier, more at once, or from nearer memory.", false},
	{"short_scoreboard", "waits for shared memory or special functions (short scoreboard)",
		"A result of shared memory, a special function or a warp shuffle has not arrived yet: avoid bank conflicts, "
		"and use fewer of these instructions.", false},
	{"barrier", "barrier", "Other warps of the block have not reached __syncthreads: balance the work before it.", false},
	{"membar", "memory barrier (membar)", "A memory fence waits for earlier stores: use fewer or narrower fences.", false},
	{"no_instructions", "instruction cache (no instructions)",
		"The next instruction is not in the instruction cache: make loops shorter, unroll less.", false},
	{"branch_resolve", "branch (branch resolve)", "The target of a branch is being computed: branch less in short loops.", false},
	{"math_pipe_throttle", "math pipe busy (math pipe throttle)",
		"The pipe for this operation is full: it is the limit, unless another pipe can do the work.", false},
	{"mio_throttle", "shared-memory queue full (MIO throttle)",
		"The queue to shared memory and special functions is full: make fewer and wider accesses.", false},
	{"lg_throttle", "memory queue full (LG throttle)",
		"The queue to global and local memory is full: make fewer and wider accesses, spill fewer registers.", false},
	{"tex_throttle", "texture queue full (tex throttle)", "The queue to texture units is full: make fewer and wider accesses.", false},
	{"drain", "waits for its stores (drain)", "The warp has finished except for its stores: coalesce them, or spread them out.", false},
	{"dispatch_stall", "dispatcher (dispatch stall)", "The dispatcher holds the instruction back, for example because register ports conflict.", false},
	{"imc_miss", "constant cache (IMC miss)",
		"A constant is not in the constant cache: let all threads of a warp use the same index, or use other memory.", false},
	{"not_selected", "ready, another warp was chosen (not selected)",
		"The warp could have gone on: there are enough warps.", false},
	{"sleeping", "sleeps (nanosleep)", "All threads of the warp sleep, because the program told them to wait.", false},
	{"wait", "fixed latency (wait)",
		"The result of the instruction before is due in a few cycles: more independent instructions hide it.", false},
	{"misc", "other (misc)", "None of the other reasons.", false},
	{"gmma", "waits for the tensor cores (GMMA)",
		"Warpgroup matrix instructions are still running: that is good, unless the tensor cores are mostly idle.", false},
	{"warpgroup_arrive", "waits for its warpgroup (warpgroup arrive)",
		"Other warps of the warpgroup have not arrived for a matrix instruction: balance the work before it.", false},
};

const struct sonde_stall_reason *sonde_stall_reason_find(struct sonde_str name)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (sonde_str_is(name, table[i].name))
			return &table[i];
	return NULL;
}

struct sonde_str sonde_stall_reason_words(struct sonde_str name)
{
	const struct sonde_stall_reason *r = sonde_stall_reason_find(name);

	return r ? sonde_str_from(r->words) : name;
}

struct sonde_str sonde_stall_reason_short(struct sonde_str name, bool *is_twin)
{
	size_t twin = sizeof(TWIN) - 1, prefix = sizeof(PREFIX) - 1;

	*is_twin = name.n > twin && memcmp(name.p + name.n - twin, TWIN, twin) == 0;
	name.n -= *is_twin ? twin : 0;
	if (name.n > prefix && sonde_str_starts(name, PREFIX))
		name = (struct sonde_str){name.p + prefix, name.n - prefix};
	return name;
}
