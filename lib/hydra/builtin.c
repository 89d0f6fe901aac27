/*
 * The built-in configs: the `hydra` node and its groups, with the contents that they
 * have in Hydra 1.3. Of these, sonde uses run, sweep, job, sweeper.params and
 * searchpath; the rest is there so that overrides and dumps look the same as in Hydra.
 */
#include "hydra/search.h"

#define LOGGING_DISABLED "version: 1\nroot:\n  handlers: null\ndisable_existing_loggers: false\n"
#define LOGGING_NONE	 "root: null\ndisable_existing_loggers: false\n"

static const struct {
	const char *path, *text;
} configs[] = {
	{"hydra/config", "defaults:\n"
			 "- output: default\n"
			 "- launcher: basic\n"
			 "- sweeper: basic\n"
			 "- help: default\n"
			 "- hydra_help: default\n"
			 "- hydra_logging: default\n"
			 "- job_logging: default\n"
			 "- callbacks: null\n"
			 "- env: default\n"
			 "- _self_\n"
			 "mode: null\n"
			 "searchpath: []\n"
			 "callbacks: {}\n"
			 "output_subdir: .hydra\n"
			 "overrides:\n"
			 "  hydra: []\n"
			 "  task: []\n"
			 "job:\n"
			 "  name: ???\n"
			 "  chdir: null\n"
			 "  override_dirname: ???\n"
			 "  id: ???\n"
			 "  num: ???\n"
			 "  config_name: ???\n"
			 "  env_set: {}\n"
			 "  env_copy: []\n"
			 "  config:\n"
			 "    override_dirname:\n"
			 "      kv_sep: '='\n"
			 "      item_sep: ','\n"
			 "      exclude_keys: []\n"
			 "runtime:\n"
			 "  version: ???\n"
			 "  version_base: ???\n"
			 "  cwd: ???\n"
			 "  config_sources: ???\n"
			 "  output_dir: ???\n"
			 "  choices: {}\n"
			 "verbose: false\n"},
	{"hydra/output/default", "# @package hydra\n"
				 "run:\n"
				 "  dir: outputs/${now:%Y-%m-%d}/${now:%H-%M-%S}\n"
				 "sweep:\n"
				 "  dir: multirun/${now:%Y-%m-%d}/${now:%H-%M-%S}\n"
				 "  subdir: ${hydra.job.num}\n"},
	{"hydra/launcher/basic",
		"_target_: hydra._internal.core_plugins.basic_launcher.BasicLauncher\n"},
	{"hydra/sweeper/basic",
		"_target_: hydra._internal.core_plugins.basic_sweeper.BasicSweeper\n"
		"max_batch_size: null\n"
		"params: null\n"},
	{"hydra/help/default", "app_name: ${hydra.job.name}\n"
			       "header: ''\n"
			       "footer: ''\n"
			       "template: ''\n"},
	{"hydra/hydra_help/default", "hydra_help: ???\n"
				     "template: ''\n"},
	{"hydra/hydra_logging/default", "version: 1\n"
					"formatters:\n"
					"  simple:\n"
					"    format: '[%(asctime)s][HYDRA] %(message)s'\n"
					"handlers:\n"
					"  console:\n"
					"    class: logging.StreamHandler\n"
					"    formatter: simple\n"
					"    stream: ext://sys.stdout\n"
					"root:\n"
					"  level: INFO\n"
					"  handlers:\n"
					"  - console\n"
					"loggers:\n"
					"  logging_example:\n"
					"    level: DEBUG\n"
					"disable_existing_loggers: false\n"},
	{"hydra/hydra_logging/disabled", LOGGING_DISABLED},
	{"hydra/hydra_logging/hydra_debug", LOGGING_DISABLED},
	{"hydra/hydra_logging/none", LOGGING_NONE},
	{"hydra/job_logging/default",
		"version: 1\n"
		"formatters:\n"
		"  simple:\n"
		"    format: '[%(asctime)s][%(name)s][%(levelname)s] - %(message)s'\n"
		"handlers:\n"
		"  console:\n"
		"    class: logging.StreamHandler\n"
		"    formatter: simple\n"
		"    stream: ext://sys.stdout\n"
		"  file:\n"
		"    class: logging.FileHandler\n"
		"    formatter: simple\n"
		"    filename: ${hydra.runtime.output_dir}/${hydra.job.name}.log\n"
		"root:\n"
		"  level: INFO\n"
		"  handlers:\n"
		"  - console\n"
		"  - file\n"
		"disable_existing_loggers: false\n"},
	{"hydra/job_logging/disabled", LOGGING_DISABLED},
	{"hydra/job_logging/none", LOGGING_NONE},
	{"hydra/job_logging/stdout", LOGGING_DISABLED},
	{"hydra/env/default", "{}\n"},
};

const char *hydra_builtin__path(size_t i)
{
	return i < sizeof(configs) / sizeof(configs[0]) ? configs[i].path : NULL;
}

const char *hydra_builtin__text(struct sonde_str path)
{
	size_t i;

	for (i = 0; i < sizeof(configs) / sizeof(configs[0]); i++)
		if (sonde_str_is(path, configs[i].path))
			return configs[i].text;
	return NULL;
}
