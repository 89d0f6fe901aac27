/*
 * Fuzzes partial reports. Few inputs would have right checksums. So if the first byte is not 'F', the rest
 * of the input is sections (kind, three bytes of length, payload), which get right checksums. If cells can be
 * read, a report is made of them: every number in them must be a valid index.
 */
#include "export/format.h"
#include "cellfile/cellfile.h"
#include "merge/merging.h"
#include "tree/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frame(struct sonde_buf *file, const uint8_t *data, size_t size)
{
	struct sonde_cellfile_head head = {
		.version = SONDE_CELLFILE_VERSION, .rules = SONDE_RULES_VERSION};
	struct sonde_cellfile_section s = {0};
	size_t i;

	memcpy(head.magic, SONDE_CELLFILE_MAGIC, sizeof(head.magic));
	sonde_buf_add(file, &head, sizeof(head));
	for (i = 0; i + 4 <= size; i += 4 + s.nr_bytes) {
		s.kind = data[i];
		s.nr_bytes = (size_t)data[i + 1] | (size_t)data[i + 2] << 8 |
			     (size_t)data[i + 3] << 16;
		if (s.nr_bytes > size - i - 4)
			s.nr_bytes = size - i - 4;
		s.check = sonde_cellfile_check(&s, data + i + 4);
		sonde_buf_add(file, &s, sizeof(s));
		sonde_buf_add(file, data + i + 4, s.nr_bytes);
	}
}

static void report(struct sonde_parts *parts)
{
	const struct sonde_choice choice = {0};
	const struct sonde_export_options options = {0};
	struct sonde_cells *c = NULL;
	struct sonde_tree *t = NULL;
	struct sonde_sink to;

	sonde_sink_init_string(&to);
	if (sonde_parts_unite(&c, parts, NULL) == 0 &&
		sonde_tree_build(&t, c, &choice, NULL) == 0)
		sonde_export_json(t, &options, &to, NULL);
	sonde_sink_abort(&to);
	sonde_tree_free(t);
	sonde_cells_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_parts parts = {0};
	struct sonde_buf file = {0};

	if (size && data[0] == 'F')
		sonde_buf_add(&file, data + 1, size - 1);
	else if (size)
		frame(&file, data + 1, size - 1);
	if (sonde_cellfile_read(&parts, sonde_buf_view(&file), "fuzz", NULL) == 0)
		report(&parts);
	sonde_parts_release(&parts);
	sonde_buf_release(&file);
	return 0;
}
