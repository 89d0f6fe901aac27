/*
 * The NVTX hooks that name things: threads, domains and registered strings.
 * Names of categories and CUDA objects are left alone: no report has a place for them.
 */
#include "inject/message_int.h"

/* --- threads --------------------------------------------------------------------------------- */

static void name_thread(struct thread *t, const struct message *m, uint32_t tid)
{
	struct sonde_event e;

	e.type = SONDE_EVENT_NAME_THREAD;
	e.ticks = m->now;
	e.label = label_of(m);
	e.field[0] = tid;
	sonde_ring__write(t, &e);
}

static void NVTX_API name_os_thread_a(uint32_t tid, const char *text)
{
	WITH_MESSAGE(, sonde_message__narrow(&m, SONDE_STRING_NAME, text), name_thread(t, &m, tid));
}

static void NVTX_API name_os_thread_w(uint32_t tid, const wchar_t *text)
{
	WITH_MESSAGE(, sonde_message__wide(&m, SONDE_STRING_NAME, text, buf),
		name_thread(t, &m, tid));
}

/* --- domains and registered strings ---------------------------------------------------------- */

static nvtxDomainHandle_t domain_handle(const struct message *m)
{
	unsigned n = sonde_label__domain(m->text, m->n);

	return (nvtxDomainHandle_t)(void *)&sonde_inject.labels.domains[n];
}

static nvtxDomainHandle_t NVTX_API domain_create_a(const char *text)
{
	nvtxDomainHandle_t d;
	WITH_MESSAGE(
		NULL, sonde_message__narrow(&m, SONDE_STRING_DOMAIN, text), d = domain_handle(&m));
	return d;
}

static nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t *text)
{
	nvtxDomainHandle_t d;
	WITH_MESSAGE(NULL, sonde_message__wide(&m, SONDE_STRING_DOMAIN, text, buf),
		d = domain_handle(&m));
	return d;
}

static void NVTX_API domain_destroy(nvtxDomainHandle_t d)
{
	(void)d;
}

static nvtxStringHandle_t string_handle(const struct message *m)
{
	if (!m->label)
		sonde_flusher__note("more registered strings than the table holds: "
				    "ranges named by the rest have no label");
	return (nvtxStringHandle_t)(void *)(uintptr_t)m->label;
}

static nvtxStringHandle_t NVTX_API domain_register_a(nvtxDomainHandle_t d, const char *text)
{
	nvtxStringHandle_t h;
	WITH_MESSAGE(NULL,
		(m.domain = sonde_message__domain(d),
			sonde_message__narrow(&m, SONDE_STRING_LABEL | LABEL_KEPT, text)),
		h = string_handle(&m));
	return h;
}

static nvtxStringHandle_t NVTX_API domain_register_w(nvtxDomainHandle_t d, const wchar_t *text)
{
	nvtxStringHandle_t h;
	WITH_MESSAGE(NULL,
		(m.domain = sonde_message__domain(d),
			sonde_message__wide(&m, SONDE_STRING_LABEL | LABEL_KEPT, text, buf)),
		h = string_handle(&m));
	return h;
}

/* --- attaching ------------------------------------------------------------------------------- */

static const NvtxFunctionPointer core[NVTX_CBID_CORE_SIZE] = {
	HOOK(NVTX_CBID_CORE_NameOsThreadA, name_os_thread_a),
	HOOK(NVTX_CBID_CORE_NameOsThreadW, name_os_thread_w),
};

static const NvtxFunctionPointer core2[NVTX_CBID_CORE2_SIZE] = {
	HOOK(NVTX_CBID_CORE2_DomainRegisterStringA, domain_register_a),
	HOOK(NVTX_CBID_CORE2_DomainRegisterStringW, domain_register_w),
	HOOK(NVTX_CBID_CORE2_DomainCreateA, domain_create_a),
	HOOK(NVTX_CBID_CORE2_DomainCreateW, domain_create_w),
	HOOK(NVTX_CBID_CORE2_DomainDestroy, domain_destroy),
};

static const struct sonde_nvtx_module modules[] = {
	{NVTX_CB_MODULE_CORE, core, NVTX_CBID_CORE_SIZE},
	{NVTX_CB_MODULE_CORE2, core2, NVTX_CBID_CORE2_SIZE},
};

bool sonde_nvtx__attach_names(NvtxGetExportTableFunc_t get_table)
{
	return sonde_nvtx__fill(get_table, modules, sizeof(modules) / sizeof(modules[0]));
}
