/* Finding libcupti.so. Two different ones in one process do not get along: a loaded one wins. */
#include "inject/cupti_int.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

struct sonde_cupti sonde_cupti;

static int is_cupti(struct dl_phdr_info *info, size_t size, void *out)
{
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	if (strncmp(base ? base + 1 : info->dlpi_name, "libcupti.so", 11) != 0)
		return 0;
	*(const char **)out = info->dlpi_name;
	return 1;
}

static void *find(const char *path)
{
	static const char *const usual[] = {
		"libcupti.so.13",
		"libcupti.so.12",
		"libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
		"/usr/local/cuda/lib64/libcupti.so",
		"/usr/local/cuda/lib/libcupti.so",
	};
	const char *loaded = NULL;
	void *lib = NULL;
	size_t i;

	dl_iterate_phdr(is_cupti, &loaded);
	if (loaded)
		lib = dlopen(loaded, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib && path)
		return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	for (i = 0; !lib && i < sizeof(usual) / sizeof(usual[0]); i++)
		lib = dlopen(usual[i], RTLD_LAZY | RTLD_LOCAL);
	return lib;
}

/* CUDA is there: it is what loaded us. */
static void find_driver(void *lib)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	*(void **)&sonde_cupti.device_attribute = dlsym(cuda ? cuda : lib, "cuDeviceGetAttribute");
}

bool sonde_cupti__load(const char *path)
{
	void *lib = find(path);

	if (!lib)
		return false;
#define LOAD(name)                                                                                 \
	*(void **)&sonde_cupti.name = dlsym(lib, #name);                                           \
	if (!sonde_cupti.name)                                                                     \
		return false;
	SONDE_CUPTI_CALLS(LOAD)
#undef LOAD
#ifdef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
	*(void **)&sonde_cupti.subscribe_v2 = dlsym(lib, "cuptiSubscribe_v2");
	*(void **)&sonde_cupti.unsubscribe = dlsym(lib, "cuptiUnsubscribe");
#endif
	find_driver(lib);
	return sonde_cupti.cuptiGetVersion(&sonde_cupti.version) == CUPTI_SUCCESS;
}
