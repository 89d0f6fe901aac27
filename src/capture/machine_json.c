#include "capture/machine.h"

#include "base/json_out.h"

/* What is not known is an empty text here and null there. */
static void put(struct sonde_json *w, const char *key, const char *value)
{
	sonde_json_z(w, key, *value ? value : NULL);
}

static void put_tool(struct sonde_json *w, const char *key, const struct sonde_tool *t)
{
	if (!t->path[0]) {
		sonde_json_null(w, key);
		return;
	}
	sonde_json_open(w, key, '{', true);
	put(w, "path", t->path);
	put(w, "version", t->version);
	sonde_json_close(w, '}');
}

static void put_gpus(struct sonde_json *w, const struct sonde_machine *f)
{
	size_t i;

	sonde_json_each(w, "gpus", false, i, f->nr_gpus) {
		const struct sonde_gpu *g = &f->gpus[i];

		put(w, "name", g->name);
		put(w, "driver", g->driver);
		put(w, "compute_capability", g->compute_capability);
		put(w, "memory_mib", g->memory_mib);
		put(w, "uuid", g->uuid);
		put(w, "mig", g->mig);
	}
}

void sonde_machine_json(const struct sonde_machine *f, struct sonde_json *w, const char *key)
{
	sonde_json_open(w, key, '{', false);
	sonde_json_z(w, "sonde", SONDE_VERSION);
	put(w, "host", f->host);
	put(w, "os", f->os);
	put_gpus(w, f);
	put(w, "gpu_error", f->gpu_error);
	put(w, "kernel_module", f->kernel_module);
	put_tool(w, "ncu", &f->ncu);
	put_tool(w, "nsys", &f->nsys);
	put(w, "cupti", f->cupti);
	if (f->is_restricted < 0)
		sonde_json_null(w, "counters_restricted");
	else
		sonde_json_bool(w, "counters_restricted", f->is_restricted);
	put(w, "container", f->container);
	put(w, "profilers", f->profilers);
	sonde_json_close(w, '}');
}
