/* Inside calibration: the process that runs the kernels. */
#ifndef SONDE_SAMPLE_CALIBRATION_INT_H
#define SONDE_SAMPLE_CALIBRATION_INT_H

#include "sample/calibration.h"

#define CALIBRATION_KERNELS 5000

/*
 * That process writes to `fd`: first an error message of this fixed length, empty when all went well, then
 * the kernels' times as struct sonde_calibration_span, in order.
 */
#define CALIBRATION_MESSAGE 256

/* Sets up the device, waits for a byte from `fd`, runs the series, reports, and ends the process. */
_Noreturn void sonde_calibration__become_kernels(unsigned device, int fd);

#endif
