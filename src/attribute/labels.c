#include "attribute/labels_int.h"

#include <ctype.h>
#include <string.h>

#define ARROW "=>"

/*
 * What tools number. `layer0`, `block.3`, `stage1` are names, not serial numbers: a bare number
 * behind a word stays unless the word counts rounds.
 */
static const char *const known[] = {
	/* emit_nvtx of PyTorch: whether an operator has a number is no property of it, so the
	   whole suffix goes. */
	", (?:seq|op_id) = -?\\d+ => ",
	", (?:sizes|input_op_ids) = \\[.*?\\](?=, (?:seq|op_id|sizes|input_op_ids) = |$) => ",
	"^ProfilerStep#\\d+$ => ProfilerStep#*",
	"^((?i)step|iter|iteration|epoch|batch)([ _#])\\d+$ => $1$2*",
	/* vLLM: requests and tokens of each kind. */
	"^execute_context_\\d+\\([^()]*\\)_generation_\\d+\\([^()]*\\) => "
	"execute_context_*(*)_generation_*(*)",
	"^execute_\\d+_context_\\d+\\([^()]*\\)_generation_\\d+\\([^()]*\\) => "
	"execute_*_context_*(*)_generation_*(*)",
	"^execute_new_\\d+_cached_\\d+ => execute_new_*_cached_*",
	"\\b0x[0-9a-fA-F]{4,}\\b => 0x*",
	"(?i)\\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\\b => *",
	"^## Call CompiledFxGraph \\S+ ##$ => ## Call CompiledFxGraph * ##",
};

static int refuse_rule(struct sonde_err *err, struct sonde_str rule, const char *why)
{
	return sonde_err_set(err, SONDE_ERR_USAGE, "report.labels: rule '%.*s': %s",
		SONDE_STR_ARG(rule), why);
}

/* `REGEX => REPLACEMENT`; the last arrow counts, and blanks beside it do not. */
static int add_rule(
	struct sonde_labels *l, struct sonde_str rule, bool is_known, struct sonde_err *err)
{
	struct sonde_label_pattern *r = sonde_vec_push(&l->rules);
	struct sonde_str regex = rule;
	struct sonde_err why = {0};
	size_t at = rule.n;
	int rc;

	if (!r)
		return sonde_err_nomem(err);
	while (at > 1 && memcmp(rule.p + at - 2, ARROW, 2) != 0)
		at--;
	if (at <= 1)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report.labels: '%.*s' is none of known, raw, auto, nor a rule "
			"'REGEX => REPLACEMENT'",
			SONDE_STR_ARG(rule));
	*r = (struct sonde_label_pattern){.text = rule, .is_known = is_known};
	regex = (struct sonde_str){rule.p, at - 2};
	r->replacement = sonde_str_trim((struct sonde_str){rule.p + at, rule.n - at});
	if (regex.n && regex.p[regex.n - 1] == ' ')
		regex.n--;
	if (!regex.n)
		return refuse_rule(err, rule, "there is nothing before '=>'");
	rc = sonde_pattern__regex(&r->pattern, &l->pool, regex, &why);
	if (rc == SONDE_ERR_USAGE)
		refuse_rule(err, rule, why.msg);
	else if (rc)
		sonde_err_nomem(err);
	return rc;
}

static int add_known(struct sonde_labels *l, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	if (l->has_known)
		return 0;
	l->has_known = true;
	for (i = 0; i < sizeof(known) / sizeof(*known) && rc == 0; i++)
		rc = add_rule(l, sonde_str_from(known[i]), true, err);
	return rc;
}

int sonde_labels__init(struct sonde_labels *l, struct sonde_words words, struct sonde_err *err)
{
	int rc = words.nr ? 0 : add_known(l, err);
	size_t i;

	for (i = 0; i < words.nr && rc == 0; i++) {
		struct sonde_str word = sonde_str_trim(sonde_str_from(words.at[i]));

		if (sonde_str_is(word, "known"))
			rc = add_known(l, err);
		else if (sonde_str_is(word, "auto")) {
			l->is_auto = true;
			rc = add_known(l, err);
		} else if (!sonde_str_is(word, "raw"))
			rc = add_rule(l, word, false, err);
	}
	return rc;
}

void sonde_labels__release(struct sonde_labels *l)
{
	sonde_vec_release(&l->rules);
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

int sonde_labels__apply(struct sonde_labels *l, struct sonde_str label, struct sonde_buf *out,
	bool *is_changed, struct sonde_err *err)
{
	struct sonde_buf before = {0};
	bool is_serial = has_digit(label);
	size_t i;
	int rc = 0;

	*is_changed = false;
	for (i = 0; i < l->rules.nr && rc >= 0; i++) {
		struct sonde_label_pattern *r = &l->rules.at[i];
		struct sonde_buf now = {0};

		r->is_used = false;
		if (r->is_known && !is_serial)
			continue;
		rc = sonde_pattern__replace(&r->pattern,
			*is_changed ? sonde_buf_view(&before) : label, r->replacement, &now);
		if (rc > 0) {
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
	if (rc == SONDE_ERR_NOMEM || out->failed)
		return sonde_err_nomem(err);
	return rc < 0 ? rc : 0;
}

void sonde_labels__count(struct sonde_labels *l)
{
	size_t i;

	for (i = 0; i < l->rules.nr; i++)
		l->rules.at[i].changed += l->rules.at[i].is_used;
}

bool sonde_label__shape(struct sonde_buf *out, struct sonde_str label)
{
	bool is_serial = false;
	size_t i;

	sonde_buf_clear(out);
	for (i = 0; i < label.n; i++) {
		bool is_digit = isdigit((unsigned char)label.p[i]);

		if (!is_digit)
			sonde_buf_putc(out, label.p[i]);
		else if (!i || !isdigit((unsigned char)label.p[i - 1]))
			sonde_buf_putc(out, '*');
		is_serial |= is_digit;
	}
	return is_serial;
}
