/* Names of C++ functions, as compilers mangle them and as people read them. */
#ifndef SONDE_READ_DEMANGLE_H
#define SONDE_READ_DEMANGLE_H

#include "base/arena.h"
#include "base/str.h"

/*
 * Demangles a C++ name in Nsight's style: `void f<(int)2>(const float *, int)`. The result is allocated from `arena`.
 * A name that is not mangled, or that has syntax not supported here, is returned unchanged.
 */
struct sonde_str sonde_demangle(struct sonde_arena *arena, struct sonde_str mangled);
/* The function's own name in a demangled name: `f`, a slice of `full`. A name without arguments is returned unchanged. */
struct sonde_str sonde_demangle_function(struct sonde_str full);

#endif
