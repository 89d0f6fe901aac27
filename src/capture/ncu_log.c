#include "capture/ncu_log.h"

#include <stdlib.h>
#include <stdio.h>

static void note_finding(struct sonde_ncu_log *log, struct sonde_str line)
{
	struct sonde_str detail = {0};
	enum sonde_situation s = sonde_advice_match(line, &detail);

	if (s >= SONDE_NR_LOG_SITUATIONS)
		return;
	if (!sonde_ncu_log_has(log, s)) /* keep the first detail: it is the cause */
		snprintf(log->details[s], sizeof(log->details[s]), "%.*s", SONDE_STR_ARG(detail));
	log->seen |= 1u << s;
	if (s == SONDE_WHEN_PROGRAM_FAILED)
		log->program_status = (int)strtol(log->details[s], NULL, 10);
}

static uint64_t number(struct sonde_str s)
{
	uint64_t n = 0;
	size_t i;

	s = sonde_str_trim(s);
	for (i = 0; i < s.n && s.p[i] >= '0' && s.p[i] <= '9' && n < UINT32_MAX; i++)
		n = n * 10 + (uint64_t)(s.p[i] - '0');
	return n;
}

/* `Profiling "NAME" - 12: 0%....50%....100% - 9 passes`; the name may hold quotes. */
static void take_result(struct sonde_ncu_log *log, struct sonde_str after)
{
	struct sonde_str rest;
	size_t n = after.n;

	while (n && after.p[n - 1] != '"')
		n--;
	if (n > 2)
		snprintf(log->current, sizeof(log->current), "%.*s", (int)(n - 2), after.p + 1);
	if (sonde_str_has(after, "Application replay pass", &rest)) {
		uint64_t pass = number(rest);

		log->app_passes = pass > log->app_passes ? pass : log->app_passes;
		if (pass <= 1)
			log->nr_results++;
		return;
	}
	log->nr_results++;
	if (sonde_str_has(after, "100% - ", &rest))
		log->nr_passes += number(rest);
}

static void take_line(struct sonde_ncu_log *log, struct sonde_str line)
{
	struct sonde_str after;

	if (sonde_str_has(line, "==PROF== Profiling ", &after))
		take_result(log, after);
	else if (sonde_str_has(line, "==PROF== Connected to process", NULL))
		log->nr_processes++;
	note_finding(log, line);
}

void sonde_ncu_log_feed(struct sonde_ncu_log *log, struct sonde_str bytes)
{
	while (bytes.n) {
		size_t n = sonde_str_find(bytes, '\n');

		if (n == bytes.n) {
			if (log->line.n < 65536)
				sonde_buf_str(&log->line, bytes);
			return;
		}
		sonde_buf_add(&log->line, bytes.p, n);
		take_line(log, sonde_buf_view(&log->line));
		sonde_buf_clear(&log->line);
		bytes = (struct sonde_str){bytes.p + n + 1, bytes.n - n - 1};
	}
}

void sonde_ncu_log_finish(struct sonde_ncu_log *log)
{
	if (log->line.n)
		take_line(log, sonde_buf_view(&log->line));
	sonde_buf_clear(&log->line);
}

void sonde_ncu_log_release(struct sonde_ncu_log *log)
{
	sonde_buf_release(&log->line);
}

bool sonde_ncu_log_has(const struct sonde_ncu_log *log, enum sonde_situation s)
{
	return log->seen & 1u << s;
}

bool sonde_ncu_log_is_range_limit(const struct sonde_ncu_log *log)
{
	return sonde_ncu_log_has(log, SONDE_WHEN_UNSUPPORTED_API) ||
	       sonde_ncu_log_has(log, SONDE_WHEN_REPLAY_MISMATCH);
}

bool sonde_ncu_log_has_failure(const struct sonde_ncu_log *log)
{
	unsigned s;

	for (s = 0; s < SONDE_NR_LOG_SITUATIONS; s++)
		if (s != SONDE_WHEN_PROGRAM_FAILED && sonde_ncu_log_has(log, s) &&
			sonde_advice_on(s)->is_failure)
			return true;
	return false;
}

bool sonde_ncu_log_should_tell(const struct sonde_ncu_log *log, enum sonde_situation s)
{
	bool is_explained = false;
	unsigned i;

	for (i = 0; i < SONDE_NR_LOG_SITUATIONS; i++)
		is_explained |= sonde_ncu_log_has(log, i) && sonde_advice_on(i)->is_cause;
	return sonde_ncu_log_has(log, s) && !(is_explained && sonde_advice_on(s)->is_consequence);
}
