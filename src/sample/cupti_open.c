#include "sample/cupti_open.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

void *sonde_cupti_open(void)
{
	const char *own = getenv("SONDE_CUPTI");
#ifdef __SANITIZE_ADDRESS__
	return own ? dlopen(own, RTLD_NOW | RTLD_LOCAL) : NULL;
#else
	static const char *const places[] = {"libcupti.so", "libcupti.so.13", "libcupti.so.12",
		"/usr/local/cuda/lib64/libcupti.so", "/usr/local/cuda/lib/libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
	void *library = NULL;
	size_t i;

	if (own)
		return dlopen(own, RTLD_NOW | RTLD_LOCAL);
	for (i = 0; i < sizeof(places) / sizeof(*places) && !library; i++)
		library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
	return library;
#endif
}
