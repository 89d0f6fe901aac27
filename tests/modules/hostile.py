#!/usr/bin/env python3
"""Runs hostile Python programs with and without sonde --modules: they must have the same output, errors and status.

    hostile.py BUILD TMP [--real]    prints `ok NAME` or `not ok NAME` for each; --real: with the installed PyTorch

A case is a name, the interpreter's arguments before the script (flags; `-c`, `-m` and `-` get the source in their own
way), and the source. All cases run with the fake torch beside this file. PRELUDE is put above each source that does not
begin with `#bare`. The fake torch has shortcuts; with the real PyTorch, REAL provides them.
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
PRELUDE = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn, self.mlp = nn.Linear(), nn.Sequential(nn.Linear(), nn.Linear())
    def forward(self, x):
        return self.mlp(self.attn(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear()
    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return self.head(x)
"""
REAL = """
import torch
from torch import nn
class Linear(nn.Module):
    def forward(self, x):
        return 2 * x
nn.Linear = torch.nn.Linear = Linear
class SGD(torch.optim.SGD):
    def __init__(self):
        super().__init__([torch.zeros(1, requires_grad=True)], lr=0.1)
torch.optim.SGD = SGD
"""

CASES = [
    ("an_allocator_that_raises", "", """
def stats(device):
    raise RuntimeError("no statistics")
torch._C._cuda_memoryStats = stats
torch.cuda.init()
print(Net()(1), Net()(2))
"""),
    ("an_allocator_that_answers_oddly", "", """
torch._C._cuda_memoryStats = lambda device: {"allocated_bytes": {"all": {"current": "many", "peak": -1}}}
torch._C._cuda_getDevice = lambda: None
torch.cuda.init()
print(Net()(1), Net()(2))
"""),
    ("cuda_in_use_is_no_truth_value", "", """
class Odd:
    def __bool__(self):
        raise ValueError("neither")
torch.cuda._initialized = Odd()
print(Net()(1), Net()(2))
"""),
    ("a_fork_after_cuda", "", """
import os
torch.cuda.init()
net = Net()
print(net(1), flush=True)
calls = torch._C.nr_calls
if os.fork() == 0:
    print(net(2), torch._C.nr_calls - calls, flush=True)
    os._exit(0)
os.wait()
"""),
    ("a_model", "", "print(Net()(1))"),
    ("a_training_loop", "", """
net, opt = Net(), torch.optim.SGD()
for x in torch.utils.data.DataLoader(range(5)):
    y = net(x)
    torch.autograd.backward(y)
    print(y, opt.step(), type(opt).step.hooked)
with torch.no_grad():
    print(net.eval()(3))
"""),
    ("its_own_call", "", """
class Own(nn.Module):
    def __call__(self, *a):
        return ("own", super().__call__(*a))
    def forward(self, x):
        return x
print(Own()(1), nn.Sequential(Own(), nn.Linear())((1,)))
"""),
    ("slots", "", """
class Slim(nn.Module):
    __slots__ = ("w",)
    def forward(self, x):
        self.w = x
        return self.w
print(Slim()(4))
"""),
    ("modules_that_come_and_go", "", """
import gc, weakref
seen = set()
for i in range(3000):
    m = Net() if i % 2 else nn.Sequential(nn.Linear())
    seen.add(m(1))
    r = weakref.ref(m)
    del m
    gc.collect() if i % 500 == 0 else None
print(sorted(seen), r() is None)
"""),
    ("modules_that_join_later", "", """
net = Net()
net(1)
net.extra = nn.Linear()
net.layers._modules["2"] = Block()
class Loose(nn.Module):
    def forward(self, x):
        return nn.Linear()(x)
net.loose = Loose()
net.forward = lambda x: net.loose(net.extra(x))
print(net(1))
"""),
    ("pickle", "", """
import pickle
net = pickle.loads(pickle.dumps(Net()))
print(net(1), pickle.loads(pickle.dumps(net.__call__))(1))
"""),
    ("deepcopy", "", "import copy\nn = Net()\nn(1)\nprint(copy.deepcopy(n)(1), sorted(n.__dict__))"),
    ("an_exception", "", """
class Bad(nn.Module):
    def forward(self, x):
        raise ValueError("bad " + str(x))
import traceback
try:
    nn.Sequential(nn.Linear(), Bad())(1)
except ValueError:
    traceback.print_exc()
print(Net()(1))
nn.Sequential(Bad())(2)
"""),
    ("exit_in_forward", "", "import sys\nclass E(nn.Module):\n    def forward(self, x):\n        sys.exit(7)\nnn.Sequential(E())(1)"),
    ("exit_at_once", "", "import os\nclass E(nn.Module):\n    def forward(self, x):\n        os._exit(9)\nE()(1)"),
    ("interrupted", "", "class K(nn.Module):\n    def forward(self, x):\n        raise KeyboardInterrupt\nK()(1)"),
    ("recursion", "", """
class R(nn.Module):
    def forward(self, n):
        return self(n + 1)
try:
    R()(0)
except RecursionError as e:
    print(type(e).__name__)
print(Net()(1))
"""),
    ("a_generator", "", """
class G(nn.Module):
    def forward(self, n):
        for i in range(n):
            yield self.inner(i)
g = G()
g.inner = nn.Linear()
a, b = g(3), g(2)
print(next(a), next(b), list(a), list(b))
"""),
    ("coroutines", "", """
import asyncio
class A(nn.Module):
    async def forward(self, x):
        await asyncio.sleep(0)
        return self.inner(x)
a = A()
a.inner = Net()
async def main():
    return await asyncio.gather(*(a(i) for i in range(4)))
print(asyncio.run(main()))
"""),
    ("threads", "", """
import threading
net, out = Net(), []
ts = [threading.Thread(target=lambda i=i: [out.append(net(i)) for _ in range(200)]) for i in range(6)]
[t.start() for t in ts]
[t.join() for t in ts]
print(len(out), sorted(set(out)))
"""),
    ("fork", "", """
import os
net = Net()
net(1)
pid = os.fork()
print(net(2), flush=True)
if pid:
    print(os.waitpid(pid, 0)[1])
else:
    os._exit(0)
"""),
    ("spawn", "", """
import multiprocessing as mp
def work(x):
    return x + 1
if __name__ == "__main__":
    with mp.get_context("spawn").Pool(2) as p:
        print(p.map(work, [1, 2]), Net()(1))
"""),
    ("a_child_of_its_own", "", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import torch; print(torch.nn.Linear()(2))'], capture_output=True, text=True).stdout)"),
    ("without_site", "-S", "print(Net()(1))"),
    ("without_environment", "-E", "#bare\nimport sys\nprint(sys.flags.ignore_environment)"),
    ("isolated", "-I", "#bare\nimport sys\nprint(sys.flags.isolated)"),
    ("warnings_are_errors", "-W error", "print(Net()(1))"),
    ("optimised", "-OO", "print(Net()(1))"),
    ("as_a_string", "-c", "print(Net()(1))"),
    ("as_a_module", "-m", "print(Net()(1), __name__)"),
    ("from_standard_input", "-", "print(Net()(1))"),
    ("its_own_sitecustomize", "site=print('theirs')\nimport sys\nsys.theirs = 1", "import sys, sitecustomize\nprint(sys.theirs, sitecustomize.__file__.split('/')[-2:], Net()(1))"),
    ("a_sitecustomize_that_fails", "site=raise RuntimeError('theirs')", "print(Net()(1))"),
    ("no_sitecustomize", "", "try:\n    import sitecustomize\nexcept ImportError as e:\n    print(e)"),
    ("no_torch", "", "#bare\nprint('no torch here')"),
    ("a_broken_torch", "broken=raise ImportError('libtorch.so: cannot open')", "#bare\nimport torch"),
    ("a_torch_of_something_else", "broken=x = 1", "#bare\nimport torch\nprint(torch.x)"),
    ("a_look_at_itself", "", """
import inspect, sys
print(inspect.signature(nn.Module.__call__), nn.Module.__call__.__name__, nn.Module.__call__.__qualname__)
m = Net()
print(inspect.ismethod(m.__call__), m.__call__.__self__ is m, nn.Module.__call__ is nn.Module.__call__, callable(m))
m(1)
print(sys.path[0] != "", [p for p in sys.path if "sonde" in p], len(sys.meta_path) < 6)
"""),
    ("a_call_replaced", "", """
was = nn.Module.__call__
def traced(self, *a):
    print("call", type(self).__name__)
    return was(self, *a)
nn.Module.__call__ = traced
print(nn.Sequential(nn.Linear())(1))
nn.Module.__call__ = was
print(Net()(1))
"""),
    ("odd_attributes", "", """
class Odd(nn.Module):
    def __getattr__(self, name):
        if name == "_modules":
            raise RuntimeError("no")
        return 5
    def __eq__(self, o):
        raise RuntimeError("no")
    def __hash__(self):
        raise RuntimeError("no")
    def forward(self, x):
        return x
print(Odd()(1))
"""),
    ("odd_names", "", """
net = Net()
setattr(net, "größe/\\n\\0x", nn.Linear())
net.forward = lambda x: getattr(net, "größe/\\n\\0x")(x)
print(net(1))
"""),
    ("a_shared_module", "", "a = nn.Linear()\nn = nn.Sequential(a, a, nn.Sequential(a))\nprint(n(1))"),
    ("ranges_of_its_own", "", """
from torch.cuda import nvtx
net, opt = Net(), torch.optim.SGD()
for i in range(4):
    nvtx.range_push("step")
    net(i)
    nvtx.range_pop()
    nvtx.range_push("opt")
    opt.step()
    nvtx.range_pop()
nvtx.range_pop()
print("done")
"""),
    ("called_wrongly", "", "try:\n    nn.Module.__call__()\nexcept TypeError as e:\n    print(e)\nprint(nn.Module.__call__(nn.Linear(), 2))"),
]


def run(build, tmp, case, is_on, is_real):
    name, how, source = case
    folder = os.path.join(tmp, name)
    os.makedirs(folder, exist_ok=True)
    script = os.path.join(folder, "program.py")
    source = source if source.startswith("#bare") else (REAL if is_real else "") + PRELUDE + source
    with open(script, "w") as f:
        f.write(source)
    path = [] if is_real else [HERE]
    if how.startswith(("site=", "broken=")):
        kind, text = how.split("=", 1)
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        with open(os.path.join(folder, kind, "sitecustomize.py" if kind == "site" else "torch.py"), "w") as f:
            f.write(text)
        path.insert(0, os.path.join(folder, kind))
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "NVTX_", "CUDA_INJ", "PYTHON"))}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    if is_on:
        capture = os.path.join(folder, "capture")
        os.makedirs(capture, exist_ok=True)
        with open(os.path.join(capture, "inject.conf"), "w") as f:
            f.write("output=%s\ncupti=off\n" % capture)
        path.insert(0, os.path.join(build, "python"))
        env.update(SONDE_MODULES="all", SONDE_INJECT_CONFIG=os.path.join(capture, "inject.conf"),
            NVTX_INJECTION64_PATH=os.path.join(build, "libsonde_inject.so"))
    env["PYTHONPATH"] = ":".join(path)
    if not path:
        del env["PYTHONPATH"]
    words = ["-c", source] if how == "-c" else ["-m", "program"] if how == "-m" else ["-"] if how == "-" else \
        (how.split() if how.startswith("-") else []) + [script]
    done = subprocess.run([sys.executable] + words, env=env, cwd=folder, input=source if how == "-" else "", capture_output=True,
        text=True, timeout=240)
    return done.returncode, done.stdout, done.stderr


def main():
    build, tmp, is_real = os.path.abspath(sys.argv[1]), sys.argv[2], "--real" in sys.argv
    with ThreadPoolExecutor(max(2, os.cpu_count() // 2) if is_real else 2) as pool:
        pairs = list(pool.map(lambda c: (run(build, tmp, c, False, is_real), run(build, tmp, c, True, is_real)), CASES))
    for case, (without, with_) in zip(CASES, pairs):
        if without == with_:
            print("ok modules__hostile_" + case[0])
        else:
            print("not ok modules__hostile_%s\n  without: %r\n  with: %r" % (case[0], without, with_))


if __name__ == "__main__":
    main()
