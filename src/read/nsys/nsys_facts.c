/*
 * Facts of an export of Nsight Systems: devices, processes, ranks of processes, the host.
 */
#include "catalogue/attributes.h"
#include "format/launcher.h"
#include "read/nsys/nsys_int.h"

enum { ID, CUDA_ID, PID, NAME, MAJOR, MINOR, UUID, SMS, CLOCK, BANDWIDTH }; /* columns of devices */

/* The UUID as drivers write it. Without one, a name that is unique in this export, so that its samples find it. */
static struct sonde_str take_uuid(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_str uuid = sonde_records_str(n->r, sonde_nsys__intern(n, q, UUID));

	if (!uuid.n)
		return sonde_arena_printf(&n->r->arena, "GPU %u of input %u",
			(unsigned)sqlite3_column_int(q, ID), n->src->input);
	if (sonde_str_starts(uuid, "GPU-"))
		return uuid;
	return sonde_arena_printf(&n->r->arena, "GPU-%.*s", SONDE_STR_ARG(uuid));
}

static const struct sonde_attribute *take_attributes(
	struct nsys *n, const struct nsys_gpu *gpu, size_t *nr)
{
	const struct sonde_attribute all[] = {
		{.name = SONDE_STR(SONDE_ATTR_SMS), .value = gpu->nr_sms},
		{.name = SONDE_STR(SONDE_ATTR_CLOCK), .value = gpu->clock_hz / 1e3},
		{.name = SONDE_STR(SONDE_ATTR_BANDWIDTH), .value = gpu->bytes_per_s},
	};
	struct sonde_attribute *list =
		sonde_arena_calloc(&n->r->arena, sizeof(all) / sizeof(*all), sizeof(*list));
	size_t i;

	for (i = 0, *nr = 0; list && i < sizeof(all) / sizeof(*all); i++)
		if (all[i].value > 0)
			list[(*nr)++] = all[i];
	return list;
}

/* Adds a device, under the number that one process has for it, or every process. */
static int take_device(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_device d = {.id = (uint32_t)sqlite3_column_int64(q, CUDA_ID),
		.cc_major = (unsigned)sqlite3_column_int(q, MAJOR),
		.cc_minor = (unsigned)sqlite3_column_int(q, MINOR)};
	bool is_of_all = sqlite3_column_type(q, PID) == SQLITE_NULL;
	struct nsys_gpu *gpu = sonde_push(&n->src->work, &n->gpus);
	size_t i, end = n->r->processes.nr;

	*gpu = (struct nsys_gpu){.id = (uint32_t)sqlite3_column_int64(q, ID),
		.uuid = take_uuid(n, q),
		.nr_sms = sqlite3_column_double(q, SMS),
		.clock_hz = sqlite3_column_double(q, CLOCK),
		.bytes_per_s = sqlite3_column_double(q, BANDWIDTH)};
	d.name = sonde_records_str(n->r, sonde_nsys__intern(n, q, NAME));
	d.uuid = gpu->uuid;
	d.attributes = take_attributes(n, gpu, &d.nr_attributes);
	i = is_of_all ? 0 : sonde_records__find_process(n->r, n->src->input, (uint64_t)sqlite3_column_int64(q, PID));
	end = is_of_all || i == SONDE_NONE ? end : i + 1;
	for (; i < end; i++) {
		if (n->r->processes.at[i].input != n->src->input)
			continue;
		d.process = (uint32_t)i;
		sonde_records__device(n->r, &d);
	}
	return 0;
}

/* The process of this export with a serialised id; NULL = it did nothing that is read. */
static struct sonde_process *process_of(struct nsys *n, sqlite3_int64 global)
{
	uint32_t number = sonde_records__find_process(n->r, n->src->input, sonde_nsys__pid(global));

	return number == SONDE_NONE ? NULL : &n->r->processes.at[number];
}

static int take_process_name(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_process *p = process_of(n, sqlite3_column_int64(q, 0));

	if (p)
		p->name = sonde_records_str(n->r, sonde_nsys__intern(n, q, 1));
	return 0;
}

/* For a program with MPI, a table has the rank of each process (`nsys --trace=mpi`). */
static int take_rank(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_process *p = process_of(n, sqlite3_column_int64(q, 0));
	sqlite3_int64 rank = sqlite3_column_int64(q, 1);

	if (!p || rank < 0 || rank >= SONDE_NONE)
		return 0;
	p->has_rank = true;
	p->rank = (uint32_t)rank;
	return 0;
}

static int take_version(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_input *in = &n->r->inputs.at[n->src->input];

	in->tool = sonde_arena_printf(&n->r->arena, "nsys %s",
		sqlite3_column_text(q, 0) ? (const char *)sqlite3_column_text(q, 0) : "");
	return 0;
}

/* The value of a variable in `A=1;B=2`. */
static struct sonde_str variable_in(struct sonde_str list, const char *name)
{
	struct sonde_str one, value;

	while (list.n) {
		one = sonde_str_cut(list, ';', &list);
		one = sonde_str_cut(one, '=', &value);
		if (sonde_str_is(one, name))
			return value;
	}
	return (struct sonde_str){NULL, 0};
}

/* The only process of this export that used the GPU; NULL = none or several did. */
static struct sonde_process *only_process(struct nsys *n)
{
	uint32_t only = SONDE_NONE;
	size_t i;

	for (i = 0; i < n->r->records.nr; i++) {
		uint32_t process = sonde_record_caller(n->r, &n->r->records.at[i])->process;

		if (n->r->processes.at[process].input != n->src->input || process == only)
			continue;
		if (only != SONDE_NONE)
			return NULL;
		only = process;
	}
	return only == SONDE_NONE ? NULL : &n->r->processes.at[only];
}

/* If nsys traced one process, its environment is that of nsys. */
static int take_environment(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_str list = sonde_records_str(n->r, sonde_nsys__intern(n, q, 0));
	struct sonde_process *only = only_process(n);
	size_t i;

	for (i = 0; only && i < SONDE_NR_LAUNCHERS && !only->has_rank; i++)
		sonde_process__set_rank(only, variable_in(list, sonde_launchers[i].rank),
			variable_in(list, sonde_launchers[i].size));
	return 0;
}

static int take_host(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_str host = sonde_records_str(n->r, sonde_nsys__intern(n, q, 0));
	size_t i;

	for (i = 0; i < n->r->processes.nr; i++)
		if (n->r->processes.at[i].input == n->src->input)
			n->r->processes.at[i].host = host;
	return 0;
}

static int read_system(struct nsys *n)
{
	int rc;

	if (!sonde_nsys__has(n, "TARGET_INFO_SYSTEM_ENV", "name value"))
		return 0;
	rc = sonde_nsys__read_rows(n,
		"SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name='Hostname' LIMIT 1", take_host);
	if (rc == 0)
		rc = sonde_nsys__read_rows(n,
			"SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name='DeviceEnvironment' "
			"LIMIT 1",
			take_environment);
	return rc;
}

/* Appends `ALIAS.NAME, ` to a statement, or NULL if the table has no such column. */
static void add_column(struct sonde_buf *sql, struct nsys *n, const char *table, const char *alias,
	const char *name)
{
	if (sonde_nsys__has(n, table, name))
		sonde_buf_printf(sql, "%s.%s, ", alias, name);
	else
		sonde_buf_puts(sql, "NULL, ");
}

static int read_devices(struct nsys *n)
{
	static const char *const facts[] = {
		"name", "computeMajor", "computeMinor", "uuid", "smCount", "clockRate", "memoryBandwidth"};
	bool has_numbers = sonde_nsys__has(n, "TARGET_INFO_CUDA_DEVICE", "cudaId gpuId");
	struct sonde_buf sql = {0};
	size_t i;
	int rc;

	if (!sonde_nsys__has(n, "TARGET_INFO_GPU", "id"))
		return 0;
	sonde_buf_printf(&sql, "SELECT DISTINCT g.id, %s, ", has_numbers ? "c.cudaId" : "g.id");
	add_column(&sql, n, "TARGET_INFO_CUDA_DEVICE", "c", has_numbers ? "pid" : "-");
	for (i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		add_column(&sql, n, "TARGET_INFO_GPU", "g", facts[i]);
	sonde_buf_puts(&sql, has_numbers ? "0 FROM TARGET_INFO_CUDA_DEVICE c JOIN TARGET_INFO_GPU g "
					   "ON g.id=c.gpuId LIMIT 4096"
					 : "0 FROM TARGET_INFO_GPU g LIMIT 4096");
	rc = sql.failed ? sonde_err_nomem(n->err) : sonde_nsys__read_rows(n, sql.p, take_device);
	sonde_buf_release(&sql);
	return rc;
}

int sonde_nsys__read_facts(struct nsys *n)
{
	int rc = read_devices(n);

	if (rc == 0 && sonde_nsys__has(n, "PROCESSES", "globalPid name"))
		rc = sonde_nsys__read_rows(
			n, "SELECT globalPid, name FROM PROCESSES", take_process_name);
	if (rc == 0 && sonde_nsys__has(n, "META_DATA_EXPORT", "name value"))
		rc = sonde_nsys__read_rows(n,
			"SELECT value FROM META_DATA_EXPORT WHERE name LIKE '%PRODUCT_VERSION%' "
			"LIMIT 1",
			take_version);
	if (rc == 0 && sonde_nsys__has(n, "MPI_RANKS", "globalTid rank"))
		rc = sonde_nsys__read_rows(n, "SELECT globalTid, rank FROM MPI_RANKS", take_rank);
	return rc ? rc : read_system(n);
}
