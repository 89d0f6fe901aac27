/*
 * The labels of ranges: rewritten by rules (report.labels), and merged where they look serial.
 *
 * Tools number what they do: `aten::mul, seq = 12, op_id = 40`, `ProfilerStep#3`.
 * Each number would be a region of its own. A rule is `REGEX => REPLACEMENT`,
 * applied to one label; rules run one after the other, before anything else
 * sees the label. Range entries keep their raw label in the records. Named groups
 * of a rule (`(?<batch>\d+)`) become arguments of the entries with that label.
 *
 * Siblings are serial if their labels differ in digits only, there are more than 64
 * of them, and no process entered one of them more than once (is_serial). They come
 * from a loop that writes its counter into the label.
 */
#include "attribute/launches_int.h"

#include <ctype.h>
#include <string.h>

#define ARROW "=>"
#define MANY_SIBLINGS 64
#define MANY_IN_ONE   2
#define LEAST_ID      8 /* characters of a hexadecimal id */
#define MANY_REGIONS  256 /* so many or fewer are not worth a note */

/* --- rules -------------------------------------------------------------------------------------- */

/*
 * Numbers that tools write into labels. `layer0`, `block.3`, `stage1` are names, not serial numbers: a bare number
 * after a word stays, unless the word is one that counts (step, epoch, …).
 */
static const char *const shipped_rules[] = {
	/* emit_nvtx of PyTorch. The whole suffix is removed, not only the number: the same operator
	   comes with and without a number. */
	", (?:seq|op_id) = -?\\d+ => ",
	", (?:sizes|input_op_ids) = \\[.*?\\](?=, (?:seq|op_id|sizes|input_op_ids) = |$) => ",
	"^ProfilerStep#\\d+$ => ProfilerStep#*",
	"^((?i)step|iter|iteration|epoch|batch)([ _#])\\d+$ => $1$2*",
	/*
	 * vLLM, and SGLang with its roofline annotations: the number of requests in each phase, and in brackets
	 * their tokens (`sq`). The meaning of the first number differs between the two. A step without requests is idle.
	 */
	"^execute_(?:\\d+_)?context_0\\([^()]*\\)_generation_0\\([^()]*\\) => execute_* idle",
	"^execute_(?:\\d+_)?context_0\\([^()]*\\)_generation_(?<batch>\\d+)\\((?:sq)?(?<tokens>\\d+)[^()]*\\) => "
	"execute_* decode",
	"^execute_(?:\\d+_)?context_(?<batch>\\d+)\\((?:sq)?(?<tokens>\\d+)[^()]*\\)_generation_0\\([^()]*\\) => "
	"execute_* prefill",
	"^execute_(?:\\d+_)?context_(?<batch>\\d+)\\((?:sq)?(?<tokens>\\d+)[^()]*\\)"
	"_generation_(?<batch>\\d+)\\((?:sq)?(?<tokens>\\d+)[^()]*\\) => execute_* mixed",
	/* Older versions count the new requests; they do not say whether the cached ones are past their prompt. */
	"^execute_new_(?<batch>\\d+)_cached_(?<batch>\\d+) => execute_new_*_cached_*",
	/* SGLang. A decoding step has no number of tokens; with speculation it is not the number of requests. */
	"^step\\[(\\w+) bs=(?<batch>\\d+)(?: toks=(?<tokens>\\d+))?[^\\]]*\\] => step[$1]",
	/* TensorRT-LLM: the number of requests in each phase. */
	"^((?:\\[Executor\\] )?_forward_step)(?: \\d+)?: 0 ctx reqs, (?<batch>\\d+) gen reqs => $1 decode",
	"^((?:\\[Executor\\] )?_forward_step)(?: \\d+)?: (?<batch>\\d+) ctx reqs, 0 gen reqs => $1 prefill",
	"^((?:\\[Executor\\] )?_forward_step)(?: \\d+)?: (?<batch>\\d+) ctx reqs, (?<batch>\\d+) gen reqs => $1 mixed",
	/* The NVTX range of a layer: a Python dictionary with the name of the layer and the sizes of its inputs. */
	"^\\{'Module': [\"']+([^\"']+)[\"']+.*\\}$ => $1",
	"\\b0x[0-9a-fA-F]{4,}\\b => 0x*",
	"(?i)\\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\\b => *",
	/*
	 * Hexadecimal ids without dashes. Twelve letters a to f alone may be a name, and digits alone a number: both
	 * stay.
	 */
	"(?i)(?<![0-9a-z])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{12,}(?![0-9a-z]) => *",
	"^## Call CompiledFxGraph \\S+ ##$ => ## Call CompiledFxGraph * ##",
};

static int refuse_rule(struct sonde_err *err, struct sonde_str rule, const char *why)
{
	return sonde_err_set(err, SONDE_ERR_USAGE, "report.labels: rule '%.*s': %s",
		SONDE_STR_ARG(rule), why);
}

/*
 * Parses `REGEX => REPLACEMENT`. The last arrow separates the two. One blank before it and all blanks after it are
 * dropped.
 */
static int add_rule(
	struct sonde_labels *l, struct sonde_str rule, bool is_shipped, struct sonde_err *err)
{
	struct sonde_label_pattern *r = sonde_push(&l->pool.arena, &l->rules);
	struct sonde_str regex = rule;
	struct sonde_err why = {0};
	size_t at = rule.n;
	int rc;

	while (at > 1 && memcmp(rule.p + at - 2, ARROW, 2) != 0)
		at--;
	if (at <= 1)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report.labels: '%.*s' is neither known, nor raw, nor a rule "
			"'REGEX => REPLACEMENT'",
			SONDE_STR_ARG(rule));
	*r = (struct sonde_label_pattern){.text = rule, .is_shipped = is_shipped};
	regex = (struct sonde_str){rule.p, at - 2};
	r->replacement = sonde_str_trim((struct sonde_str){rule.p + at, rule.n - at});
	if (regex.n && regex.p[regex.n - 1] == ' ')
		regex.n--;
	if (!regex.n)
		return refuse_rule(err, rule, "there is nothing before '=>'");
	rc = sonde_pattern__regex(&r->pattern, &l->pool, regex, &why);
	return rc ? refuse_rule(err, rule, why.msg) : 0;
}

static int add_shipped(struct sonde_labels *l, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	if (l->has_shipped)
		return 0;
	l->has_shipped = true;
	for (i = 0; i < sizeof(shipped_rules) / sizeof(*shipped_rules) && rc == 0; i++)
		rc = add_rule(l, sonde_str_from(shipped_rules[i]), true, err);
	return rc;
}

int sonde_labels__init(struct sonde_labels *l, struct sonde_words words, struct sonde_err *err)
{
	int rc = words.nr ? 0 : add_shipped(l, err);
	size_t i;

	for (i = 0; i < words.nr && rc == 0; i++) {
		struct sonde_str word = sonde_str_trim(sonde_str_from(words.at[i]));

		if (sonde_str_is(word, "known"))
			rc = add_shipped(l, err);
		else if (sonde_str_is(word, "auto")) /* the older name of "known" */
			rc = add_shipped(l, err);
		else if (!sonde_str_is(word, "raw"))
			rc = add_rule(l, word, false, err);
	}
	return rc ? rc : sonde_arena_status(&l->pool.arena, err);
}

void sonde_labels__release(struct sonde_labels *l)
{
	sonde_buf_release(&l->arguments);
	sonde_pool__release(&l->pool);
}

static bool has_digit(struct sonde_str s)
{
	size_t i;

	for (i = 0; i < s.n; i++)
		if (isdigit((unsigned char)s.p[i]))
			return true;
	return false;
}

/* Adds the named groups of a matching rule to the arguments. If two groups have one name, the argument is their sum. */
static void take_arguments(struct sonde_labels *l, const struct sonde_pattern *p, struct sonde_str label)
{
	struct sonde_str name, group, last = {NULL, 0};
	uint64_t sum = 0, more;
	uint32_t next = 0;
	bool is_known = false; /* whether `sum` is valid: false after an overflow of 64 bits */

	while (sonde_pattern__group(p, label, &next, &name, &group)) {
		if (!sonde_str_u64(group, &more)) {
			sonde_arguments_put(&l->arguments, name, group); /* a real number; anything else is left out */
			continue;
		}
		if (!sonde_str_eq(name, last)) {
			if (is_known)
				sonde_arguments_put_whole(&l->arguments, last, false, sum);
			last = name;
			sum = 0;
			is_known = true;
		}
		is_known = is_known && !__builtin_add_overflow(sum, more, &sum);
	}
	if (is_known)
		sonde_arguments_put_whole(&l->arguments, last, false, sum);
}

int sonde_labels__apply(struct sonde_labels *l, struct sonde_str label, struct sonde_buf *out,
	bool *is_changed, struct sonde_err *err)
{
	struct sonde_buf before = {0};
	bool is_serial = has_digit(label);
	size_t i;
	int rc = 0;

	*is_changed = false;
	sonde_buf_clear(&l->arguments);
	for (i = 0; i < l->rules.nr && rc >= 0; i++) {
		struct sonde_label_pattern *r = &l->rules.at[i];
		struct sonde_str text = *is_changed ? sonde_buf_view(&before) : label;
		struct sonde_buf now = {0};

		r->is_used = false;
		if (r->is_shipped && !is_serial)
			continue;
		rc = sonde_pattern__replace(&r->pattern, text, r->replacement, &now);
		l->pool.arena.failed |= now.failed;
		if (rc > 0) {
			take_arguments(l, &r->pattern, text);
			*is_changed = r->is_used = true;
			sonde_buf_release(&before);
			before = now;
		} else {
			sonde_buf_release(&now);
		}
		if (rc == SONDE_ERR_USAGE)
			refuse_rule(err, r->text, "the replacement cannot be used");
	}
	if (rc >= 0 && *is_changed)
		sonde_buf_str(out, sonde_buf_view(&before));
	sonde_buf_release(&before);
	l->pool.arena.failed |= out->failed || l->arguments.failed;
	return rc < 0 ? rc : sonde_arena_status(&l->pool.arena, err);
}

/* Counts the last label as changed for each rule that matched it. */
static void count_rules(struct sonde_labels *l)
{
	size_t i;

	for (i = 0; i < l->rules.nr; i++)
		l->rules.at[i].changed += l->rules.at[i].is_used;
}

/* The length of the hexadecimal id at the start of `text`: a whole word of eight characters or more, with a digit and a letter. */
static size_t id_length(struct sonde_str text)
{
	bool has_digit = false, has_letter = false;
	size_t n;

	for (n = 0; n < text.n && isxdigit((unsigned char)text.p[n]); n++) {
		has_digit |= isdigit((unsigned char)text.p[n]);
		has_letter |= !isdigit((unsigned char)text.p[n]);
	}
	return n >= LEAST_ID && has_digit && has_letter && (n == text.n || !isalnum((unsigned char)text.p[n])) ? n : 0;
}

/* Writes `label` to `out` with one `*` for each run of digits and each hexadecimal id. False if the label has neither. */
static bool make_shape(struct sonde_buf *out, struct sonde_str label)
{
	bool is_serial = false;
	size_t i, n;

	sonde_buf_clear(out);
	for (i = 0; i < label.n; i += n) {
		bool begins_word = !i || !isalnum((unsigned char)label.p[i - 1]);

		n = begins_word ? id_length((struct sonde_str){label.p + i, label.n - i}) : 0;
		while (!n || (i + n < label.n && isdigit((unsigned char)label.p[i]) && isdigit((unsigned char)label.p[i + n])))
			n++;
		is_serial |= n > 1 || isdigit((unsigned char)label.p[i]);
		sonde_buf_putc(out, n > 1 || isdigit((unsigned char)label.p[i]) ? '*' : label.p[i]);
	}
	return is_serial;
}

bool sonde_label_is_operator(struct sonde_str label)
{
	static const char *const begins[] = {"aten::", "c10d::", "nccl", "autograd::", "record_param_comms"};
	size_t i;

	for (i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (sonde_str_starts(label, begins[i]))
			return true;
	return false;
}

/* --- the labels of a capture -------------------------------------------------------------------- */

/* Whether the selection names a label by a part that rewriting would remove: `[step_10` does not match `step_*`. */
static bool is_named(const struct sonde_build *b, struct sonde_str label, struct sonde_str rewritten)
{
	return sonde_nvtx_filter_names(b->filter, label) && !sonde_nvtx_filter_names(b->filter, rewritten);
}

/* Rewrites one label. `text` must outlive the launches. A label that the selection names (is_named) stays as it is. */
static int rewrite_label(struct sonde_build *b, struct sonde_labels *rules, struct sonde_str text,
	uint32_t *out, struct sonde_err *err)
{
	struct sonde_buf buf = {0};
	bool is_changed;
	int rc = sonde_labels__apply(rules, text, &buf, &is_changed, err);

	if (rc == 0 && is_changed)
		is_changed = !is_named(b, text, sonde_buf_view(&buf));
	if (rc == 0 && is_changed)
		count_rules(rules);
	*out = rc	    ? SONDE_NONE
	       : is_changed ? sonde_intern_copy(&b->l->arena, &b->l->labels, sonde_buf_view(&buf), NULL)
			    : sonde_intern(&b->l->arena, &b->l->labels, text, NULL);
	sonde_buf_release(&buf);
	return rc;
}

/* Keeps the arguments in the label that was rewritten last. */
static void keep_arguments(struct sonde_build *b, uint32_t string)
{
	struct sonde_str **of = &b->l->arguments_of, list = sonde_buf_view(&b->labels.arguments);

	if (!*of)
		*of = sonde_arena_calloc(&b->l->arena, b->r->strings.nr + 1, sizeof(**of));
	if (*of)
		(*of)[string] = sonde_arena_dup(&b->l->arena, list);
}

/* Fills `*out`, by string number: the label number of each string that is the label of a range, else SONDE_NONE. */
static int rewrite_all(struct sonde_build *b, struct sonde_labels *rules, uint32_t **out,
	struct sonde_err *err)
{
	size_t i, nr = b->r->strings.nr;
	int rc = 0;

	*out = sonde_arena_alloc(&b->arena, (nr + 1) * sizeof(**out));
	if (sonde_build__status(b, err))
		return SONDE_ERR_NOMEM;
	memset(*out, 0xff, nr * sizeof(**out));
	for (i = 0; i < b->r->ranges.nr && rc == 0; i++) {
		uint32_t string = b->r->ranges.at[i].label;

		if ((*out)[string] != SONDE_NONE)
			continue;
		rc = rewrite_label(b, rules, sonde_records_str(b->r, string), &(*out)[string], err);
		if (rc == 0 && rules == &b->labels && rules->arguments.n)
			keep_arguments(b, string);
	}
	return rc;
}

int sonde_build__rewrite(struct sonde_build *b, struct sonde_str text, uint32_t *out, struct sonde_err *err)
{
	int rc = rewrite_label(b, &b->labels, sonde_arena_dup(&b->l->arena, text), out, err);

	return rc ? rc : sonde_build__status(b, err);
}

static void list_rules(struct sonde_build *b)
{
	size_t i;

	for (i = 0; i < b->labels.rules.nr; i++) {
		const struct sonde_label_pattern *rule = &b->labels.rules.at[i];

		sonde_put(&b->l->arena, &b->l->label_rules,
			(struct sonde_label_rule){sonde_arena_dup(&b->l->arena, rule->text), rule->changed});
	}
}

int sonde_build__labels(struct sonde_build *b, struct sonde_err *err)
{
	const struct sonde_selection *s = &b->l->selection;
	int rc = sonde_nvtx_filter_build(&b->filter, s->nvtx_include, s->nvtx_exclude, err);

	if (rc == 0)
		rc = sonde_labels__init(&b->labels, s->labels, err);
	if (rc == 0)
		rc = rewrite_all(b, &b->labels, &b->label_of, err);
	if (rc)
		return rc;
	list_rules(b);
	return sonde_build__status(b, err);
}

uint32_t sonde_build__label(const struct sonde_build *b, uint32_t range)
{
	return b->label_of_range ? b->label_of_range[range]
				 : b->label_of[b->r->ranges.at[range].label];
}

/* --- stacks of labels, to count them and find serial ones ------------------------------------- */

struct node {
	uint32_t parent, label;
	uint32_t around;	 /* range around the first entry, SONDE_NONE = none */
	uint32_t process;	 /* process of the last entry */
	uint32_t entered, most; /* number of entries in that process, and the most in any process */
	uint32_t group;		 /* group of siblings with the same shape, SONDE_NONE = it cannot be serial */
};

/* All of it is in b->step. */
struct trie {
	struct sonde_map keys;
	struct sonde_recent recent;
	SONDE_VEC(struct node) nodes;
	uint32_t *of; /* by range: its node */
};

/* Builds the trie. Labels come from `of_range`, or if that is NULL from `of_string`. */
static void build_trie(struct sonde_build *b, struct trie *t, const uint32_t *of_string,
	const uint32_t *of_range)
{
	uint32_t i;
	bool is_new;

	t->of = sonde_arena_alloc(&b->step, (b->r->ranges.nr + 1) * sizeof(*t->of));
	for (i = 0; i < b->r->ranges.nr && !b->step.failed; i++) {
		const struct sonde_range *g = &b->r->ranges.at[i];
		uint32_t label = of_range ? of_range[i] : of_string[g->label];
		uint32_t parent = g->parent == SONDE_NONE ? SONDE_NONE : t->of[g->parent];
		uint32_t key[SONDE_RECENT_WORDS] = {parent, label, g->domain, g->kind};
		uint32_t *recent = sonde_recent__of(&t->recent, key), n = *recent - 1;
		struct node *node;

		is_new = false;
		if (!*recent)
			n = sonde_build__key(&b->step, &t->keys, key, 4, &is_new);
		node = sonde_slot(&b->step, &t->nodes, n);
		*recent = n + 1;
		if (is_new)
			*node = (struct node){parent, label, g->parent, g->process, 0, 0, SONDE_NONE};
		node->entered = node->process == g->process ? node->entered + 1 : 1;
		node->process = g->process;
		node->most = node->entered > node->most ? node->entered : node->most;
		t->of[i] = n;
	}
}

/* Siblings that may be serial, grouped by shape; in b->step. */
struct groups {
	struct sonde_map keys; /* {parent, label number of the shape} */
	SONDE_VEC(struct group {
		uint32_t label; /* label number of the shape */
		uint32_t size;	/* number of siblings with this shape */
		uint32_t around;    /* the range around the last of them */
		uint32_t nr_around; /* in how many ranges they are */
	}) at;
};

static void group_node(struct sonde_build *b, struct groups *g, struct node *node, struct sonde_buf *shape)
{
	uint32_t key[2] = {node->parent, 0};
	struct group *group;

	if (node->most > 1 ||
		!make_shape(shape, b->l->labels.keys[node->label]) ||
		is_named(b, b->l->labels.keys[node->label], sonde_buf_view(shape)))
		return;
	key[1] = sonde_intern_copy(&b->l->arena, &b->l->labels, sonde_buf_view(shape), NULL);
	node->group = sonde_build__key(&b->step, &g->keys, key, 2, NULL);
	group = sonde_slot(&b->step, &g->at, node->group);
	group->label = key[1];
	group->size++;
	group->nr_around += group->size == 1 || group->around != node->around;
	group->around = node->around;
}

/* Whether more than MANY_SIBLINGS labels differ in digits only. Most captures have no such labels and need no trie. */
static bool has_many_of_a_shape(struct sonde_build *b)
{
	struct sonde_map shapes = {0};
	SONDE_VEC(uint32_t) sizes = {0};
	struct sonde_buf shape = {0};
	bool has_many = false;
	size_t i;

	for (i = 0; i < b->l->labels.nr && !has_many; i++) {
		uint32_t n, *size;

		if (!make_shape(&shape, b->l->labels.keys[i]))
			continue;
		n = sonde_intern_copy(&b->step, &shapes, sonde_buf_view(&shape), NULL);
		size = sonde_slot(&b->step, &sizes, n);
		has_many = ++*size > MANY_SIBLINGS;
	}
	b->step.failed |= shape.failed;
	sonde_buf_release(&shape);
	return has_many;
}

/*
 * Whether the siblings are serial: there are many. If the range around them was entered again and again, at most
 * MANY_IN_ONE of them are in each of its entries, as requests are. Layers that a program entered once, while it captured
 * a graph, are all in one entry: these are names.
 */
static bool is_serial(const struct trie *t, const struct node *n, const struct group *g)
{
	bool is_repeated = n->parent != SONDE_NONE && t->nodes.at[n->parent].most > 1;

	return g->size > MANY_SIBLINGS && (!is_repeated || g->size <= MANY_IN_ONE * g->nr_around);
}

/* Gives the nodes of serial groups the label of their group, and returns the number of these nodes. */
static uint64_t merge_groups(struct trie *t, const struct groups *g)
{
	uint64_t nr_merged = 0;
	size_t i;

	for (i = 0; i < t->nodes.nr; i++) {
		struct node *n = &t->nodes.at[i];

		if (n->group == SONDE_NONE || !is_serial(t, n, &g->at.at[n->group]))
			continue;
		n->label = g->at.at[n->group].label;
		nr_merged++;
	}
	return nr_merged;
}

/*
 * The label of each range after merging serial siblings, and in `*nr_merged` the number of merged nodes. NULL: none is
 * merged, or no memory.
 */
static uint32_t *merge_serial(struct sonde_build *b, const uint32_t *of_string, uint64_t *nr_merged)
{
	struct trie t = {0};
	struct groups g = {0};
	struct sonde_buf shape = {0};
	uint32_t *labels = NULL;
	size_t i;

	build_trie(b, &t, of_string, NULL);
	for (i = 0; i < t.nodes.nr && !sonde_build__failed(b); i++)
		group_node(b, &g, &t.nodes.at[i], &shape);
	b->step.failed |= shape.failed;
	sonde_buf_release(&shape);
	*nr_merged = sonde_build__failed(b) ? 0 : merge_groups(&t, &g);
	if (*nr_merged)
		labels = sonde_arena_alloc(&b->arena, b->r->ranges.nr * sizeof(*labels));
	for (i = 0; labels && i < b->r->ranges.nr; i++)
		labels[i] = t.nodes.at[t.of[i]].label;
	return labels;
}

/* Counts the regions that these labels would make. */
static size_t count_regions(struct sonde_build *b, const uint32_t *of_string, const uint32_t *of_range)
{
	struct trie t = {0};

	build_trie(b, &t, of_string, of_range);
	return t.nodes.nr;
}

/* For a selection that does not use the shipped rules: notes how many regions they would leave. */
static int note_shipped(struct sonde_build *b, size_t nr, struct sonde_err *err)
{
	struct sonde_labels rules = {0};
	uint32_t *of_string = NULL;
	uint64_t nr_merged;
	size_t left = nr;
	int rc = sonde_labels__init(&rules, (struct sonde_words){NULL, 0}, err);

	if (rc == 0)
		rc = rewrite_all(b, &rules, &of_string, err);
	if (rc == 0)
		left = count_regions(b, of_string, merge_serial(b, of_string, &nr_merged));
	rc = rc ? rc : sonde_build__status(b, err);
	if (rc == 0 && left < nr / 2)
		sonde_note(&b->l->notes,
			"there are %zu regions, because many labels differ only in a number: report.labels=known would leave %zu", nr,
			left);
	sonde_labels__release(&rules);
	return rc;
}

int sonde_build__merge_serial(struct sonde_build *b, struct sonde_err *err)
{
	uint64_t nr_merged = 0;

	if (b->labels.has_shipped && has_many_of_a_shape(b))
		b->label_of_range = merge_serial(b, b->label_of, &nr_merged);
	if (b->label_of_range)
		sonde_put(&b->l->arena, &b->l->label_rules, (struct sonde_label_rule){SONDE_STR("auto"), nr_merged});
	return sonde_build__status(b, err);
}

int sonde_build__note_serial(struct sonde_build *b, struct sonde_err *err)
{
	size_t nr = 0;

	if (!b->labels.has_shipped && b->stacks.nr > MANY_REGIONS)
		nr = count_regions(b, b->label_of, NULL);
	if (sonde_build__status(b, err))
		return SONDE_ERR_NOMEM;
	return nr > MANY_REGIONS ? note_shipped(b, nr, err) : 0;
}
