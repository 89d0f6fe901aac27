/*
 * JSON by hand, for the few small files a capture writes. Any bytes come out as
 * valid JSON.
 */
#ifndef SONDE_CAPTURE_JSON_TEXT_H
#define SONDE_CAPTURE_JSON_TEXT_H

#include "base/sink.h"

void sonde_json_text(struct sonde_sink *to, const char *text);
/* `"key": "value"`, null for an empty value. */
void sonde_json_member(struct sonde_sink *to, const char *key, const char *value);

#endif
