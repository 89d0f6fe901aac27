#!/usr/bin/env python3
"""Measures what native capture costs a CPU-bound PyTorch decode loop, compared with the plain run and Triton Proton.

    bench/overhead.py BUILD [--loop modules|bare] [--sets N] [--rounds N] [--steps N] [--warm SECONDS] [--only NAME,...] [--base NAME]

Thousands of small kernels under nested NVTX ranges. `modules` is a small language model written the usual
way (nn.Module, KV cache, attention, logits); `bare` only calls operators, which is the worst case.

A set is one process per variant; all are alive at the same time, with their main threads on one core. They pass a token
around, and the process that has it runs a stretch of the loop. So variants are compared within milliseconds of each other
on the same core, and other work of the machine cancels out. A set's ratio is the median over its rounds
of stretch / plain stretch of that round. The table has the median over sets, the range, the ratio of the fastest stretches,
and the ratio of all stretches together (median over sets), which includes rare events. With --base NAME ratios are to that variant,
and plain does not run. Variants with a limit (asleep 1.005, attached:N 1.01) have an `ok` or `not ok` line at the end, by the median
over sets, with its interval. The exit status is 1 if one exceeds its limit or did not run.

  plain   nothing attached            empty    a library with empty NVTX hooks
  ranges  our library without CUPTI   kernels  only CUPTI's kernel records, dropped as they come
  native  our whole library           proton   Triton's profiler
  asleep  our whole library, asleep (`sonde env`)
  attached:N  asleep, after N attaches of one second with hardware counters, each to the loops of all sets together, before the rounds
  cupti:PART[+PART...]   only parts of CUPTI, by the words of bench/lib/cupti_parts.c
  native:LINE[+LINE...]  our whole library, with these lines added to its settings
  counters+VARIANT       VARIANT while hardware counters are sampled: the sampler of a `sonde run counters=basic`
                         is stopped (SIGSTOP) except in the stretches of this variant, where it decodes all samples since the last one

Asleep, and after ten attaches (three minutes):  --loop bare --only empty,asleep,attached:10
A budget of 2 %, and with counters:  --only empty,native:budget_ppm=20000,counters+native:budget_ppm=20000
"""
import argparse
import glob
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

DIM, LAYERS, HEADS = 512, 6, 8
COUNTERS = "counters+"
BARS = {"asleep": 1.005, "attached": 1.01}  # of the plain run, by what comes before a colon


class Region:
    """An NVTX range, and Proton's scope where that is the one measured."""

    proton = None

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        import torch

        torch.cuda.nvtx.range_push(self.name)
        if Region.proton:
            Region.proton.enter_scope(self.name)

    def __exit__(self, *_):
        import torch

        if Region.proton:
            Region.proton.exit_scope()
        torch.cuda.nvtx.range_pop()


def bare():
    """Operators only."""
    import torch

    dev, half = "cuda", torch.float16
    sizes = (("qkv", DIM, 3 * DIM), ("o", DIM, DIM), ("up", DIM, 4 * DIM), ("down", 4 * DIM, DIM))
    weights = [{k: torch.randn(a, b, device=dev, dtype=half) * 0.02 for k, a, b in sizes} for _ in range(LAYERS)]
    cache = torch.randn(LAYERS, 2, HEADS, 128, DIM // HEADS, device=dev, dtype=half)

    def step(x):
        for i, w in enumerate(weights):
            with Region(f"layer{i}"):
                with Region("attn"):
                    q, _, _ = (x @ w["qkv"]).chunk(3, -1)
                    s = torch.softmax(q.view(HEADS, 1, -1) @ cache[i, 0].transpose(-1, -2) / 8, -1)
                    x = x + (s @ cache[i, 1]).reshape(1, -1) @ w["o"]
                with Region("mlp"):
                    x = x + torch.relu(x @ w["up"]) @ w["down"]
        return torch.nn.functional.layer_norm(x, (DIM,))

    return step, torch.randn(1, DIM, device=dev, dtype=half)


def modules():
    """A small decoder as people write them: one token a step, keys and values kept."""
    import torch
    from torch import nn
    from torch.nn import functional as fn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
            self.register_buffer("keys", torch.zeros(1, HEADS, 256, DIM // HEADS))
            self.register_buffer("values", torch.zeros(1, HEADS, 256, DIM // HEADS))

        def forward(self, x, at):
            q, k, v = self.qkv(x).view(1, 1, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
            self.keys[:, :, at : at + 1] = k
            self.values[:, :, at : at + 1] = v
            a = fn.scaled_dot_product_attention(q, self.keys[:, :, : at + 1], self.values[:, :, : at + 1])
            return self.out(a.transpose(1, 2).reshape(1, 1, DIM))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2, self.attn = nn.LayerNorm(DIM), nn.LayerNorm(DIM), Attention()
            self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

        def forward(self, x, at):
            with Region("attn"):
                x = x + self.attn(self.norm1(x), at)
            with Region("mlp"):
                return x + self.mlp(self.norm2(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(8192, DIM)
            self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
            self.norm, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, 8192)

        def forward(self, token, at):
            x = self.embed(token)
            for i, block in enumerate(self.blocks):
                with Region(f"layer{i}"):
                    x = block(x, at)
            with Region("logits"):
                return self.head(self.norm(x)).argmax(-1)

    torch.backends.cuda.enable_cudnn_sdp(False)  # it takes 50 ms to make a plan for each length
    model, at = Model().to("cuda").half().eval(), 0

    def step(token):
        nonlocal at
        at = (at + 1) % 256
        return model(token, at)

    return step, torch.zeros(1, 1, dtype=torch.long, device="cuda")


def work(orders, answers, loop, steps, warm, use_proton):
    """Runs a stretch for every x that comes, and answers with its seconds."""
    import torch

    torch.manual_seed(0)
    if use_proton:
        import triton.profiler

        Region.proton = triton.profiler
        triton.profiler.start(os.path.join(tempfile.mkdtemp(), "p"), context="shadow")
    step, x = loop()

    def stretch(x):
        for _ in range(steps):
            with Region("decode"):
                x = step(x)
        torch.cuda.synchronize()
        return x

    begin = time.monotonic()
    with torch.no_grad():
        for _ in range(3):
            x = stretch(x)
        while time.monotonic() - begin < warm:
            x = stretch(x)
        # The threads of CUDA and the profilers exist by now, and keep all cores.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        os.write(answers, b"ready\n")
        while os.read(orders, 1) == b"x":
            start = time.perf_counter()
            x = stretch(x)
            os.write(answers, f"{time.perf_counter() - start}\n".encode())
    if use_proton:
        triton.profiler.finalize()


class Worker:
    def __init__(self, env, loop, steps, warm, use_proton):
        orders, self.orders = os.pipe()
        read, answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.orders)
                os.close(read)
                os.environ.update(env)
                if os.geteuid() == 0:
                    os.nice(-20)  # other work on the machine counts as little as can be
                work(orders, answers, loop, steps, warm, use_proton)
            except Exception:  # pylint: disable=broad-except
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(orders)
        os.close(answers)
        self.answers = os.fdopen(read)

    def ready(self):
        """Waits until it has warmed up; False if it failed before."""
        return self.answers.readline() == "ready\n"

    def go(self):
        os.write(self.orders, b"x")

    def took(self):
        return float(self.answers.readline())

    def stretch(self):
        self.go()
        return self.took()

    def end(self):
        os.write(self.orders, b".")
        os.waitpid(self.pid, 0)


class Sampler:
    """Hardware counters, sampled while they are wanted: the samplers of a `sonde run` whose program waits."""

    def __init__(self, build, out):
        command = [os.path.join(build, "sonde"), "run", "-q", f"hydra.run.dir={tempfile.mkdtemp(dir=out)}/run", "counters=basic", "--", "cat"]
        self.run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 30
        self.pids = []
        while not self.pids and time.monotonic() < until and self.run.poll() is None:
            time.sleep(0.2)
            self.pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and self.is_one(p)]
        if not self.pids:
            raise SystemExit("overhead.py: `sonde run counters=basic` has no sampler here: `sonde doctor` says why")
        time.sleep(2)  # its trial is over by then
        self.go(False)

    def is_one(self, pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            return False
        return name == "sonde-sampler" and int(rest.split()[1]) == self.run.pid

    def go(self, is_on):
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT if is_on else signal.SIGSTOP)

    def end(self):
        self.go(True)
        self.run.stdin.close()
        self.run.wait()


def stretch_of(worker, sampler):
    if sampler:
        sampler.go(True)
    took = worker.stretch()
    if sampler:
        sampler.go(False)
    return took


def attach_to(workers, build, out, times):
    """Attaches of one second each, while the loops go on, all at once: each wakes by a call of its own. The last one's report is kept."""
    pids = [str(worker.pid) for worker in workers]
    for number in range(times):
        run = os.path.join(out, f"attached-{pids[0]}-{number}")
        attach = subprocess.Popen([os.path.join(build, "sonde"), "attach", *pids, "--for", "1s", "-q", "-o", run], stdout=subprocess.DEVNULL)
        while attach.poll() is None:
            for worker in workers:
                worker.go()
            for worker in workers:
                worker.took()
        if attach.returncode:
            raise SystemExit(f"attach {number + 1} ended with {attach.returncode}")
        if number + 1 < times:
            shutil.rmtree(run)
    for worker in workers:
        worker.stretch()  # CUPTI leaves with a call of the program


def start_attached(variants, start, sets, build, out):
    """Of variants `attached:N` the loops of all sets, attached to: an attach is seconds long. A list for each such variant."""
    begun = {}
    for name in variants:
        if name.startswith("attached:"):
            begun[name] = [worker for worker in [start(name) for _ in range(sets)] if worker.ready()]
            if begun[name]:
                attach_to(begun[name], build, out, int(name.removeprefix("attached:")))
    return begun


def measure_set(variants, start, begun, rounds, make_sampler):
    """The stretches of each variant, round by round. Those of `begun` run already."""
    started = {name: start(name) for name in variants if name not in begun}
    workers = {name: worker for name, worker in started.items() if worker.ready()}
    workers.update((name, waiting.pop()) for name, waiting in begun.items() if waiting)
    sampler = make_sampler() if any(name.startswith(COUNTERS) for name in workers) else None
    order = list(workers)
    took = {name: [] for name in workers}
    for _ in range(rounds):
        for name in order:
            took[name].append(stretch_of(workers[name], sampler if name.startswith(COUNTERS) else None))
        random.shuffle(order)
    if sampler:
        sampler.end()
    for worker in workers.values():
        worker.end()
    return took


def tell_windows(build, out, names):
    """Of variants with a budget: what their last captures say of it."""
    for number, name in enumerate(names):
        if "budget_ppm" not in name:
            continue
        said = subprocess.run([os.path.join(build, "sonde"), "report", "-f", "json", os.path.join(out, f"captures{number}")], capture_output=True, text=True, check=False)
        report = json.loads(said.stdout) if said.returncode == 0 else {"coverage": {"windows": said.stderr}, "notes": []}
        print(name, report["coverage"].get("windows"), *(n.split(": ", 1)[-1] for n in report["notes"] if "budget" in n), sep="\n  ")


def ratio(took, name, base):
    """Of a set: the median over its rounds of stretch / the base's stretch of the round."""
    return statistics.median(a / b for a, b in zip(took[name], took[base]))


def whole(took, name, base):
    """Of a set: all stretches together / all of the base's; what happens now and then is in it."""
    return sum(took[name]) / sum(took[base])


def judge(name, ratios):
    """The line of a variant with a bar, None for one without. The interval is that of all sets: seven have the median in it by 98 %."""
    bar = BARS.get(name.split(":")[0])
    if bar is None:
        return None
    if not ratios:
        return f"not ok {name} did not run"
    middle = statistics.median(ratios)
    return f"{'ok' if middle <= bar else 'not ok'} {name} {middle:.4f} [{min(ratios):.4f}, {max(ratios):.4f}], bar {bar}"


def least(sets, name):
    return min(min(took[name]) for took in sets if name in took)


def environments(build, names, out):
    """What each variant has in its environment; captures go to `out`."""
    build = os.path.abspath(build)
    with open(os.path.join(out, "conf"), "w", encoding="utf-8") as f:
        f.write(f"output={out}\n")
    library = os.path.join(build, "libsonde_inject.so")
    ranges = {"SONDE_INJECT_CONFIG": os.path.join(out, "conf"), "NVTX_INJECTION64_PATH": library}
    parts = dict.fromkeys(("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"), os.path.join(build, "libcupti_parts.so"))
    known = {
        "plain": {},
        "empty": {"NVTX_INJECTION64_PATH": os.path.join(build, "libsonde_inject_empty.so")},
        "ranges": ranges,
        "kernels": parts,
        "native": {**ranges, "CUDA_INJECTION64_PATH": library},
        "proton": {},
        "asleep": {"SONDE_ASLEEP": "1", "NVTX_INJECTION64_PATH": library, "CUDA_INJECTION64_PATH": library},
    }
    variants = {}
    for variant in names:
        name = variant.removeprefix(COUNTERS)
        if name.startswith("native:"):
            conf, captures = os.path.join(out, f"conf{len(variants)}"), os.path.join(out, f"captures{len(variants)}")
            os.mkdir(captures)
            with open(conf, "w", encoding="utf-8") as f:
                f.write(f"output={captures}\n" + name.removeprefix("native:").replace("+", "\n") + "\n")
            variants[variant] = {**known["native"], "SONDE_INJECT_CONFIG": conf}
        elif name.startswith("attached:"):
            variants[variant] = known["asleep"]
        elif name.startswith("cupti:"):
            variants[variant] = {**parts, "CUPTI_PARTS": name.removeprefix("cupti:")}
        else:
            variants[variant] = known[name]
    return variants


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--loop", choices=("modules", "bare"), default="modules")
    parser.add_argument("--sets", type=int, default=7)
    parser.add_argument("--warm", type=float, help="seconds that all run before they take turns: 0; 2 where a variant has a bar")
    parser.add_argument("--rounds", type=int, help="15; 40 where a variant has a bar")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--only", default="empty,ranges,kernels,native,proton")
    parser.add_argument("--base", default="plain")
    args = parser.parse_args()
    import torch  # noqa: F401  (in the parent, without touching CUDA)

    out = tempfile.mkdtemp()
    variants = environments(args.build, [args.base] + args.only.split(","), out)
    has_bar = any(judge(name, []) for name in variants)
    rounds, warm = args.rounds or (40 if has_bar else 15), 2 * has_bar if args.warm is None else args.warm
    loop = {"modules": modules, "bare": bare}[args.loop]

    def start(name):
        return Worker(variants[name], loop, args.steps, warm, name == "proton")

    begun, sets = start_attached(variants, start, args.sets, args.build, out), []
    for number in range(args.sets):
        took = measure_set(variants, start, begun, rounds, lambda: Sampler(args.build, out))
        sets.append(took)
        shown = (f"{os.path.basename(n)} {ratio(took, n, args.base):.3f}" for n in variants if n in took)
        print(f"set {number + 1}:", *shown, flush=True)
        for path in glob.glob(f"{out}/*.sonde") + glob.glob(f"{out}/captures*/*.sonde"):
            if number + 1 < args.sets:
                os.unlink(path)
    print(f"decode loop '{args.loop}', stretches of {args.steps} steps, {args.sets} sets of {rounds} rounds")
    print(f"{'':14}{'ms/step':>9}{'ratio':>8}{'range':>15}{'least':>8}{'whole':>8}")
    ratios = {name: [ratio(took, name, args.base) for took in sets if name in took] for name in variants}
    for name in variants:
        if not ratios[name]:
            print(f"{os.path.basename(name):14}  did not run")
            continue
        step = statistics.median(statistics.median(took[name]) for took in sets if name in took) / args.steps * 1e3
        print(f"{os.path.basename(name):14}{step:9.3f}{statistics.median(ratios[name]):8.3f}", end="")
        print(f"{min(ratios[name]):9.3f}-{max(ratios[name]):.3f}{least(sets, name) / least(sets, args.base):8.3f}", end="")
        print(f"{statistics.median(whole(took, name, args.base) for took in sets if name in took):8.3f}")
    tell_windows(args.build, out, list(variants))
    verdicts = [line for line in (judge(name, ratios[name]) for name in variants if args.base == "plain") if line]
    print(*verdicts, sep="\n", end="\n" if verdicts else "")
    return 1 if any(line.startswith("not ok") for line in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
