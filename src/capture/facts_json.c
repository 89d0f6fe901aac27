#include "capture/facts.h"

#include "capture/json_text.h"

void sonde_json_text(struct sonde_sink *to, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	struct sonde_str s = sonde_str_from(text);
	size_t i;

	sonde_sink_putc(to, '"');
	for (i = 0; i < s.n; i++) {
		uint32_t cp;
		unsigned n = sonde_utf8_decode(s, i, &cp);

		if (n > 1) {
			sonde_sink_write(to, s.p + i, n);
			i += n - 1;
		} else if (n == 0) {
			sonde_sink_puts(to, "\\ufffd");
		} else if (c[i] == '"' || c[i] == '\\') {
			sonde_sink_printf(to, "\\%c", c[i]);
		} else if (c[i] < 0x20) {
			sonde_sink_printf(to, "\\u%04x", c[i]);
		} else {
			sonde_sink_putc(to, (char)c[i]);
		}
	}
	sonde_sink_putc(to, '"');
}

void sonde_json_member(struct sonde_sink *to, const char *key, const char *value)
{
	sonde_json_text(to, key);
	sonde_sink_puts(to, ": ");
	if (*value)
		sonde_json_text(to, value);
	else
		sonde_sink_puts(to, "null");
}

static void tool(struct sonde_sink *to, const char *key, const struct sonde_tool *t)
{
	sonde_json_text(to, key);
	if (!t->path[0]) {
		sonde_sink_puts(to, ": null");
		return;
	}
	sonde_sink_puts(to, ": {");
	sonde_json_member(to, "path", t->path);
	sonde_sink_puts(to, ", ");
	sonde_json_member(to, "version", t->version);
	sonde_sink_puts(to, "}");
}

static void gpus(struct sonde_sink *to, const struct sonde_facts *f)
{
	size_t i;

	sonde_sink_puts(to, "  \"gpus\": [");
	for (i = 0; i < f->nr_gpus; i++) {
		const struct sonde_gpu *g = &f->gpus[i];

		sonde_sink_puts(to, i ? ",\n    {" : "\n    {");
		sonde_json_member(to, "name", g->name);
		sonde_sink_puts(to, ", ");
		sonde_json_member(to, "driver", g->driver);
		sonde_sink_puts(to, ", ");
		sonde_json_member(to, "compute_capability", g->compute_capability);
		sonde_sink_puts(to, ", ");
		sonde_json_member(to, "memory_mib", g->memory_mib);
		sonde_sink_puts(to, ", ");
		sonde_json_member(to, "uuid", g->uuid);
		sonde_sink_puts(to, ", ");
		sonde_json_member(to, "mig", g->mig);
		sonde_sink_puts(to, "}");
	}
	sonde_sink_puts(to, f->nr_gpus ? "\n  ],\n" : "],\n");
}

void sonde_facts_json(const struct sonde_facts *f, struct sonde_sink *to)
{
	static const char *const said[] = {"null", "false", "true"};

	sonde_sink_puts(to, "{\n  ");
	sonde_json_member(to, "sonde", SONDE_VERSION);
	sonde_sink_puts(to, ",\n  ");
	sonde_json_member(to, "host", f->host);
	sonde_sink_puts(to, ",\n  ");
	sonde_json_member(to, "os", f->os);
	sonde_sink_puts(to, ",\n");
	gpus(to, f);
	sonde_sink_puts(to, "  ");
	sonde_json_member(to, "gpu_error", f->gpu_error);
	sonde_sink_puts(to, ",\n  ");
	sonde_json_member(to, "kernel_module", f->kernel_module);
	sonde_sink_puts(to, ",\n  ");
	tool(to, "ncu", &f->ncu);
	sonde_sink_puts(to, ",\n  ");
	tool(to, "nsys", &f->nsys);
	sonde_sink_puts(to, ",\n  ");
	sonde_json_member(to, "cupti", f->cupti);
	sonde_sink_printf(to, ",\n  \"counters_restricted\": %s,\n  ", said[f->is_restricted + 1]);
	sonde_json_member(to, "container", f->container);
	sonde_sink_puts(to, ",\n  ");
	sonde_json_member(to, "profilers", f->profilers);
	sonde_sink_puts(to, "\n}\n");
}
