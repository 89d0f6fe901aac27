#include "capture/ncu_log.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* How the detail of a finding is cut out of its line. */
enum detail {
	DETAIL_NONE,
	DETAIL_PARENS,
	DETAIL_QUOTES,
	DETAIL_TICKS,
	DETAIL_LAST_WORD,
	DETAIL_LINE
};

/* Known messages, the first match of a line wins; a needle is found anywhere in it. */
static const struct message {
	const char *needle;
	uint8_t finding, detail;
} messages[] = {
	{"No kernels were profiled", SONDE_NCU_NOTHING, DETAIL_NONE},
	{"No ranges were profiled", SONDE_NCU_NOTHING, DETAIL_NONE},
	{"match only start/end ranges", SONDE_NCU_ONLY_START_END, DETAIL_NONE},
	{"match only push/pop ranges", SONDE_NCU_ONLY_PUSH_POP, DETAIL_NONE},
	{"Unsupported API", SONDE_NCU_UNSUPPORTED_API, DETAIL_PARENS},
	{"ERR_NVGPUCTRPERM", SONDE_NCU_NO_PERMISSION, DETAIL_NONE},
	{"driver resource was unavailable", SONDE_NCU_COUNTERS_HELD, DETAIL_NONE},
	{"Failed to find metric", SONDE_NCU_BAD_METRIC, DETAIL_LAST_WORD},
	{"cannot be collected", SONDE_NCU_BAD_METRIC, DETAIL_QUOTES},
	{"Invalid metric", SONDE_NCU_BAD_METRIC, DETAIL_LAST_WORD},
	{"Failed to find section", SONDE_NCU_BAD_SECTION, DETAIL_LAST_WORD},
	{"No section files found", SONDE_NCU_BAD_SECTION, DETAIL_NONE},
	{"Invalid configuration for nvtx", SONDE_NCU_BAD_EXPRESSION, DETAIL_LAST_WORD},
	{"unrecognised option", SONDE_NCU_BAD_OPTION, DETAIL_TICKS},
	{"unrecognized option", SONDE_NCU_BAD_OPTION, DETAIL_TICKS},
	{"pplication replay mismatch", SONDE_NCU_REPLAY_MISMATCH, DETAIL_NONE},
	{"not match across", SONDE_NCU_REPLAY_MISMATCH, DETAIL_NONE},
	{"match previous pass", SONDE_NCU_REPLAY_MISMATCH, DETAIL_NONE},
	{"mismatch between replay passes", SONDE_NCU_REPLAY_MISMATCH, DETAIL_NONE},
	{"application returned an error code", SONDE_NCU_PROGRAM_FAILED, DETAIL_PARENS},
	{"does not exist or is not an executable", SONDE_NCU_PROGRAM_MISSING, DETAIL_NONE},
	{"LibraryNotLoaded", SONDE_NCU_NO_DRIVER, DETAIL_NONE},
	{"Cuda driver is not compatible", SONDE_NCU_NO_DRIVER, DETAIL_NONE},
	{"Cannot lock GPU clock", SONDE_NCU_CLOCKS, DETAIL_NONE},
	{"No space left on device", SONDE_NCU_DISK_FULL, DETAIL_NONE},
	{"Failed to write report", SONDE_NCU_UNWRITABLE, DETAIL_NONE},
	{"Failed to create report", SONDE_NCU_UNWRITABLE, DETAIL_NONE},
	{"Could not open report", SONDE_NCU_UNWRITABLE, DETAIL_NONE},
	{"Received signal", SONDE_NCU_SIGNAL, DETAIL_NONE},
	{"Backing up device memory in system memory", SONDE_NCU_MEMORY_BACKUP, DETAIL_NONE},
	{"Failed to profile", SONDE_NCU_PROFILE_FAILED, DETAIL_QUOTES},
	/* Said after the cause: nothing new. */
	{"Skipping invalid capture range", SONDE_NR_NCU_FINDINGS, DETAIL_NONE},
	{"An error was reported by the driver", SONDE_NR_NCU_FINDINGS, DETAIL_NONE},
	{"An error occurred while trying to profile", SONDE_NR_NCU_FINDINGS, DETAIL_NONE},
	{"==ERROR==", SONDE_NCU_OTHER_ERROR, DETAIL_LINE},
};

static bool find(struct sonde_str line, const char *needle, struct sonde_str *after)
{
	size_t n = strlen(needle);
	const char *at = line.n ? memmem(line.p, line.n, needle, n) : NULL;

	if (!at)
		return false;
	*after = (struct sonde_str){at + n, line.n - (size_t)(at - line.p) - n};
	return true;
}

static struct sonde_str between(struct sonde_str s, char open, char close)
{
	struct sonde_str rest, inner;

	sonde_str_cut(s, open, &rest);
	inner = sonde_str_cut(rest, close, &rest);
	return inner;
}

static struct sonde_str last_word(struct sonde_str s)
{
	size_t n;

	s = sonde_str_trim(s);
	while (s.n && strchr(".'\"", s.p[s.n - 1]))
		s.n--;
	for (n = s.n; n && !strchr(" '\"", s.p[n - 1]); n--)
		;
	return (struct sonde_str){s.p + n, s.n - n};
}

static struct sonde_str cut_detail(uint8_t how, struct sonde_str line, struct sonde_str after)
{
	switch (how) {
	case DETAIL_PARENS:
		return between(after, '(', ')');
	case DETAIL_QUOTES:
		return between(line, '"', '"');
	case DETAIL_TICKS:
		return between(after, '\'', '\'');
	case DETAIL_LAST_WORD:
		return last_word(after);
	case DETAIL_LINE:
		return sonde_str_trim(after);
	default:
		return (struct sonde_str){NULL, 0};
	}
}

static void note_finding(struct sonde_ncu_log *log, uint8_t f, struct sonde_str detail)
{
	if (f >= SONDE_NR_NCU_FINDINGS)
		return;
	if (!(log->seen & 1u << f)) /* the first one is the cause */
		snprintf(log->details[f], sizeof(log->details[f]), "%.*s", SONDE_STR_ARG(detail));
	log->seen |= 1u << f;
	if (f == SONDE_NCU_PROGRAM_FAILED)
		log->program_status = (int)strtol(log->details[f], NULL, 10);
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
	if (find(after, "Application replay pass", &rest)) {
		uint64_t pass = number(rest);

		log->app_passes = pass > log->app_passes ? pass : log->app_passes;
		if (pass <= 1)
			log->nr_results++;
		return;
	}
	log->nr_results++;
	if (find(after, "100% - ", &rest))
		log->nr_passes += number(rest);
}

static void take_line(struct sonde_ncu_log *log, struct sonde_str line)
{
	struct sonde_str after;
	size_t i;

	if (find(line, "==PROF== Profiling ", &after))
		take_result(log, after);
	else if (find(line, "==PROF== Connected to process", &after))
		log->nr_processes++;
	else if (find(line, "==PROF== Report:", &after))
		log->has_report = true;
	for (i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		if (!find(line, messages[i].needle, &after))
			continue;
		note_finding(log, messages[i].finding, cut_detail(messages[i].detail, line, after));
		return;
	}
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

bool sonde_ncu_log_has(const struct sonde_ncu_log *log, enum sonde_ncu_finding f)
{
	return log->seen & 1u << f;
}

bool sonde_ncu_log_is_range_limit(const struct sonde_ncu_log *log)
{
	return sonde_ncu_log_has(log, SONDE_NCU_UNSUPPORTED_API) ||
	       sonde_ncu_log_has(log, SONDE_NCU_REPLAY_MISMATCH);
}
