/* Kernel names for people. */
#include "read/native_int.h"

struct sonde_str sonde_demangle(struct sonde_arena *arena, struct sonde_str mangled)
{
	(void)arena;
	return mangled;
}

struct sonde_str sonde_demangle_function(struct sonde_str full)
{
	return full;
}
