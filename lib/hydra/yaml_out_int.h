/* The YAML emitter, which keeps track of the line: yaml_out.c writes structure, yaml_out_text.c strings. */
#ifndef HYDRA_YAML_OUT_INT_H
#define HYDRA_YAML_OUT_INT_H

#include "hydra/yaml.h"

struct hydra_emitter {
	struct sonde_buf *out;
	int column, indent; /* indent -1 = outside of all collections */
	bool whitespace;    /* the last thing written was a blank or a break */
	bool indention;	    /* this line has only indentation and indicators so far */
};

/* Moves to the current indentation, on a new line if this line already has text. */
void hydra_emitter__indent(struct hydra_emitter *e);
/* Writes an indicator such as `-`, `:` or a quote. */
void hydra_emitter__put(struct hydra_emitter *e, const char *text, bool need_blank, bool indention);
/* Writes text that needs no quotes; `split`: a long text may take several lines. */
void hydra_emitter__plain(struct hydra_emitter *e, struct sonde_str s, bool split);
/* Whether a key can be written before its `:` on one line, without `?`. */
bool hydra_emitter__is_simple_key(const struct hydra_datum *key);
/* Writes a string in the plainest style that reads back as the same string; a key stays on one line. */
void hydra_emitter__string(struct hydra_emitter *e, struct sonde_str s, bool is_key);

#endif
