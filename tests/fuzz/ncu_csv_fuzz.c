/* Fuzzes the reader of `ncu --csv --page raw`. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(data, size);
	return 0;
}
