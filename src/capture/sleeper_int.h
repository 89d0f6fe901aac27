/* Inside sleeper.c and sleeper_place.c. */
#ifndef SONDE_CAPTURE_SLEEPER_INT_H
#define SONDE_CAPTURE_SLEEPER_INT_H

#include "capture/sleeper.h"

/* Makes a place that we made for the sleeper its own, with the configuration in it. */
bool sonde_sleeper__hand_over(const struct sonde_sleeper *s);

#endif
