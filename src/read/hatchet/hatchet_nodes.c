/* The text of a Hatchet literal → its nodes, parents first. */
#include "read/hatchet/hatchet_int.h"

#define MAX_DEPTH 512

static int fail(struct hatchet *h, const char *what)
{
	return sonde_err_at(h->err, SONDE_ERR_FORMAT, h->src->path,
		(uint64_t)(h->scan.p - h->src->file.data.p), "%s", what);
}

static int check(struct hatchet *h, enum sonde_scan_rc rc)
{
	if (rc == SONDE_SCAN_OK)
		return 0;
	if (rc == SONDE_SCAN_BAD)
		return fail(h, "not JSON: write the profile again");
	return sonde_source__truncated(h->src, "a node", (uint64_t)(h->begin - h->src->file.data.p),
		h->src->file.data.n, h->err);
}

static uint32_t intern(struct hatchet *h, const struct sonde_scan_text *text)
{
	if (!text->has_escapes)
		return sonde_records__string(h->r, text->raw); /* points into the file */
	sonde_buf_clear(&h->scratch);
	sonde_scan_unescape(&h->scratch, text->raw);
	return h->scratch.failed ? SONDE_NONE
				 : sonde_records__copied(h->r, sonde_buf_view(&h->scratch));
}

static int read_frame(struct hatchet *h, struct hatchet_node *node)
{
	struct sonde_scan_text key, text;
	bool is_first, is_end;
	int rc = 0;

	if (*h->scan.p != '{')
		return check(h, sonde_scan_value(&h->scan));
	for (h->scan.p++, is_first = true; rc == 0; is_first = false) {
		rc = check(h, sonde_scan_member(&h->scan, is_first, &key, &is_end));
		if (rc || is_end)
			break;
		if (*h->scan.p != '"') {
			rc = check(h, sonde_scan_value(&h->scan));
			continue;
		}
		rc = check(h, sonde_scan_string(&h->scan, &text, SONDE_SCAN_VALUE));
		if (rc == 0 && sonde_str_is(key.raw, "name"))
			node->name = intern(h, &text);
		if (rc == 0 && sonde_str_is(key.raw, "type"))
			node->is_region = sonde_str_is(text.raw, "region");
	}
	return rc;
}

static int read_member(struct hatchet *h, uint32_t number, struct sonde_str key, unsigned depth)
{
	const char *begin = h->scan.p;
	int rc;

	if (sonde_str_is(key, "frame"))
		return read_frame(h, &h->nodes.at[number]);
	if (sonde_str_is(key, "children") && *begin == '[') {
		size_t before = h->nodes.nr;

		h->scan.p++;
		rc = sonde_hatchet__read_nodes(h, number, depth + 1);
		h->nodes.at[number].has_children = h->nodes.nr > before;
		return rc;
	}
	rc = check(h, sonde_scan_value(&h->scan));
	if (rc == 0 && sonde_str_is(key, "metrics") && *begin == '{')
		h->nodes.at[number].metrics =
			(struct sonde_str){begin, (size_t)(h->scan.p - begin)};
	return rc;
}

/* One object: a node, or at the top the list of devices. */
static int read_node(struct hatchet *h, uint32_t parent, unsigned depth)
{
	struct hatchet_node *node = sonde_vec_push(&h->nodes);
	uint32_t number = (uint32_t)(h->nodes.nr - 1);
	const char *begin = h->begin = h->scan.p;
	struct sonde_scan_text key;
	bool is_first, is_end;
	int rc = 0;

	if (!node || h->nodes.nr >= SONDE_NONE)
		return sonde_err_nomem(h->err);
	*node = (struct hatchet_node){.parent = parent, .name = SONDE_NONE, .range = SONDE_NONE};
	for (h->scan.p++, is_first = true; rc == 0; is_first = false) {
		rc = check(h, sonde_scan_member(&h->scan, is_first, &key, &is_end));
		if (rc || is_end)
			break;
		rc = read_member(h, number, key.raw, depth);
	}
	if (rc == 0 && h->nodes.at[number].name == SONDE_NONE && number + 1 == h->nodes.nr) {
		h->nodes.nr--; /* no frame: facts about devices */
		h->devices = (struct sonde_str){begin, (size_t)(h->scan.p - begin)};
	}
	return rc;
}

int sonde_hatchet__read_nodes(struct hatchet *h, uint32_t parent, unsigned depth)
{
	bool is_first, is_end;
	int rc = 0;

	if (depth > MAX_DEPTH)
		return fail(h, "nodes are nested deeper than 512, which is as far as sonde reads");
	for (is_first = true; rc == 0; is_first = false) {
		rc = check(h, sonde_scan_element(&h->scan, is_first, &is_end));
		if (rc || is_end)
			break;
		rc = *h->scan.p == '{' ? read_node(h, parent, depth)
				       : check(h, sonde_scan_value(&h->scan));
	}
	return rc;
}
