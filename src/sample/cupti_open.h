/*
 * CUPTI at run time: where it is, as no part of sonde is linked with it.
 */
#ifndef SONDE_SAMPLE_CUPTI_OPEN_H
#define SONDE_SAMPLE_CUPTI_OPEN_H

/*
 * A handle for dlsym, NULL when there is no CUPTI; $SONDE_CUPTI names another.
 * It stays open: unloading it is not safe. A build with AddressSanitizer opens
 * only what $SONDE_CUPTI names, as NVIDIA's own does not survive it (it loads
 * helpers with RTLD_DEEPBIND).
 */
void *sonde_cupti_open(void);

#endif
