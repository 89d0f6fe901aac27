/* Names of C++ functions, as compilers mangle them and as people read them. */
#ifndef SONDE_READ_DEMANGLE_H
#define SONDE_READ_DEMANGLE_H

#include "base/arena.h"
#include "base/str.h"

/*
 * A C++ name as a person writes it, the way Nsight does: `void f<(int)2>(const float *, int)`.
 * Lives in `arena`. A name that is not mangled, or in a way not known here, comes back as it is.
 */
struct sonde_str sonde_demangle(struct sonde_arena *arena, struct sonde_str mangled);
/* Only the function of a demangled name: `f`, a slice of it. Without arguments it is the name itself. */
struct sonde_str sonde_demangle_function(struct sonde_str full);

#endif
