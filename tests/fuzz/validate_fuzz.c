/* Fuzzes the validator: any bytes are a valid report.json, or refused with a message. */
#include "check/validate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_err err = {0};
	int rc = sonde_validate_text((struct sonde_str){(const char *)data, size}, "fuzz", &err);

	if (rc && (rc != SONDE_ERR_FORMAT || !err.msg[0]))
		abort();
	return 0;
}
