/* Fuzzes torch.profiler traces and Hatchet literals, plain, compressed and in archives. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(data, size);
	return 0;
}
