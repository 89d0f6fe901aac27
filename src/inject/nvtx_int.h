/*
 * Attaching to one NVTX instance: puts our hooks into its table of function slots,
 * as far as that instance, which may be older or newer than our headers, has the slots.
 */
#ifndef SONDE_INJECT_NVTX_INT_H
#define SONDE_INJECT_NVTX_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#define HOOK(id, fn) [id] = (NvtxFunctionPointer)(fn)

struct sonde_nvtx_module {
	NvtxCallbackModule id;
	const NvtxFunctionPointer *hooks; /* by callback id, NULL = leave alone */
	unsigned nr;
};

static inline bool sonde_nvtx__fill(
	NvtxGetExportTableFunc_t get_table, const struct sonde_nvtx_module *modules, size_t nr)
{
	const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
	unsigned size, i;
	size_t m;

	if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
		return false;
	for (m = 0; m < nr; m++) {
		NvtxFunctionTable table = NULL;

		size = 0;
		if (!callbacks->GetModuleFunctionTable(modules[m].id, &table, &size) || !table)
			continue;
		for (i = 1; i < size && i < modules[m].nr; i++) {
			if (modules[m].hooks[i] && table[i])
				*table[i] = modules[m].hooks[i];
		}
	}
	return true;
}

/* Puts our hooks in place: those of nvtx.c, or those of a sleeper (asleep_hooks.c), which call the others when it is awake. */
bool sonde_nvtx__attach(NvtxGetExportTableFunc_t get_table);
bool sonde_asleep__attach(NvtxGetExportTableFunc_t get_table);

/* The hooks of nvtx.c, by callback id. */
extern const NvtxFunctionPointer sonde_nvtx_core[NVTX_CBID_CORE_SIZE], sonde_nvtx_core2[NVTX_CBID_CORE2_SIZE];
#define SONDE_NVTX_SKIPPED (1ull << 63) /* the id of a start/end range that is not recorded */
/* Puts our hooks for one of NVTX's extensions in place; false: we do not know this extension. */
struct nvtxExtModuleInfo_t;
bool sonde_nvtx__extend(struct nvtxExtModuleInfo_t *module);

#endif
