#include "export/export.h"
int sonde_export_markdown(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err) {(void)t;(void)o;(void)to;(void)err;return 0;}
int sonde_export_csv(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err) {(void)t;(void)o;(void)to;(void)err;return 0;}
int sonde_export_dir(const struct sonde_tree *t, const struct sonde_export_options *o,
	const char *dir, struct sonde_err *err) {(void)t;(void)o;(void)dir;(void)err;return 0;}
int sonde_cmd_validate(int argc, char **argv);
int sonde_cmd_validate(int argc, char **argv){(void)argc;(void)argv;return 0;}
