/* The doctor: finds what keeps this machine from making a profile by region, and the remedy for each finding. */
#ifndef SONDE_CAPTURE_DOCTOR_H
#define SONDE_CAPTURE_DOCTOR_H

#include "base/arena.h"
#include "base/sink.h"
#include "base/vec.h"
#include "capture/machine.h"

enum sonde_health {
	SONDE_HEALTH_OK,
	SONDE_HEALTH_NOTE, /* good to know, or only another profiler (ncu, nsys) is missing */
	SONDE_HEALTH_BAD,  /* `sonde run` will have no kernel times, or no counters */
};

struct sonde_symptom {
	const char *topic; /* "gpu", "driver", "ncu", … */
	enum sonde_health health;
	const char *says;
	const char *remedy; /* NULL when there is nothing to do */
};

struct sonde_diagnosis {
	SONDE_VEC(struct sonde_symptom) symptoms;
	struct sonde_arena arena;
};

/* Judges the machine. False when out of memory. */
bool sonde_diagnosis_build(struct sonde_diagnosis *out, const struct sonde_machine *f);
void sonde_diagnosis_release(struct sonde_diagnosis *d);
enum sonde_health sonde_diagnosis_worst(const struct sonde_diagnosis *d);
/* Writes text for a terminal that is `width` columns wide. */
void sonde_diagnosis_show(const struct sonde_diagnosis *d, struct sonde_sink *to, size_t width);
void sonde_diagnosis_json(
	const struct sonde_diagnosis *d, const struct sonde_machine *f, struct sonde_sink *to);

#endif
