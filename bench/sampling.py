#!/usr/bin/env python3
"""Measures what sampling hardware counters costs a captured program: an eager decode loop in one process, sampled and not.

    bench/sampling.py BUILD [--quads 3000] [--steps 2] [--seconds 50] [--counters basic] [--interval 150us] [--most 1.01]

On a shared machine, one second may be 20 % faster than the next, so two processes cannot be compared. Here
sampling is switched every few milliseconds beside one process, and neighbouring stretches are compared. Three runs:

1. `stopped`, of --quads: the loop runs under `sonde run counters=basic`. In turn, it stops the sampler (SIGSTOP) and lets it continue.
   Four stretches give one figure: not sampled, sampled, sampled, not sampled, and the other way round in the next four, so that drift
   cancels. In every fifth group of four no stretch is sampled: these show the noise. The first step of a stretch does not count, because
   of what the stretch before left in caches. The sampler decodes the samples from its pauses when it continues, so a sampled stretch
   has more of its work than usual; the shares of a core are printed to show that. The GPU itself counts all the time.
2. `toggled`, of --seconds: the loop runs under `sonde run counters=off`, and bench/sampling_toggle starts and
   stops the GPU's sampling: 20 ms on, with decoding, and 60 ms off, without any work. A slot that is on is
   compared with the slots before and behind it, and so is the middle one of three that are off, which shows the noise. The loop is that
   of torch_decode.py, and does not know the slots. Kernels are compared too: the mean duration of those in a slot.
3. `given back`, of --seconds: the same, but the GPU's sampling unit is not even reserved while sampling is off. Reserving it takes a
   third of a second, so there are fewer slots, and neighbouring slots are further apart.

The default of --interval is what `auto` chooses on an H200. With `auto` the sampler would slow down here, as it is stopped half of the time.

Exit status 1: a median of the loop is above --most, or sampled stretches had less of the sampler's work than usual.
"""
import argparse
import bisect
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NOISE = 5  # of so many figures one is of the noise; odd, so that its order turns round as well
EDGE_NS = 2_000_000  # by which the clocks of host and GPU may be apart
INJECTED = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


class Sampler:
    """The samplers of the `sonde run` that started this process."""

    def __init__(self):
        self.pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and self.is_one(p)]
        if not self.pids:
            sys.exit("sampling.py: `sonde run` has no sampler here: `sonde doctor` says why")

    @staticmethod
    def is_one(pid):
        try:
            name, rest = open(f"/proc/{pid}/stat").read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            return False
        return name == "sonde-sampler" and int(rest.split()[1]) == os.getppid()

    def go(self, is_on):
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT if is_on else signal.SIGSTOP)

    def cpu_s(self):
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in self.pids)


def make_model():
    import torch

    sys.path[:0] = [os.path.join(HERE, "..", "workloads"), "workloads"]
    from torch_decode import Model

    torch.manual_seed(0)
    model = Model(argparse.Namespace(width=2048, layers=4, context=512)).half().cuda().eval()
    x = torch.randn(1, 1, 2048, device="cuda", dtype=torch.half)

    def step():
        with torch.inference_mode(), torch.cuda.nvtx.range("step"):
            model(x)

    return step, torch.cuda.synchronize


def model_loop(steps):
    """A function that does so many steps and says how long they took."""
    step, synchronize = make_model()

    def some(nr):
        start = time.perf_counter()
        for _ in range(nr):
            step()
        synchronize()
        return time.perf_counter() - start

    def work():
        some(1)
        return some(steps)

    return work


def measure(quads, work, go):
    """What four stretches say, each as (two sampled ÷ two not); the same of the noise; seconds of both kinds of stretches."""
    found, noise, seconds = [], [], [0.0, 0.0]
    for i in range(quads):
        order = (0, 1, 1, 0) if i % 2 else (1, 0, 0, 1)
        is_noise = i % NOISE == NOISE - 1
        sides = [0.0, 0.0]
        for side in order:
            go(side == 1 and not is_noise)
            took = work()
            sides[side] += took
            seconds[side == 1 and not is_noise] += took
        (noise if is_noise else found).append(sides[1] / sides[0])
    go(True)
    return found, noise, seconds


def read_slots(path):
    """[is on, begin, end, samples] of each slot, and the toggler's share of a core while it was on."""
    slots, share = [], 0.0
    for kind, begin, end, samples in map(str.split, open(path)):
        if kind == "cpu":
            share = float(begin)
        elif kind != "lost":  # what began anew has no neighbour before it
            slots.append((kind == "1", int(begin), int(end), int(samples)))
    return slots, share


def compare_slots(slots, mean):
    """Of each slot that is on, and of each that lies between two others that are off: it ÷ those around it.
    Both, and all that are on ÷ all that are off. `mean` says what is compared, from when to when; None = too little."""
    means = [mean(begin, end) for _, begin, end, _ in slots]
    kinds = [is_on for is_on, *_ in slots]
    found, noise = [], []
    for i in range(1, len(slots) - 1):
        before, own, behind = means[i - 1:i + 2]
        if kinds[i - 1] or kinds[i + 1] or not (before and own and behind):
            continue
        (found if kinds[i] else noise).append(own / math.sqrt(before * behind))
    on, off = ([m for m, k in zip(means, kinds) if m and k == kind] for kind in (True, False))
    return found, noise, statistics.fmean(on) / statistics.fmean(off) if on and off else math.nan


def step_mean(stamps):
    def mean(begin, end):
        first, last = bisect.bisect_left(stamps, begin), bisect.bisect_right(stamps, end) - 1
        return (stamps[last] - stamps[first]) / (last - first) if last > first + 1 else None
    return mean


def kernel_mean(path):
    kernels = sorted((int(w[1]), int(w[2])) for w in (line.split(maxsplit=3) for line in open(path)))
    starts, sums = [k[0] for k in kernels], [0]
    for begin, end in kernels:
        sums.append(sums[-1] + end - begin)

    def mean(begin, end):
        first, last = bisect.bisect_left(starts, begin + EDGE_NS), bisect.bisect_left(starts, end - EDGE_NS)
        return (sums[last] - sums[first]) / (last - first) if last > first else None
    return mean


def describe(ratios):
    """The median and its 95 % interval, by ranks: whatever the noise is like."""
    ratios = sorted(ratios)
    middle, reach = len(ratios) / 2, 0.98 * math.sqrt(len(ratios))
    low, high = ratios[max(0, int(middle - reach))], ratios[min(len(ratios) - 1, math.ceil(middle + reach))]
    q = statistics.quantiles(ratios, n=4)
    return (f"median {statistics.median(ratios):.4f} (95 %: {low:.4f} to {high:.4f}, standard error {(high - low) / 3.92:.4f}), "
            f"quartiles {q[0]:.4f} {q[2]:.4f}, {len(ratios)} of them")


def stamp(a):
    """Steps as long as sampling is toggled; when each began, in ns."""
    step, synchronize = make_model()
    for _ in range(a.warmup):
        step()
    synchronize()
    env = {k: v for k, v in os.environ.items() if k not in INJECTED}
    stamps = []
    with open(a.inner + ".slots", "w") as slots:
        toggler = subprocess.Popen([f"{a.build}/bench/sampling_toggle", "-s", str(a.seconds), "-i", a.interval.removesuffix("us"), *a.toggle,
                                    a.counters], stdout=slots, env=env)
        while toggler.poll() is None:
            for _ in range(50):
                stamps.append(time.time_ns())
                step()
            synchronize()
    if toggler.returncode == 0:
        with open(a.inner, "w") as out:
            out.write("\n".join(map(str, stamps)))
    return toggler.returncode


def stop_and_go(a):
    sampler = Sampler()
    work = model_loop(a.steps)
    for _ in range(a.warmup):
        work()
    cpu, usual = sampler.cpu_s(), sum(work() for _ in range(a.warmup))
    usual_share = (sampler.cpu_s() - cpu) / usual
    cpu = sampler.cpu_s()
    found, noise, (off, on) = measure(a.quads, work, sampler.go)
    share = (sampler.cpu_s() - cpu) / on
    nr_off, nr_on = 2 * len(found) + 4 * len(noise), 2 * len(found)
    with open(a.inner, "w") as out:
        print(f"{a.counters} every {a.interval}: a step takes {1e6 * off / nr_off / a.steps:.0f} us, the sampler {usual_share:.2f} of a "
              f"core as a rule and {share:.2f} in sampled stretches", file=out)
        print(f"sampled / not sampled: {describe(found)}; all of it {on / nr_on / (off / nr_off):.4f}", file=out)
        print(f"noise (both not):      {describe(noise)}", file=out)
        if share < usual_share:
            print("sampled stretches had less of the sampler's work than usual: this shows nothing", file=out)
    return int(statistics.median(found) > a.most or share < usual_share)


def judge_slots(name, figures, most):
    found, noise, everything = figures
    if len(found) < 4 or len(noise) < 4:
        print(f"{name}: too few slots to tell")
        return 0
    print(f"{name}, on / off:     {describe(found)}; all of it {everything:.4f}")
    print(f"{name}, noise (both off): {describe(noise)}")
    return int(statistics.median(found) > most)


def toggled(a, run, name, *options):
    """The runs in which sampling_toggle switches sampling on and off."""
    folder, status = run(name, "counters=off", "--toggle=" + " ".join(options))
    if not os.path.exists(f"{folder}.txt"):
        return status
    slots, share = read_slots(f"{folder}.txt.slots")
    on = [s for s in slots if s[0]]
    print(f"{name}: {len(on)} slots of {statistics.fmean(s[2] - s[1] for s in on) / 1e6 if on else 0:.0f} ms on, "
          f"{sum(s[3] for s in on)} samples, {share:.2f} of a core; {len(slots) - len(on)} off")
    stamps = [int(x) for x in open(f"{folder}.txt").read().split()]
    status = judge_slots(f"{name}: loop", compare_slots(slots, step_mean(stamps)), a.most)
    subprocess.call([f"{a.build}/tools/samples_dump", "--data", folder, f"{folder}/native"], stdout=subprocess.DEVNULL)
    if os.path.exists(f"{folder}.kernels"):
        judge_slots(f"{name}: kernels", compare_slots(slots, kernel_mean(f"{folder}.kernels")), a.most)
        os.unlink(f"{folder}.kernels")
    return status


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--quads", type=int, default=3000, help="fours of stretches with the sampler stopped and going on (3000; 0 = none)")
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--warmup", type=int, default=500, help="stretches or steps before anything is measured (500)")
    p.add_argument("--seconds", type=float, default=50, help="of each of the two runs in which sampling is toggled (50; 0 = none)")
    p.add_argument("--counters", default="basic")
    p.add_argument("--interval", default="150us")
    p.add_argument("--most", type=float, default=1.01)
    p.add_argument("--toggle", type=str.split, help=argparse.SUPPRESS)
    p.add_argument("--inner", metavar="FILE", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.inner:
        return stop_and_go(a) if a.toggle is None else stamp(a)
    a.build = os.path.abspath(a.build)

    def run(name, counters, *options):
        """Itself under `sonde run`; where it was, and its status."""
        folder = f"{top}/{name.replace(' ', '_')}"
        own = [sys.executable, os.path.abspath(__file__), a.build, *sys.argv[2:], "--inner", f"{folder}.txt", *options]
        status = subprocess.call([f"{a.build}/sonde", "run", "-q", f"hydra.run.dir={folder}", counters, *(
            [] if counters == "counters=off" else [f"counters.interval={a.interval}"]), "--"] + own, stdout=subprocess.DEVNULL)
        return folder, status

    statuses = []
    with tempfile.TemporaryDirectory() as top:
        if a.quads:
            folder, status = run("stopped", f"counters={a.counters}")
            statuses.append(status)
            if os.path.exists(f"{folder}.txt"):
                sys.stdout.write(open(f"{folder}.txt").read())
        if a.seconds > 0:
            statuses += [toggled(a, run, "toggled"), toggled(a, run, "given back", "-c")]
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
