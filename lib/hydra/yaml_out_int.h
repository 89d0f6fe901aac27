/* Inside the writing of YAML: what keeps track of the line. yaml_out.c writes structure,
 * yaml_out_text.c strings. */
#ifndef HYDRA_YAML_OUT_INT_H
#define HYDRA_YAML_OUT_INT_H

#include "hydra/yaml.h"

struct hydra_emitter {
	struct sonde_buf *out;
	int column, indent; /* indent -1 = outside everything */
	bool whitespace;    /* the last thing written was a blank or a break */
	bool indention;	    /* only indentation and indicators so far on this line */
};

/* To the current indentation, on a new line if this one has something else. */
void hydra_emitter__indent(struct hydra_emitter *e);
/* An indicator such as `-`, `:` or a quote. */
void hydra_emitter__put(struct hydra_emitter *e, const char *text, bool need_blank, bool indention);
/* Text that needs no quotes; `split`: over several lines where it is long. */
void hydra_emitter__plain(struct hydra_emitter *e, struct sonde_str s, bool split);
/* Whether a key can stand before its `:` on one line, without `?`. */
bool hydra_emitter__is_simple_key(const struct hydra_datum *key);
/* In the plainest style that gives the same string again; keys stay on one line. */
void hydra_emitter__string(struct hydra_emitter *e, struct sonde_str s, bool is_key);

#endif
