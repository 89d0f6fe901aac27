/*
 * The series of kernels runs in a process that does nothing else: it needs a CUDA context and
 * CUPTI's activity records, and the sampler must have neither.
 */
#include "sample/calibration_int.h"

#include "base/clock.h"
#include "sample/pm_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADS	     128
#define NR_WARM_UP   50
#define BUFFER_BYTES (256u << 10)
#define BUFFER_ALIGN 8

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
#endif

/* A kernel that keeps its SM busy for `cycles` cycles. */
static const char program[] = ".version 6.3\n"
			      ".target sm_75\n"
			      ".address_size 64\n"
			      ".visible .entry spin(.param .u64 cycles)\n"
			      "{\n"
			      "	.reg .u64 begin, now, most;\n"
			      "	.reg .pred goes_on;\n"
			      "	ld.param.u64 most, [cycles];\n"
			      "	mov.u64 begin, %clock64;\n"
			      "again:\n"
			      "	mov.u64 now, %clock64;\n"
			      "	sub.u64 now, now, begin;\n"
			      "	setp.lt.u64 goes_on, now, most;\n"
			      "	@goes_on bra again;\n"
			      "	ret;\n"
			      "}\n";

/* Lengths of the kernels in cycles: 2 to 20 µs at 2 GHz, like the kernels of real programs. */
static const uint64_t lengths[] = {4000, 8000, 16000, 40000};

/* The one series of this process. Static, since CUPTI's callbacks get no argument of ours. */
static struct {
	struct pm pm;
	CUfunction spin;
	unsigned nr_sms;
	char message[CALIBRATION_MESSAGE];
	SONDE_VEC(struct sonde_calibration_span) spans;
} series;

static bool fail_in_kernels(const char *what, const char *why)
{
	snprintf(series.message, sizeof(series.message), "%s: %.200s", what,
		why ? why : "unknown error");
	return false;
}

static bool is_done(const char *what, CUresult rc)
{
	const char *why = NULL;

	if (rc == CUDA_SUCCESS)
		return true;
	series.pm.cuGetErrorName(rc, &why);
	return fail_in_kernels(what, why);
}

static bool is_traced(const char *what, CUptiResult rc)
{
	const char *why = NULL;

	if (rc == CUPTI_SUCCESS)
		return true;
	series.pm.cuptiGetResultString(rc, &why);
	return fail_in_kernels(what, why);
}

/* --- the record of what ran ------------------------------------------------------------------- */

static void CUPTIAPI give_buffer(uint8_t **out, size_t *size, size_t *most)
{
	*out = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
	*size = *out ? BUFFER_BYTES : 0;
	*most = 0;
}

static void CUPTIAPI take_buffer(
	CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *a = NULL;

	(void)context, (void)stream, (void)size;
	while (series.pm.cuptiActivityGetNextRecord(buffer, valid, &a) == CUPTI_SUCCESS) {
		const kernel_record *k = (const kernel_record *)(void *)a;
		struct sonde_calibration_span *s;

		if (a->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || !k->start)
			continue;
		s = sonde_vec_push(&series.spans);
		if (s)
			*s = (struct sonde_calibration_span){k->start, k->end};
	}
	free(buffer);
}

static bool set_up(unsigned number)
{
	CUmodule module;
	CUcontext context;
	CUdevice device;
	int nr_sms = 0;
	struct sonde_err err = {0};

	if (pm_find(&series.pm, &err))
		return fail_in_kernels("begin", err.msg);
	if (!is_traced("trace kernels",
			series.pm.cuptiActivityRegisterCallbacks(give_buffer, take_buffer)) ||
		!is_traced("trace kernels",
			series.pm.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) ||
		!is_done("find the device", series.pm.cuDeviceGet(&device, (int)number)) ||
		!is_done("count its SMs",
			series.pm.cuDeviceGetAttribute(&nr_sms,
				CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device)) ||
		!is_done("make a context", series.pm.cuDevicePrimaryCtxRetain(&context, device)) ||
		!is_done("use the context", series.pm.cuCtxSetCurrent(context)) ||
		!is_done("load the kernel", series.pm.cuModuleLoadData(&module, program)) ||
		!is_done("find the kernel", series.pm.cuModuleGetFunction(&series.spin, module, "spin")))
		return false;
	series.nr_sms = (unsigned)nr_sms;
	return true;
}

/* --- the series -------------------------------------------------------------------------------- */

static void wait_us(unsigned us)
{
	uint64_t end = sonde_now_ns() + (uint64_t)us * 1000u;

	while (sonde_now_ns() < end) /* busy waiting, as sleeping is too coarse */
		;
}

static bool run_one(uint64_t cycles)
{
	void *arguments[] = {&cycles};

	return is_done("launch the kernel", series.pm.cuLaunchKernel(series.spin, series.nr_sms, 1, 1,
						    THREADS, 1, 1, 0, NULL, arguments, NULL)) &&
	       is_done("wait for the kernel", series.pm.cuCtxSynchronize());
}

/* Pauses are random, so that the kernels do not fall in step with the samples. */
static bool run_series(size_t nr)
{
	unsigned seed = 1;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!run_one(lengths[(size_t)rand_r(&seed) % (sizeof(lengths) / sizeof(*lengths))]))
			return false;
		wait_us(10 + (unsigned)rand_r(&seed) % 50);
	}
	return is_traced("collect the records", series.pm.cuptiActivityFlushAll(1));
}

static bool run_calibration(unsigned device, int fd)
{
	char byte;

	if (!set_up(device) || !run_series(NR_WARM_UP))
		return false;
	series.spans.nr = 0;
	return read(fd, &byte, 1) == 1 && run_series(CALIBRATION_KERNELS);
}

static int compare_spans(const void *a, const void *b)
{
	const struct sonde_calibration_span *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static bool write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t done = send(fd, at, n, MSG_NOSIGNAL);

		if (done <= 0)
			return false;
		at += done;
		n -= (size_t)done;
	}
	return true;
}

_Noreturn void sonde_calibration__become_kernels(unsigned device, int fd)
{
	bool is_good = run_calibration(device, fd);

	if (is_good)
		qsort(series.spans.at, series.spans.nr, sizeof(*series.spans.at), compare_spans);
	is_good = write_all(fd, series.message, sizeof(series.message)) &&
		  (!is_good || write_all(fd, series.spans.at,
				       series.spans.nr * sizeof(*series.spans.at)));
	_exit(is_good ? 0 : 1);
}
