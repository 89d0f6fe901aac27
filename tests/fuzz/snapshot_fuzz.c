/* Fuzzes the reader of PyTorch's memory snapshots, which are pickles. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(data, size);
	return 0;
}
