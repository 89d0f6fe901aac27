#include "catalogue/causes.h"

#include <string.h>

#define SHOW_IDLE    "sonde report RUN --idle"
#define SHOW_KERNELS "sonde report RUN --max-kernels 5"
#define SHOW_TIME    "sonde view RUN"
#define SHOW_RANKS   "sonde report RUN --ranks"
#define COUNT	     "sonde run --ncu -- COMMAND"

#define LOAD "load data ahead of time: DataLoader(num_workers=…, prefetch_factor=…, persistent_workers=True)"

const struct sonde_cause_row sonde_causes[SONDE_NR_CAUSES] = {
	[SONDE_CAUSE_LAUNCH] = {"launch", "the host did not launch fast enough (launch-bound)",
		"launch fewer and larger kernels, or replay them as a CUDA graph",
		.torch = "capture it with torch.cuda.graph or torch.compile(mode=\"reduce-overhead\"); give optimizers fused=True",
		.next = SHOW_IDLE, .change = "graph:%r"},
	[SONDE_CAUSE_SYNC] = {"sync", "the host waited in a synchronisation",
		"leave out the synchronisation, or do it later (cudaDeviceSynchronize, cudaStreamSynchronize)",
		.torch = "remove .item(), .cpu(), print(tensor) and torch.cuda.synchronize(), or do them only every few steps",
		.next = SHOW_IDLE, .change = "nosync:%r"},
	[SONDE_CAUSE_COPY_CALL] = {"copy", "the host was in a copy call",
		"copy from pinned memory, asynchronously and ahead of time",
		.torch = "use pin_memory=True in the DataLoader and .to(device, non_blocking=True)",
		.next = SHOW_IDLE, .change = "async-copy:%r"},
	[SONDE_CAUSE_ALLOC] = {"alloc", "the host was allocating or freeing GPU memory",
		"allocate once and reuse the memory, or use a memory pool (cudaMallocAsync)",
		.torch = "keep tensors and reuse them; remove torch.cuda.empty_cache(); PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
		.next = "sonde report RUN --memory", .change = "noalloc:%r"},
	[SONDE_CAUSE_HOST] = {"host", "the host was outside CUDA",
		"run the host's work ahead of time, in another thread or process, while the GPU has work",
		.torch = "run less Python between launches (torch.compile, CUDA graphs), or run this work ahead of time in another thread",
		.next = SHOW_IDLE, .change = "ahead:%r", .loading = LOAD},
	[SONDE_CAUSE_QUEUED] = {"queued", "the next work was launched but had to wait",
		"look for events and other dependencies between streams",
		.next = SHOW_TIME},
	[SONDE_CAUSE_OTHER_REGIONS] = {"other_stream", "the GPU was busy with work of other regions", "",
		.next = SHOW_TIME},
	[SONDE_CAUSE_NOT_TOLD] = {"unknown", "for a reason that the capture does not show",
		"look at the timeline before and after it",
		.next = SHOW_TIME},
	[SONDE_CAUSE_STREAM_GAPS] = {"stream_gaps", "each piece of work of its stream, although launched, started some time after the one before",
		"the GPU takes this time to start work: launch fewer and larger kernels, or replay them as a CUDA graph",
		.torch = "the GPU takes this time to start work: fuse kernels (torch.compile), or replay them with torch.cuda.graph",
		.next = SHOW_TIME, .change = "graph:%r", .is_change_similar = true},
	[SONDE_CAUSE_HEAD] = {"head", "the host worked before it launched anything",
		"run this work ahead of time, in another thread or process, while the GPU works on the step before",
		.torch = "run less Python before the first launch (torch.compile, CUDA graphs), and prepare inputs ahead of time",
		.next = SHOW_TIME, .change = "ahead:%r", .loading = LOAD},
	[SONDE_CAUSE_BETWEEN] = {"between", "the host worked between the entries",
		"run this work ahead of time, in another thread or process, while the GPU works on the step before",
		.torch = "run this work ahead of time, while the GPU works; if it loads data: DataLoader(num_workers=…, prefetch_factor=…)",
		.next = SHOW_TIME, .change = "ahead:%r", .loading = LOAD},
	[SONDE_CAUSE_TAIL] = {"tail", "the host went on working after the last launch had ended",
		"run this work later, after the next step was launched, or in another thread",
		.torch = "run this work later or in another thread; log, write and evaluate only every few steps",
		.next = SHOW_IDLE, .change = "ahead:%r"},
	[SONDE_CAUSE_PAGEABLE] = {"pageable_copies", "copies from or to pageable memory",
		"pin the host's memory (cudaHostAlloc, cudaHostRegister) and copy on a stream of its own, ahead of time",
		.torch = "use pin_memory=True in the DataLoader and .to(device, non_blocking=True)",
		.next = SHOW_KERNELS, .change = "async-copy:%r"},
	[SONDE_CAUSE_SMALL_COPIES] = {"small_copies", "many small copies", "gather them in one buffer and copy once",
		.torch = "stack or cat on the host and call .to(device) once",
		.next = SHOW_KERNELS, .change = "gather:%r"},
	[SONDE_CAUSE_COPIES] = {"copies", "copies, while nothing else ran",
		"copy less, or on a stream of its own while kernels run",
		.torch = "copy the next batch on a side stream (non_blocking=True) while this one is computed",
		.next = SHOW_KERNELS, .change = "async-copy:%r", .is_change_similar = true},
	[SONDE_CAUSE_DEVICE_COPIES] = {"device_copies", "copies within the GPU's memory",
		"leave them out: write results where they are needed, and swap pointers instead of data",
		.torch = "leave them out (.contiguous(), .clone(), torch.cat, reshape of a transposed tensor), or fuse them: torch.compile",
		.next = SHOW_KERNELS},
	[SONDE_CAUSE_TINY_KERNELS] = {"tiny_kernels",
		"kernels so short that starting and ending them takes most of the time", "fuse them into few larger ones",
		.torch = "fuse them: torch.compile, fused optimizers (fused=True), foreach ops",
		.next = SHOW_KERNELS, .change = "fuse:%r"},
	[SONDE_CAUSE_EXPOSED_COMM] = {"exposed_comm", "communication that no other kernel hides",
		"start it earlier, on a stream of its own, beside the computation; send less (a lower precision)",
		.torch = "overlap it: DistributedDataParallel(bucket_cap_mb=…, gradient_as_bucket_view=True), FSDP with prefetch",
		.next = SHOW_RANKS, .change = "overlap-comm:%r"},
	[SONDE_CAUSE_LATE_RANK] = {"late_rank", "ranks that waited in collectives for the last rank",
		"give the late rank less work, or find what delays it",
		.next = SHOW_RANKS, .change = "level-ranks"},
	[SONDE_CAUSE_IMBALANCE] = {"imbalance", "ranks that have less to do than the slowest one", "divide the work evenly",
		.next = SHOW_RANKS, .change = "level-ranks", .is_change_similar = true},
	[SONDE_CAUSE_DRAM] = {"dram", "DRAM bandwidth",
		"read and write less: fuse it with its neighbours, or use smaller types",
		.torch = "fuse it with its neighbours (torch.compile), or use smaller types (bfloat16, fp8)",
		.next = SHOW_KERNELS, .change = "fuse:%r", .limiter = "dram", .is_change_similar = true},
	[SONDE_CAUSE_L2] = {"l2", "L2 bandwidth",
		"choose tiles that fit: reuse values in registers and shared memory, and use coalesced accesses",
		.next = COUNT, .change = "kernel:%k=roofline", .limiter = "l2"},
	[SONDE_CAUSE_L1] = {"l1", "L1 bandwidth",
		"tile it and reuse values in registers; read with wide, coalesced accesses",
		.next = COUNT, .change = "kernel:%k=roofline", .limiter = "l1"},
	[SONDE_CAUSE_SHARED] = {"shared", "shared memory", "avoid bank conflicts, and keep more values in registers",
		.next = COUNT, .change = "kernel:%k=roofline", .limiter = "shared"},
	[SONDE_CAUSE_MEMORY] = {"memory", "memory (it is not known which level)",
		"capture counters of DRAM, L2 and L1 to learn what to change",
		.next = COUNT, .change = "kernel:%k=roofline", .limiter = "memory"},
	[SONDE_CAUSE_TENSOR] = {"tensor", "the tensor cores", "use a lower precision, sparsity or less work",
		.torch = "use a lower precision (bfloat16, fp8) or less work",
		.next = SHOW_KERNELS, .change = "kernel:%k=0.5x", .limiter = "tensor"},
	[SONDE_CAUSE_FMA] = {"fma", "the FMA pipe", "use the tensor cores, a lower precision or less work",
		.torch = "use the tensor cores: torch.set_float32_matmul_precision(\"high\"), bfloat16",
		.next = SHOW_KERNELS, .change = "kernel:%k=0.5x", .limiter = "fma"},
	[SONDE_CAUSE_ALU] = {"alu", "the ALU pipe", "compute fewer addresses and conversions, or do less work",
		.next = COUNT, .change = "kernel:%k=0.5x", .limiter = "alu"},
	[SONDE_CAUSE_FP64] = {"fp64", "the FP64 pipe", "use single precision where that is enough",
		.next = SHOW_KERNELS, .change = "kernel:%k=0.5x", .limiter = "fp64"},
	[SONDE_CAUSE_ISSUE] = {"issue", "instruction issue",
		"execute fewer instructions: wider loads, fewer conversions, less work",
		.next = COUNT, .change = "kernel:%k=0.5x", .limiter = "issue"},
	[SONDE_CAUSE_COMPUTE] = {"compute", "computation (it is not known which pipe)",
		"capture counters of the pipes to learn what to change; a lower precision or less work always helps",
		.next = COUNT, .change = "kernel:%k=0.5x", .limiter = "compute"},
	[SONDE_CAUSE_OCCUPANCY] = {"occupancy", "latency, because too few warps are resident",
		"use fewer registers or less shared memory in a thread block, or smaller blocks",
		.next = COUNT, .change = "kernel:%k=roofline", .limiter = "latency"},
	[SONDE_CAUSE_WAVES] = {"waves", "latency, because its blocks do not fill the GPU",
		"give each launch more blocks, or run several at once",
		.torch = "use larger batches, or several streams",
		.next = COUNT, .change = "kernel:%k=roofline", .limiter = "latency"},
	[SONDE_CAUSE_LATENCY] = {"latency", "latency: neither computation nor memory is busy",
		"give each launch more work, or run several at once",
		.next = COUNT, .change = "kernel:%k=roofline", .limiter = "latency"},
	[SONDE_CAUSE_UNLIMITED] = {"not_known", "something that the capture does not show",
		"capture counters to learn what limits it; `sonde doctor` says why a run has none",
		.next = COUNT},
	[SONDE_CAUSE_OUTSIDE] = {"outside", "most of the GPU's work was launched outside any range",
		"mark the program's steps with NVTX ranges",
		.torch = "run it with `sonde run --modules`, or mark the steps: torch.cuda.nvtx.range(\"step\"), torch.profiler.record_function(\"step\")",
		.next = "sonde regions -- COMMAND"},
};

enum sonde_cause sonde_cause_of_limiter(const char *limiter)
{
	size_t i;

	for (i = 0; limiter && i < SONDE_NR_CAUSES; i++)
		if (sonde_causes[i].limiter && strcmp(sonde_causes[i].name, limiter) == 0)
			return (enum sonde_cause)i;
	return SONDE_CAUSE_UNLIMITED;
}

void sonde_cause_fill(struct sonde_buf *out, const char *words, struct sonde_str region, struct sonde_str kernel)
{
	for (; *words; words++) {
		if (words[0] != '%' || (words[1] != 'r' && words[1] != 'k')) {
			sonde_buf_putc(out, *words);
			continue;
		}
		sonde_buf_str(out, *++words == 'r' ? region : kernel);
	}
}
