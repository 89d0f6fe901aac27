/* The affinity mask and not the machine: in a container or a job they differ. */
#include "base/cores.h"

#include <sched.h>
#include <unistd.h>

size_t sonde_cores(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return (size_t)CPU_COUNT(&set);
	online = sysconf(_SC_NPROCESSORS_ONLN); /* more cores than a set has room for */
	return online < 1 ? 1 : (size_t)online;
}
