/*
 * Short names for C++ functions, as people would say them.
 *
 *     void at::native::elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int, …)
 *     → elementwise_kernel
 *
 * The return type, parameters, namespaces and template arguments are left out. Where
 * several names of one list would be the same, the template arguments in which they
 * differ are kept, each by its short name (a lambda by the function that contains it):
 *
 *     elementwise_kernel<CUDAFunctor_add>
 *     elementwise_kernel<sqrt_kernel_cuda>
 *
 * Names that are not C++ stay as they are.
 */
#ifndef SONDE_BASE_CXX_NAME_H
#define SONDE_BASE_CXX_NAME_H

#include "base/arena.h"

/*
 * Sets `out[i]` to a short name of `names[i]`; the text is in `arena` or borrowed from
 * `names`. The names must be distinct, and so are the short ones. The result does not
 * depend on the order of the names. False when memory is short.
 */
bool sonde_cxx_names_shorten(
	struct sonde_str *out, const struct sonde_str *names, size_t nr, struct sonde_arena *arena);

#endif
