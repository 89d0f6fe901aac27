#include "read/demangle.h"
#include "read/source_int.h"

uint32_t sonde_kernel_names__function(
	struct sonde_kernel_names *t, struct sonde_records *r, uint32_t raw)
{
	struct sonde_str full;
	uint32_t full_name;

	while (t->of.nr <= raw)
		if (!sonde_vec_push(&t->of))
			return SONDE_NONE;
	if (!t->of.at[raw]) {
		full = sonde_demangle(&r->arena, sonde_records_str(r, raw));
		full_name = sonde_records__string(r, full);
		t->of.at[raw] = 1 + sonde_records__function(r,
					    sonde_records__string(r, sonde_demangle_function(full)),
					    full_name);
	}
	return t->of.at[raw] - 1;
}
