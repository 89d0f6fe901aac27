/* Fuzzes line tables of cubins, and looks up instructions in them. */
#include "read/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_err err = {0};
	struct sonde_cubin_row row;
	struct sonde_cubin *c;
	uint64_t pc;
	uint32_t at;

	if (sonde_cubin_open(&c, (struct sonde_str){(const char *)data, size}, &err))
		return 0;
	for (pc = 0; pc < 4096; pc += 16)
		for (at = sonde_cubin_find(c, SONDE_STR("first"), pc); at != SONDE_CUBIN_NONE; at = row.caller)
			row = sonde_cubin_row(c, at);
	sonde_cubin_free(c);
	return 0;
}
