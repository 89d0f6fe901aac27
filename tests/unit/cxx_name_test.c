/* Short names of C++ functions. */
#include "base/cxx_name.h"

#include "unit.h"

#include <string.h>

/* Shortens `nr` names and compares each with what is expected. */
static void check(const char *const *names, const char *const *expected, size_t nr)
{
	struct sonde_str in[16] = {0}, out[16];
	struct sonde_arena arena = {0};
	size_t i;

	for (i = 0; i < nr; i++)
		in[i] = sonde_str_from(names[i]);
	assert_true(sonde_cxx_names_shorten(out, in, nr, &arena));
	for (i = 0; i < nr; i++)
		if (!sonde_str_is(out[i], expected[i]))
			fail_msg("'%.*s' is not '%s'", SONDE_STR_ARG(out[i]), expected[i]);
	sonde_arena_release(&arena);
}

static void test_cxx_name__types_parameters_and_namespaces_go(void **state)
{
	static const char *const names[] = {
		"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, "
		"float>(int, float, float const*)",
		"gemm_tile",
		"void (anonymous namespace)::softmax_warp_forward<float, float, 9, false>(float*)",
		"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm>(cutlass_80::Params)",
		"[CUDA memcpy HtoD]",
		"unsigned int cub::detail::reduce::DeviceReduceKernel<Policy, int>(int*)",
	};
	static const char *const expected[] = {
		"vectorized_layer_norm_kernel",
		"gemm_tile",
		"softmax_warp_forward",
		"cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm>",
		"[CUDA memcpy HtoD]",
		"DeviceReduceKernel",
	};

	(void)state;
	check(names, expected, 6);
}

static void test_cxx_name__what_differs_is_kept(void **state)
{
	static const char *const names[] = {
		"void at::native::vectorized_elementwise_kernel<4, "
		"at::native::CUDAFunctor_add<float>, "
		"std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)",
		"void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor<float>, "
		"std::array<char*, 2ul> >(int, at::native::GeluFunctor<float>)",
		"void reduce<256, float>(float*)",
		"void reduce<512, float>(float*)",
	};
	static const char *const expected[] = {
		"vectorized_elementwise_kernel<CUDAFunctor_add>",
		"vectorized_elementwise_kernel<GeluFunctor>",
		"reduce<256>",
		"reduce<512>",
	};

	(void)state;
	check(names, expected, 4);
}

static void test_cxx_name__folded_arguments_that_coincide_are_written_out(void **state)
{
	static const char *const names[] = {
		"void k<at::Op<float>, 1>(int)",
		"void k<at::Op<half>, 1>(int)",
		"void m<int>(int)",
		"void m<int>(long)",
	};
	static const char *const expected[] = {
		"k<Op<float>>",
		"k<Op<half>>",
		"void m<int>(int)",
		"void m<int>(long)",
	};

	(void)state;
	check(names, expected, 4);
}

/* As in PyTorch: functors that are lambdas, functors of functors. */
static void test_cxx_name__lambdas_go_by_the_function_they_are_in(void **state)
{
	static const char *const names[] = {
		"void at::native::vectorized_elementwise_kernel<(int)8, "
		"at::native::<unnamed>::lerp_scalar_kernel(at::TensorIteratorBase &, const c10::Scalar "
		"&)::[lambda() (instance 2)]::operator()()::[lambda(c10::BFloat16) (instance 1)], "
		"std::array<char *, (unsigned long)3>>(int, T2, T3)",
		"void at::native::vectorized_elementwise_kernel<(int)8, "
		"at::native::GeluCUDAKernelImpl(at::TensorIteratorBase &)::[lambda() (instance "
		"2)]::operator()()::[lambda(c10::BFloat16) (instance 1)], "
		"std::array<char *, (unsigned long)2>>(int, T2, T3)",
		"void at::native::vectorized_elementwise_kernel<(int)8, "
		"at::native::FillFunctor<c10::BFloat16>, "
		"std::array<char *, (unsigned long)1>>(int, T2, T3)",
		"void at::native::vectorized_elementwise_kernel<(int)4, "
		"at::native::FillFunctor<float>, std::array<char *, (unsigned long)1>>(int, T2, T3)",
		"void e<at::gpu_impl<at::Add<float> >(at::It&)::{lambda(int)#1}>(int)",
		"void e<at::gpu_impl<at::Mul<float> >(at::It&)::{lambda(int)#1}>(int)",
		"void e<at::other(at::It&)::{lambda(int)#1}>(int)",
	};
	static const char *const expected[] = {
		"vectorized_elementwise_kernel<8, lerp_scalar_kernel>",
		"vectorized_elementwise_kernel<8, GeluCUDAKernelImpl>",
		"vectorized_elementwise_kernel<8, FillFunctor>",
		"vectorized_elementwise_kernel<4, FillFunctor>",
		"e<gpu_impl<Add>>",
		"e<gpu_impl<Mul>>",
		"e<other>", /* only names that would be the same are written in full */
	};

	(void)state;
	check(names, expected, 7);
}

static void test_cxx_name__hostile_names_stay_inside(void **state)
{
	static const char *const names[] = {
		"", "<<<<", "::::", ">>>(", " ", "a<", "a<b", "(((", "::"};
	struct sonde_str in[9], out[9];
	struct sonde_arena arena = {0};
	size_t i;

	(void)state;
	for (i = 0; i < 9; i++)
		in[i] = sonde_str_from(names[i]);
	assert_true(sonde_cxx_names_shorten(out, in, 9, &arena));
	sonde_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cxx_name__types_parameters_and_namespaces_go),
		cmocka_unit_test(test_cxx_name__what_differs_is_kept),
		cmocka_unit_test(test_cxx_name__folded_arguments_that_coincide_are_written_out),
		cmocka_unit_test(test_cxx_name__lambdas_go_by_the_function_they_are_in),
		cmocka_unit_test(test_cxx_name__hostile_names_stay_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
