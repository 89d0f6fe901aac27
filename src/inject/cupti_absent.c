/* Replaces the other cupti*.c files in a build without CUPTI's headers. */
#include "inject/inject_int.h"

void sonde_cupti__start(void)
{
	sonde_flusher__note("sonde was built without CUPTI: host times only, no kernels");
}

void sonde_cupti__switch(bool is_on)
{
	(void)is_on;
}

void sonde_cupti__end_records(void)
{
}

void sonde_cupti__collect(void)
{
}

void sonde_cupti__rest(void)
{
}

bool sonde_cupti__is_ending(void)
{
	return false;
}
