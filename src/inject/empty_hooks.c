/*
 * A stand-in for the injected library, for measurements: its hooks return at once. A
 * program's time with this library shows what being loaded costs; the difference to
 * the real library is the cost of the hooks.
 */
#include "inject/nvtx_int.h"

int InitializeInjection(void);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static int NVTX_API nothing(void)
{
	return NVTX_NO_PUSH_POP_TRACKING;
}

static NvtxFunctionPointer hooks[64];

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
	NvtxGetExportTableFunc_t get_table)
{
	static const struct sonde_nvtx_module modules[] = {
		{NVTX_CB_MODULE_CORE, hooks, NVTX_CBID_CORE_SIZE},
		{NVTX_CB_MODULE_CORE2, hooks, NVTX_CBID_CORE2_SIZE},
	};
	size_t i;

	for (i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		hooks[i] = (NvtxFunctionPointer)nothing;
	return sonde_nvtx__fill(get_table, modules, 2);
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	return 1;
}
