/* `sonde sample --calibrate`. */
#include "cli/sample_int.h"
#include "sample/calibration.h"

#include <stdio.h>
#include <stdlib.h>

static void show(const struct sonde_calibration *c, unsigned device)
{
	struct sonde_buf path = {0};

	printf("GPU %u: the work of a kernel lies %+.0f ± %.0f ns from its time stamps (95 %%)\n"
	       "its first warp comes %+.0f ns after the first stamp, its last one goes %+.0f ns after "
	       "the second\n"
	       "%llu kernels, %llu samples, %.1f %% unexplained\n",
		device, c->offset_ns, 1.96 * c->error_ns, c->first_ns, c->last_ns,
		(unsigned long long)c->nr_kernels, (unsigned long long)c->nr_samples,
		100 * c->misfit);
	if (sonde_calibration_path(&path, c->uuid))
		printf("kept in %s: captures from now on use it\n", path.p);
	sonde_buf_release(&path);
}

int sonde_sample__calibrate(const struct sonde_sample_request *q, struct sonde_err *err)
{
	unsigned device = q->device ? (unsigned)strtoul(q->device, NULL, 10) : 0;
	struct sonde_calibration_data data;
	struct sonde_calibration c;
	int rc = sonde_calibration_record(&data, device, err);

	if (rc)
		return rc;
	rc = sonde_calibration_fit(&c, &data, err);
	sonde_calibration_release(&data);
	sonde_calibration_name_driver(c.driver, sizeof(c.driver));
	if (rc == 0)
		rc = sonde_sampling_identify(c.uuid, sizeof(c.uuid), device, err);
	if (rc == 0)
		rc = sonde_calibration_keep(&c, err);
	if (rc == 0)
		show(&c, device);
	return rc;
}
