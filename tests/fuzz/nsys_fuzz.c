/* Fuzzes the reader of Nsight Systems exports: the input is the bytes of an SQLite file. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(data, size);
	return 0;
}
