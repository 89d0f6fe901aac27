"""Prints a synthetic capture in the format of `ncu --csv --page raw`.

    make_csv.py hostile             labels that try to break out of the page
    make_csv.py big REGIONS KERNELS  REGIONS regions, in a tree with 10 children per region, each with KERNELS kernels
"""
import csv
import sys

from make_names import HOSTILE

HEAD = ["ID", "Process ID", "Process Name", "Host Name",
        "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
        "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
        "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
METRICS = {"gpu__time_duration.sum": "ns", "sm__throughput.avg.pct_of_peak_sustained_elapsed": "%",
           "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "%",
           "sm__warps_active.avg.pct_of_peak_sustained_active": "%", "sm__cycles_elapsed.avg": "cycle",
           "sm__cycles_active.avg": "cycle", "dram__bytes_read.sum": "byte", "dram__bytes_write.sum": "byte",
           "sm__sass_thread_inst_executed_op_ffma_pred_on.sum": "inst", "launch__registers_per_thread": "register/thread"}



def rows_of(paths):
    """(labels from the outermost on, kernel) → rows."""
    out = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL)
    out.writerow(HEAD + list(METRICS))
    out.writerow([""] * len(HEAD) + list(METRICS.values()))
    for i, (path, kernel) in enumerate(paths):
        frames = " ".join(f' "<default domain>:{label}:none:none:none:none:none:none"' for label in path)
        t = 1000 + i * 7919 % 90000
        values = [t, i * 31 % 97 + 0.25, i * 17 % 89 + 0.5, i * 13 % 100, t * 1.7, t * 1.6, t * 100, t * 50, t * 800, 32 + i % 5 * 8]
        out.writerow([i, 100, "made", "localhost", f"100 {frames} ", "", kernel, 1, 7, "(256, 1, 1)", "(1024, 1, 1)", 0, "9.0", *values])


def big(nr_regions, nr_kernels):
    paths = [()]
    for i in range(nr_regions):
        paths.append(paths[i // 10] + (f"region {i}",))
    for path in paths[1:]:
        for k in range(nr_kernels):
            yield path, f"void kernel_{k}<{len(path[-1])}, {k}>(float const*, float*, int)"


if sys.argv[1] == "hostile":
    rows_of(((label,), f"kernel_of({label[:40]})") for label in HOSTILE)
else:
    rows_of(big(int(sys.argv[2]), int(sys.argv[3])))
