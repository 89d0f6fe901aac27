#include "sample/roles.h"

#include "catalogue/metrics.h"

const struct sonde_role sonde_roles[] = {
	{"sm.elapsed_cycles", {SONDE_COUNTER_SM_CYCLES}},
	{"sm.active_cycles", {SONDE_COUNTER_SM_ACTIVE}},
	{"sm.instructions", {"sm__inst_executed_realtime", SONDE_COUNTER_INSTRUCTIONS}},
	{"sm.warp_cycles",
		{"sm__warps_active_realtime", SONDE_COUNTER_WARPS,
			"tpc__warps_active_shader_cs_realtime"}},
	{"tensor.cycles",
		{"sm__pipe_tensor_cycles_active_realtime", SONDE_COUNTER_TENSOR}},
	{"fma.instructions",
		{"sm__inst_executed_pipe_fma_realtime", SONDE_COUNTER_FMA,
			"smsp__inst_executed_pipe_fma"}},
	{"alu.instructions", {"sm__inst_executed_pipe_alu_realtime", SONDE_COUNTER_ALU}},
	{"fp64.cycles", {"sm__pipe_fp64_cycles_active_realtime", SONDE_COUNTER_FP64}},
	{"l1.wavefronts", {SONDE_COUNTER_L1}},
	{"l2.sectors", {SONDE_COUNTER_L2}},
	{"dram.read_bytes", {SONDE_COUNTER_DRAM_READ, "fbpa__dram_read_bytes"}},
	{"dram.write_bytes", {SONDE_COUNTER_DRAM_WRITTEN, "fbpa__dram_write_bytes"}},
	{"l2.elapsed_cycles", {"lts__cycles_elapsed"}},
	{"pcie.read_bytes", {SONDE_COUNTER_PCIE_READ}},
	{"pcie.write_bytes", {SONDE_COUNTER_PCIE_WRITTEN}},
	{"nvlink.receive_bytes", {"nvlrx__bytes_data_user", SONDE_COUNTER_NVLINK_RECEIVED}},
	{"nvlink.transmit_bytes", {"nvltx__bytes_data_user", SONDE_COUNTER_NVLINK_SENT}},
	{"c2c.receive_bytes", {"ctc__rx_bytes_data_user"}},
	{"c2c.transmit_bytes", {"ctc__tx_bytes_data_user"}},
	{"gr.active_cycles", {"gr__cycles_active"}},
	{"sm.thread_instructions",
		{"sm__thread_inst_executed_pred_on_realtime",
			"smsp__thread_inst_executed_pred_on"}},
	{"tensor.hmma_cycles",
		{"sm__pipe_tensor_op_hmma_cycles_active_realtime",
			"sm__pipe_tensor_subpipe_hmma_cycles_active_realtime"}},
	{"tensor.imma_cycles",
		{"sm__pipe_tensor_op_imma_cycles_active_realtime",
			"sm__pipe_tensor_subpipe_imma_cycles_active_realtime"}},
	{"fma.cycles", {"sm__pipe_fma_cycles_active_realtime", "sm__pipe_fma_cycles_active"}},
	{"xu.instructions", {"sm__inst_executed_pipe_xu_realtime", "sm__inst_executed_pipe_xu"}},
	{"uniform.instructions",
		{"sm__inst_executed_pipe_uniform_realtime", "sm__inst_executed_pipe_uniform"}},
	{"l1.global_wavefronts",
		{"l1tex__data_pipe_lsu_wavefronts_mem_lgds",
			"l1tex__data_pipe_lsu_wavefronts_mem_lg"}},
	{"l1.shared_wavefronts",
		{"l1tex__data_pipe_lsu_wavefronts_mem_shared",
			"l1tex__data_pipe_lsu_wavefronts_mem_shared_realtime"}},
	{"l1.read_sectors",
		{"l1tex__m_xbar2l1tex_read_sectors_realtime", "l1tex__m_xbar2l1tex_read_sectors"}},
	{"l2.sm_sectors", {"lts__t_sectors_srcunit_tex"}},
	{"dram.elapsed_cycles", {SONDE_COUNTER_DRAM_CYCLES}},
	{"cta.launched", {"gr__ctas_launched_realtime", "gr__ctas_launched"}},
	{"warp.launched", {"tpc__warps_launched_shader_cs"}},
	{"register.cycles", {"tpc__sm_rf_registers_allocated_shader_cs_realtime"}},
	{"shared.byte_cycles", {"tpc__l1tex_mem_shared_data_compute_bytes_allocated_realtime"}},
	{0},
};

#define CORE "sm.elapsed_cycles sm.active_cycles sm.instructions sm.warp_cycles "
#define DRAM "dram.read_bytes dram.write_bytes "

/* One core can decode 13 counters at 150 µs a sample, so `basic` has no more than 13. */
static const struct {
	const char *name, *roles; /* roles NULL = all roles */
} sets[] = {
	{"basic", CORE DRAM "tensor.cycles fma.instructions alu.instructions fp64.cycles "
			    "l1.wavefronts l2.sectors l2.elapsed_cycles "},
	{"tensor", CORE DRAM "sm.thread_instructions tensor.cycles tensor.hmma_cycles "
			     "tensor.imma_cycles fma.instructions l2.sectors "},
	{"memory", "sm.elapsed_cycles sm.active_cycles " DRAM
		   "l1.wavefronts l1.global_wavefronts l1.shared_wavefronts l1.read_sectors "
		   "l2.sectors l2.elapsed_cycles l2.sm_sectors pcie.read_bytes pcie.write_bytes "},
	{"nvlink", "sm.elapsed_cycles sm.active_cycles " DRAM
		   "nvlink.receive_bytes nvlink.transmit_bytes c2c.receive_bytes "
		   "c2c.transmit_bytes pcie.read_bytes pcie.write_bytes "},
	{"full", NULL},
};

const struct sonde_role *sonde_role_find(struct sonde_str name)
{
	const struct sonde_role *r;

	for (r = sonde_roles; r->name; r++)
		if (sonde_str_is(name, r->name))
			return r;
	return NULL;
}

static int find_set(struct sonde_str set)
{
	int i;

	for (i = 0; i < (int)(sizeof(sets) / sizeof(*sets)); i++)
		if (sonde_str_is(set, sets[i].name))
			return i;
	return -1;
}

bool sonde_set_is_known(struct sonde_str set)
{
	return find_set(set) >= 0;
}

bool sonde_set_has(struct sonde_str set, const char *role)
{
	int i = find_set(set);
	struct sonde_str rest;

	if (i < 0 || !sets[i].roles)
		return i >= 0;
	rest = sonde_str_from(sets[i].roles);
	while (rest.n)
		if (sonde_str_is(sonde_str_cut(rest, ' ', &rest), role))
			return true;
	return false;
}

const char *sonde_set_names(void)
{
	return "basic|tensor|memory|nvlink|full";
}
