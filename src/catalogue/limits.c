#include "catalogue/limits.h"

double sonde_limit_of(struct sonde_str role, double cycles_per_ns, double bytes_per_ns)
{
	if (sonde_str_starts(role, "gpm.")) /* a count of nanoseconds: one per nanosecond */
		return 1;
	if (sonde_str_starts(role, "dram.") && sonde_str_ends(role, "_bytes"))
		return bytes_per_ns > 0 ? bytes_per_ns : 0;
	if (!(cycles_per_ns > 0))
		return 0;
	if (sonde_str_is(role, "sm.warp_cycles"))
		return SONDE_SM_WARPS * cycles_per_ns;
	if (sonde_str_ends(role, "instructions"))
		return (sonde_str_starts(role, "sm.thread") ? 32 : 1) * SONDE_SM_ISSUE_SLOTS * cycles_per_ns;
	if (sonde_str_starts(role, "tensor."))
		return SONDE_SM_TENSOR_PIPES * cycles_per_ns;
	return sonde_str_starts(role, "sm.") || sonde_str_starts(role, "fp64.") ? cycles_per_ns : 0;
}
