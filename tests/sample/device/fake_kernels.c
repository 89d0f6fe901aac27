/* Kernels: their times are known when they are launched. */
#include "fake_device.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct span {
	uint64_t start, end;
};

static struct {
	struct span spans[20000]; /* kernels of this process */
	size_t nr, nr_taken;
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
} kernels;

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice d)
{
	(void)d;
	*out = (CUcontext)(void *)&kernels;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext c)
{
	(void)c;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *text)
{
	*out = (CUmodule)(void *)&kernels;
	return strstr(text, ".entry spin") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
	(void)m;
	*out = (CUfunction)(void *)&kernels;
	return strcmp(name, "spin") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* A kernel takes a nanosecond per two cycles; it begins 2 µs after the call. */
EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, CUstream stream, void **arguments, void **extra)
{
	uint64_t cycles, start = now_ns() + 2000;
	struct span s;
	int fd = open(getenv("FAKE_PM_KERNELS"), O_WRONLY | O_CREAT | O_APPEND, 0666);

	(void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
	(void)stream, (void)extra;
	memcpy(&cycles, arguments[0], sizeof(cycles));
	s = (struct span){start, start + cycles / 2};
	if (fd < 0 || write(fd, &s, sizeof(s)) != (ssize_t)sizeof(s) || close(fd) < 0)
		return CUDA_ERROR_LAUNCH_FAILED;
	kernels.spans[kernels.nr++ % 20000] = s;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSynchronize(void)
{
	while (kernels.nr && now_ns() < kernels.spans[kernels.nr - 1].end)
		;
	return CUDA_SUCCESS;
}

EXPORT CUptiResult cuptiActivityRegisterCallbacks(
	CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
	kernels.request = request;
	kernels.complete = complete;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? CUPTI_SUCCESS
							     : CUPTI_ERROR_INVALID_KIND;
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	(void)flag;
	while (kernels.nr_taken < kernels.nr) {
		size_t size = 0, most = 0, used = 0;
		uint8_t *buffer = NULL;

		kernels.request(&buffer, &size, &most);
		while (kernels.nr_taken < kernels.nr && used + sizeof(CUpti_ActivityKernel9) <= size) {
			CUpti_ActivityKernel9 *k = (void *)(buffer + used);

			memset(k, 0, sizeof(*k));
			k->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
			k->start = kernels.spans[kernels.nr_taken].start;
			k->end = kernels.spans[kernels.nr_taken++].end;
			used += sizeof(*k);
		}
		kernels.complete(NULL, 0, buffer, size, used);
	}
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **at)
{
	uint8_t *next = *at ? (uint8_t *)*at + sizeof(CUpti_ActivityKernel9) : buffer;

	*at = (CUpti_Activity *)(void *)next;
	return next + sizeof(CUpti_ActivityKernel9) <= buffer + valid
		       ? CUPTI_SUCCESS
		       : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

uint64_t kernels_known_ns(void)
{
	int fd = open(getenv("FAKE_PM_KERNELS"), O_RDONLY);
	struct span last = {0};
	off_t end = lseek(fd, 0, SEEK_END);

	if (end < (off_t)sizeof(last) ||
		pread(fd, &last, sizeof(last), end - (off_t)sizeof(last)) != (ssize_t)sizeof(last))
		last.start = 0;
	close(fd);
	return last.start > 1000000u ? last.start - 1000000u : 0; /* their work may begin earlier */
}

double count_kernels(uint64_t start, uint64_t end)
{
	static struct span all[20000];
	static size_t nr, from;
	int64_t first = number("FAKE_PM_FIRST_NS", 0), last = number("FAKE_PM_LAST_NS", 0);
	double sum = 0;
	size_t i;

	if (!nr || (int64_t)(all[nr - 1].end + (uint64_t)last) < (int64_t)end) {
		int fd = open(getenv("FAKE_PM_KERNELS"), O_RDONLY);
		ssize_t n = fd < 0 ? 0 : pread(fd, all, sizeof(all), 0);

		nr = n > 0 ? (size_t)n / sizeof(*all) : 0;
		close(fd);
	}
	for (i = from; i < nr && (int64_t)all[i].start + first < (int64_t)end; i++) {
		int64_t a = (int64_t)all[i].start + first, b = (int64_t)all[i].end + last;

		a = a > (int64_t)start ? a : (int64_t)start;
		b = b < (int64_t)end ? b : (int64_t)end;
		sum += b > a ? 100 * (double)(b - a) : 0;
		if ((int64_t)all[i].end + last < (int64_t)start)
			from = i;
	}
	if (number("FAKE_PM_NOISE", 0) && end / 1000 % 3 == 0)
		sum += (double)(end - start) * (double)number("FAKE_PM_NOISE", 0);
	return sum;
}
