#include "read/source_int.h"

struct sonde_str sonde_source__copy_name(uint64_t kind)
{
	static const char *const names[] = {"[CUDA memcpy]", "[CUDA memcpy Host-to-Device]",
		"[CUDA memcpy Device-to-Host]", "[CUDA memcpy Host-to-Array]",
		"[CUDA memcpy Array-to-Host]", "[CUDA memcpy Array-to-Array]",
		"[CUDA memcpy Array-to-Device]", "[CUDA memcpy Device-to-Array]",
		"[CUDA memcpy Device-to-Device]", "[CUDA memcpy Host-to-Host]",
		"[CUDA memcpy Peer-to-Peer]"};

	return sonde_str_from(names[kind < sizeof(names) / sizeof(names[0]) ? kind : 0]);
}
