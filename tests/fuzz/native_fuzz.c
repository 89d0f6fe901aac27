/*
 * Fuzzes native captures. If the first byte is 'F' the rest is a file, whose checksums are rarely right;
 * otherwise it is blocks, which get right checksums.
 */
#include "fuzz_native.h"
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture c;

	if (size && data[0] == 'F') {
		fuzz_reader(data + 1, size - 1);
		return 0;
	}
	fuzz_native_capture(&c, data, size);
	fuzz_reader((const uint8_t *)c.file.p, c.file.n);
	capture_release(&c);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	return fuzz_native_mutate(data, size, max_size, seed);
}
