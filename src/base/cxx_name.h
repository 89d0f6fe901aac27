/*
 * Short names for C++ functions, the way people say them.
 *
 *     void at::native::elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int, …)
 *     → elementwise_kernel
 *
 * Return type, parameters and namespaces go, template arguments are folded. Where
 * several names of one list would read the same, the template arguments in which
 * they differ are kept, a lambda by the function it is in:
 *
 *     elementwise_kernel<CUDAFunctor_add>
 *     elementwise_kernel<sqrt_kernel_cuda>
 *
 * Names without C++ in them stay as they are.
 */
#ifndef SONDE_BASE_CXX_NAME_H
#define SONDE_BASE_CXX_NAME_H

#include "base/arena.h"

/*
 * Fills `out[i]` with a short name of `names[i]`; text in `arena` or borrowed from
 * `names`. The names are distinct and stay so; the outcome does not depend on
 * their order. False when memory is short.
 */
bool sonde_cxx_names_shorten(
	struct sonde_str *out, const struct sonde_str *names, size_t nr, struct sonde_arena *arena);

#endif
