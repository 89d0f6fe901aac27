/*
 * The NVTX hooks that name things: categories, threads, CUDA objects, domains
 * and registered strings.
 */
#include "inject/message_int.h"

static void name(unsigned type, struct message *m, uint64_t a, uint64_t b)
{
	struct thread *t = sonde_self;
	uint8_t *p = event_open(t, type | (m->label ? 0u : SONDE_EVENT_INLINE), m->now);

	if (!p)
		return;
	p = message_put(p, m);
	p = sonde_varint_put(p, a);
	if (type != SONDE_EVENT_NAME_THREAD)
		p = sonde_varint_put(p, b);
	event_close(t, p);
}

/* --- names --------------------------------------------------------------------------------- */

static void NVTX_API domain_name_category_a(
	nvtxDomainHandle_t d, uint32_t category, const char *text)
{
	WITH_MESSAGE(, sonde_message__narrow(&m, SONDE_STRING_NAME, text),
		name(SONDE_EVENT_NAME_CATEGORY, &m, sonde_message__domain(d), category));
}

static void NVTX_API domain_name_category_w(
	nvtxDomainHandle_t d, uint32_t category, const wchar_t *text)
{
	WITH_MESSAGE(, sonde_message__wide(&m, SONDE_STRING_NAME, text, buf),
		name(SONDE_EVENT_NAME_CATEGORY, &m, sonde_message__domain(d), category));
}

static void NVTX_API name_category_a(uint32_t category, const char *text)
{
	domain_name_category_a(NULL, category, text);
}

static void NVTX_API name_category_w(uint32_t category, const wchar_t *text)
{
	domain_name_category_w(NULL, category, text);
}

static void NVTX_API name_os_thread_a(uint32_t tid, const char *text)
{
	WITH_MESSAGE(, sonde_message__narrow(&m, SONDE_STRING_NAME, text),
		name(SONDE_EVENT_NAME_THREAD, &m, tid, 0));
}

static void NVTX_API name_os_thread_w(uint32_t tid, const wchar_t *text)
{
	WITH_MESSAGE(, sonde_message__wide(&m, SONDE_STRING_NAME, text, buf),
		name(SONDE_EVENT_NAME_THREAD, &m, tid, 0));
}

#define NAME_HANDLE(fn, type, kind)                                                                \
	static void NVTX_API fn##_a(type handle, const char *text)                                 \
	{                                                                                          \
		WITH_MESSAGE(, sonde_message__narrow(&m, SONDE_STRING_NAME, text),                 \
			name(SONDE_EVENT_NAME_HANDLE, &m, kind, (uint64_t)(uintptr_t)handle));     \
	}                                                                                          \
	static void NVTX_API fn##_w(type handle, const wchar_t *text)                              \
	{                                                                                          \
		WITH_MESSAGE(, sonde_message__wide(&m, SONDE_STRING_NAME, text, buf),              \
			name(SONDE_EVENT_NAME_HANDLE, &m, kind, (uint64_t)(uintptr_t)handle));     \
	}

NAME_HANDLE(name_device, int, SONDE_HANDLE_DEVICE)
NAME_HANDLE(name_context, void *, SONDE_HANDLE_CONTEXT)
NAME_HANDLE(name_stream, void *, SONDE_HANDLE_STREAM)
NAME_HANDLE(name_event, void *, SONDE_HANDLE_EVENT)

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
	HOOK(NVTX_CBID_CORE_NameCategoryA, name_category_a),
	HOOK(NVTX_CBID_CORE_NameCategoryW, name_category_w),
	HOOK(NVTX_CBID_CORE_NameOsThreadA, name_os_thread_a),
	HOOK(NVTX_CBID_CORE_NameOsThreadW, name_os_thread_w),
};

static const NvtxFunctionPointer core2[NVTX_CBID_CORE2_SIZE] = {
	HOOK(NVTX_CBID_CORE2_DomainNameCategoryA, domain_name_category_a),
	HOOK(NVTX_CBID_CORE2_DomainNameCategoryW, domain_name_category_w),
	HOOK(NVTX_CBID_CORE2_DomainRegisterStringA, domain_register_a),
	HOOK(NVTX_CBID_CORE2_DomainRegisterStringW, domain_register_w),
	HOOK(NVTX_CBID_CORE2_DomainCreateA, domain_create_a),
	HOOK(NVTX_CBID_CORE2_DomainCreateW, domain_create_w),
	HOOK(NVTX_CBID_CORE2_DomainDestroy, domain_destroy),
};

static const NvtxFunctionPointer cuda[NVTX_CBID_CUDA_SIZE] = {
	HOOK(NVTX_CBID_CUDA_NameCuDeviceA, name_device_a),
	HOOK(NVTX_CBID_CUDA_NameCuDeviceW, name_device_w),
	HOOK(NVTX_CBID_CUDA_NameCuContextA, name_context_a),
	HOOK(NVTX_CBID_CUDA_NameCuContextW, name_context_w),
	HOOK(NVTX_CBID_CUDA_NameCuStreamA, name_stream_a),
	HOOK(NVTX_CBID_CUDA_NameCuStreamW, name_stream_w),
	HOOK(NVTX_CBID_CUDA_NameCuEventA, name_event_a),
	HOOK(NVTX_CBID_CUDA_NameCuEventW, name_event_w),
};

static const NvtxFunctionPointer cudart[NVTX_CBID_CUDART_SIZE] = {
	HOOK(NVTX_CBID_CUDART_NameCudaDeviceA, name_device_a),
	HOOK(NVTX_CBID_CUDART_NameCudaDeviceW, name_device_w),
	HOOK(NVTX_CBID_CUDART_NameCudaStreamA, name_stream_a),
	HOOK(NVTX_CBID_CUDART_NameCudaStreamW, name_stream_w),
	HOOK(NVTX_CBID_CUDART_NameCudaEventA, name_event_a),
	HOOK(NVTX_CBID_CUDART_NameCudaEventW, name_event_w),
};

static const struct sonde_nvtx_module modules[] = {
	{NVTX_CB_MODULE_CORE, core, NVTX_CBID_CORE_SIZE},
	{NVTX_CB_MODULE_CORE2, core2, NVTX_CBID_CORE2_SIZE},
	{NVTX_CB_MODULE_CUDA, cuda, NVTX_CBID_CUDA_SIZE},
	{NVTX_CB_MODULE_CUDART, cudart, NVTX_CBID_CUDART_SIZE},
};

bool sonde_nvtx__attach_names(NvtxGetExportTableFunc_t get_table)
{
	return sonde_nvtx__fill(get_table, modules, sizeof(modules) / sizeof(modules[0]));
}
