#include "read/demangle.h"
#include "read/source_int.h"

bool sonde_kernel_names__set(struct sonde_kernel_names *t, struct sonde_records *r, uint32_t raw,
	struct sonde_record *rec)
{
	struct sonde_kernel_name *name;
	struct sonde_str full;

	while (t->of.nr <= raw)
		if (!sonde_vec_push(&t->of))
			return false;
	name = &t->of.at[raw];
	if (!name->is_known) {
		full = sonde_demangle(&r->arena, sonde_records_str(r, raw));
		name->full = sonde_records__string(r, full);
		name->function = sonde_records__string(r, sonde_demangle_function(full));
		name->is_known = true;
	}
	rec->full_name = name->full;
	rec->name = name->function;
	return name->full != SONDE_NONE && name->function != SONDE_NONE;
}
