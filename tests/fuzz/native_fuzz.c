/*
 * Native captures. A first byte of 'F' takes the rest as a file, and little
 * gets past its checksums; anything else takes it as blocks (type, two bytes of
 * length, payload) that are given good ones.
 */
#include "../unit/capture_make.h"
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture c;
	size_t i, n;

	if (size && data[0] == 'F') {
		fuzz_reader(data + 1, size - 1);
		return 0;
	}
	capture_begin(&c);
	for (i = 1; i + 3 <= size; i += 3 + n) {
		n = (size_t)data[i + 1] | (size_t)data[i + 2] << 8;
		if (n > size - i - 3)
			n = size - i - 3;
		capture_block(&c, data[i], data + i + 3, n);
	}
	fuzz_reader((const uint8_t *)c.file.p, c.file.n);
	capture_release(&c);
	return 0;
}
