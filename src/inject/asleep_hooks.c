/*
 * The hooks of a sleeper: each looks at one word of the page, and calls the hook of nvtx.c when the library is awake.
 *
 * The handles of domains and registered strings must be valid when the library is awake. So they are made by the hooks of
 * nvtx.c, awake or not.
 */
#include "format/asleep.h"
#include "inject/inject_int.h"
#include "inject/nvtx_int.h"

extern struct sonde_asleep *sonde_asleep_page;

static inline bool is_awake(void)
{
	return unlikely(atomic_load_explicit(&sonde_asleep_page->word, memory_order_relaxed) & SONDE_PHASE_MASK) &&
	       sonde_asleep__answer_call();
}

/* NOLINTBEGIN(bugprone-macro-parentheses): types, parameters and arguments */
/* When awake, this hook calls the one of nvtx.c. Asleep it returns `none`, which is what NVTX returns without a tool. */
#define SLEEPING(table, id, type, none, params, args)                                              \
	static type NVTX_API asleep_##id params                                                    \
	{                                                                                          \
		return is_awake() ? ((type(NVTX_API *) params)sonde_nvtx_##table[id])args : none;  \
	}
#define SLEEPING_VOID(table, id, params, args)                                                     \
	static void NVTX_API asleep_##id params                                                    \
	{                                                                                          \
		if (is_awake())                                                                    \
			((void(NVTX_API *) params)sonde_nvtx_##table[id])args;                     \
	}
/* NOLINTEND(bugprone-macro-parentheses) */
#define UNTRACKED NVTX_NO_PUSH_POP_TRACKING
typedef const nvtxEventAttributes_t *attributes;

SLEEPING(core, NVTX_CBID_CORE_RangePushA, int, UNTRACKED, (const char *t), (t))
SLEEPING(core, NVTX_CBID_CORE_RangePushW, int, UNTRACKED, (const wchar_t *t), (t))
SLEEPING(core, NVTX_CBID_CORE_RangePushEx, int, UNTRACKED, (attributes t), (t))
SLEEPING(core, NVTX_CBID_CORE_RangePop, int, UNTRACKED, (void), ())
SLEEPING(core, NVTX_CBID_CORE_RangeStartA, nvtxRangeId_t, SONDE_NVTX_SKIPPED, (const char *t), (t))
SLEEPING(core, NVTX_CBID_CORE_RangeStartW, nvtxRangeId_t, SONDE_NVTX_SKIPPED, (const wchar_t *t), (t))
SLEEPING(core, NVTX_CBID_CORE_RangeStartEx, nvtxRangeId_t, SONDE_NVTX_SKIPPED, (attributes t), (t))
SLEEPING_VOID(core, NVTX_CBID_CORE_RangeEnd, (nvtxRangeId_t id), (id))
SLEEPING_VOID(core, NVTX_CBID_CORE_MarkA, (const char *t), (t))
SLEEPING_VOID(core, NVTX_CBID_CORE_MarkW, (const wchar_t *t), (t))
SLEEPING_VOID(core, NVTX_CBID_CORE_MarkEx, (attributes t), (t))
SLEEPING_VOID(core, NVTX_CBID_CORE_NameOsThreadA, (uint32_t n, const char *t), (n, t))
SLEEPING_VOID(core, NVTX_CBID_CORE_NameOsThreadW, (uint32_t n, const wchar_t *t), (n, t))
SLEEPING(core2, NVTX_CBID_CORE2_DomainRangePushEx, int, UNTRACKED, (nvtxDomainHandle_t d, attributes t), (d, t))
SLEEPING(core2, NVTX_CBID_CORE2_DomainRangePop, int, UNTRACKED, (nvtxDomainHandle_t d), (d))
SLEEPING(core2, NVTX_CBID_CORE2_DomainRangeStartEx, nvtxRangeId_t, SONDE_NVTX_SKIPPED, (nvtxDomainHandle_t d, attributes t), (d, t))
SLEEPING_VOID(core2, NVTX_CBID_CORE2_DomainRangeEnd, (nvtxDomainHandle_t d, nvtxRangeId_t id), (d, id))
SLEEPING_VOID(core2, NVTX_CBID_CORE2_DomainMarkEx, (nvtxDomainHandle_t d, attributes t), (d, t))

#define ASLEEP(id) HOOK(id, asleep_##id)

bool sonde_asleep__attach(NvtxGetExportTableFunc_t get_table)
{
	static const NvtxFunctionPointer asleep_core[NVTX_CBID_CORE_SIZE] = {
		ASLEEP(NVTX_CBID_CORE_RangePushA),
		ASLEEP(NVTX_CBID_CORE_RangePushW),
		ASLEEP(NVTX_CBID_CORE_RangePushEx),
		ASLEEP(NVTX_CBID_CORE_RangePop),
		ASLEEP(NVTX_CBID_CORE_RangeStartA),
		ASLEEP(NVTX_CBID_CORE_RangeStartW),
		ASLEEP(NVTX_CBID_CORE_RangeStartEx),
		ASLEEP(NVTX_CBID_CORE_RangeEnd),
		ASLEEP(NVTX_CBID_CORE_MarkA),
		ASLEEP(NVTX_CBID_CORE_MarkW),
		ASLEEP(NVTX_CBID_CORE_MarkEx),
		ASLEEP(NVTX_CBID_CORE_NameOsThreadA),
		ASLEEP(NVTX_CBID_CORE_NameOsThreadW),
	};
	NvtxFunctionPointer asleep_core2[NVTX_CBID_CORE2_SIZE] = {
		ASLEEP(NVTX_CBID_CORE2_DomainRangePushEx),
		ASLEEP(NVTX_CBID_CORE2_DomainRangePop),
		ASLEEP(NVTX_CBID_CORE2_DomainRangeStartEx),
		ASLEEP(NVTX_CBID_CORE2_DomainRangeEnd),
		ASLEEP(NVTX_CBID_CORE2_DomainMarkEx),
	};
	const struct sonde_nvtx_module modules[] = {
		{NVTX_CB_MODULE_CORE, asleep_core, NVTX_CBID_CORE_SIZE},
		{NVTX_CB_MODULE_CORE2, asleep_core2, NVTX_CBID_CORE2_SIZE},
	};
	size_t i;

	for (i = 0; i < NVTX_CBID_CORE2_SIZE; i++) /* the hooks that make handles are those of nvtx.c */
		asleep_core2[i] = asleep_core2[i] ? asleep_core2[i] : sonde_nvtx_core2[i];
	return sonde_nvtx__fill(get_table, modules, sizeof(modules) / sizeof(modules[0]));
}
