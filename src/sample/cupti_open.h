/*
 * Finds CUPTI at run time, as no part of sonde is linked with it.
 */
#ifndef SONDE_SAMPLE_CUPTI_OPEN_H
#define SONDE_SAMPLE_CUPTI_OPEN_H

/*
 * Returns a handle for dlsym; NULL when there is no CUPTI. $SONDE_CUPTI names
 * another library to use. The library stays open: unloading it is not safe. A
 * build with AddressSanitizer opens only what $SONDE_CUPTI names, as NVIDIA's
 * CUPTI crashes with it (CUPTI loads helpers with RTLD_DEEPBIND).
 */
void *sonde_cupti_open(void);

#endif
