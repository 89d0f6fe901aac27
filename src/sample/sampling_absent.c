/* Replaces sampling in a build without CUPTI's headers: every attempt fails with advice. */
#include "catalogue/advice.h"
#include "sample/calibration_int.h"
#include "sample/sampling.h"

#include <stddef.h>
#include <unistd.h>

static int refuse(struct sonde_err *err)
{
	return sonde_advice_err(err, SONDE_ERR_NOTFOUND, SONDE_WHEN_SAMPLING_NOT_BUILT, NULL);
}

int sonde_sampling_count(unsigned *nr, struct sonde_err *err)
{
	*nr = 0;
	return refuse(err);
}

int sonde_sampling_identify(char *uuid, size_t size, unsigned device, struct sonde_err *err)
{
	(void)uuid, (void)size, (void)device;
	return refuse(err);
}

int sonde_sampling_open(
	struct sonde_sampling **out, const struct sonde_sampling_request *q, struct sonde_err *err)
{
	(void)q;
	*out = NULL;
	return refuse(err);
}

/* No session can be opened, so the functions below are never called. */
void sonde_sampling_close(struct sonde_sampling *s)
{
	(void)s;
}

const struct sonde_sampling_facts *sonde_sampling_facts(const struct sonde_sampling *s)
{
	(void)s;
	return NULL;
}

const struct sonde_counter_set *sonde_sampling_set(const struct sonde_sampling *s, size_t i)
{
	(void)s, (void)i;
	return NULL;
}

int sonde_sampling_run(
	struct sonde_sampling *s, const struct sonde_sample_receiver *to, struct sonde_err *err)
{
	(void)s, (void)to;
	return refuse(err);
}

uint64_t sonde_sampling_now(const struct sonde_sampling *s)
{
	(void)s;
	return 0;
}

/* Never called: without sampling there is no calibration. */
_Noreturn void sonde_calibration__become_kernels(unsigned device, int fd)
{
	(void)device, (void)fd;
	_exit(1);
}
