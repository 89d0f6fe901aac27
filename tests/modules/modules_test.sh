#!/usr/bin/env bash
# Regions of PyTorch programs without annotations: sonde run --modules, sonde regions --modules.
# Runs long.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
[ -e "$BUILD/python/libsonde_modules.so" ] || { skip modules "the NVTX headers are not on this machine"; exit 0; }

python3 "$here/hostile.py" "$BUILD" "$TMP/hostile"

cat >"$TMP/train.py" <<'PY'
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
import sys
net, opt = Net(), torch.optim.SGD()
if "scheduled" in sys.argv: # as learning rate schedulers of PyTorch do
    step, of = opt.step.__func__, type(opt)
    opt.step = lambda *args: step.__get__(opt, of)(*args)
for x in torch.utils.data.DataLoader(range(6), num_workers=int(sys.argv[1])):
    torch.autograd.backward(net(x))
    opt.step()
torch.cuda.graphs.CUDAGraph().replay()
PY
export PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1
list() { # ARGS…: the regions of the training loop, as NAME ENTRIES by depth; $WORKERS load its data
	"$SONDE" regions -f json "$@" -- python3 "$TMP/train.py" "${WORKERS:-0}" ${SCHEDULED:-} 2>"$TMP/err" | jq -r '.regions[] | "\(.depth) \(.name) \(.instances)"' >"$TMP/list"
}
has_the_tree() { # N: calls of the loader outside steps
	list --modules=all && diff "$TMP/list" - <<LIST
0 DataLoader $1
0 Net 1
1 layers.0 1
2 attn 1
2 mlp 1
3 0 1
3 1 1
1 layers.1 1
2 attn 1
2 mlp 1
3 0 1
3 1 1
1 head 1
0 backward 1
0 SGD.step 1
0 step 5
1 DataLoader 5
1 Net 5
2 layers.0 5
3 attn 5
3 mlp 5
4 0 5
4 1 5
2 layers.1 5
3 attn 5
3 mlp 5
4 0 5
4 1 5
2 head 5
1 backward 5
1 SGD.step 5
0 CUDAGraph.replay 1
LIST
}
is_two_deep() { list --modules=2 && [ "$(grep -c 'layers.0' "$TMP/list")" = 2 ] && ! grep -q attn "$TMP/list"; }
ranges_are_balanced() { list --modules && ! grep -qE 'never popped|never closed' "$TMP/err"; }
with_workers() { WORKERS=2 has_the_tree 2; } # the first, when it is not known yet that there are steps, and the last, which finds no data
ok modules__names_are_attribute_paths_and_steps_are_found has_the_tree 1
with_scheduler() { SCHEDULED=scheduled has_the_tree 1; }
ok modules__a_learning_rate_scheduler_changes_nothing with_scheduler
ok modules__no_step_begins_with_data_that_does_not_come with_workers
ok modules__a_depth_ends_the_tree is_two_deep
ok modules__every_range_is_closed ranges_are_balanced

# PyTorch's allocator, at both ends of entries.
cat >"$TMP/memory.py" <<'PY'
import sys
import torch
from torch import nn
KB = 1024
class Keeps(nn.Module):  # 3 KB of which 2 stay; its peak is never the program's, so that only what stays is seen
    def forward(self, x):
        torch.cuda.take(3 * KB); torch.cuda.give(KB)
        return x
class Peaks(nn.Module):  # 64 KB while it runs
    def forward(self, x):
        torch.cuda.take(64 * KB); torch.cuda.give(64 * KB)
        return x
class Raises(nn.Module):
    def forward(self, x):
        torch.cuda.take(KB); torch.cuda.give(KB)
        raise ValueError
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.peaks, self.keeps, self.raises = Peaks(), Keeps(), Raises()
    def forward(self, x):
        self.keeps(self.peaks(x))
        try:
            self.raises(x)
        except ValueError:
            pass
net = Net()
before = nn.Linear()
before(1)  # CUDA is not in use: asking would be an error here
torch._C.slow_ns = int(sys.argv[1])
torch.cuda.take(KB)
for i in range(int(sys.argv[2])):
    if i == 3:
        torch.cuda.reset_peak_memory_stats()
    net(i)
print("calls", torch._C.nr_calls)
PY
run_memory() { # NS CALLS: what the regions have, as NAME ENTRIES PEAK RISE NET
	rm -rf "$TMP/mem"
	"$SONDE" run -q --modules=all -o "$TMP/mem" -- python3 "$TMP/memory.py" "$1" "$2" >"$TMP/out" 2>"$TMP/err" && "$SONDE" validate "$TMP/mem/report.json" >"$TMP/valid" &&
		jq -r '.aggregate.regions[] | "\(.name) \(.allocator // {} | [.entries, .peak_bytes, .rise_bytes, .net_bytes, if .entries then .allocated_bytes - .net_bytes >= 1024 else "" end] | join(" "))"' "$TMP/mem/report.json" >"$TMP/list"
}
has_memory() { # which entries are read depends on how long that takes; what they have does not
	run_memory 0 40 && awk '{ print $1, ($2 > 0), $4, $5, $6 }' "$TMP/list" >"$TMP/got" && diff "$TMP/got" - <<'LIST'
Linear 0   
Net 1 65536 2048 true
peaks 1 65536 0 true
keeps 1 2048 2048 true
raises 0   
LIST
}
reads_few() { # an answer takes 50 us: two of them in a hundred entries, and the first
	run_memory 50000 400 && [ "$(sed -n 's/^calls //p' "$TMP/out")" -le 60 ] && grep -qE '^keeps [12345] ' "$TMP/list" &&
		grep -q 'allocator was read at [0-9]* of [0-9]* entries' "$TMP/mem/report.md"
}
ok modules__the_allocator_is_read_at_both_ends_of_entries has_memory
ok modules__a_slow_allocator_is_read_now_and_then reads_few

says_modules() { # a program without ranges
	printf 'import torch\nprint("hello")\n' >"$TMP/none.py"
	"$SONDE" run -q -o "$TMP/none" -- python3 "$TMP/none.py" >"$TMP/out" 2>"$TMP/err"
	grep -q 'sonde run --modules' "$TMP/err"
}
ok modules__a_run_without_ranges_names_the_option says_modules
says_nothing() { # where torch is not the reason
	printf 'print("hello")\n' >"$TMP/none.py"
	"$SONDE" run -q -o "$TMP/none2" -- python3 "$TMP/none.py" >"$TMP/out" 2>"$TMP/err"
	! grep -q -e --modules "$TMP/err"
}
ok modules__a_run_without_torch_does_not says_nothing
refuses() { ! "$SONDE" run -q --modules=deep -o "$TMP/x" -- true 2>"$TMP/err" && grep -q "modules=deep: write off, auto, all or a number" "$TMP/err"; }
ok modules__an_unknown_depth_is_refused refuses

# PyTorch itself, where Debian's is installed.
unset PYTHONPATH
python=
for p in python3 /usr/bin/python3; do if "$p" -c 'import torch' 2>/dev/null; then python=$p && break; fi; done
if [ -z "$python" ]; then
	skip modules__pytorch "PyTorch is not installed (python3-torch)"
	exit 0
fi
cat >"$TMP/real.py" <<'PY'
import copy, inspect, pickle, traceback
import torch, torch.fx, torch.nn as nn
m, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.ones(2, 4)
print(inspect.signature(nn.Module.__call__), nn.Module.__call__.__name__)
print(torch.equal(m(x), copy.deepcopy(m)(x)), torch.equal(m(x), pickle.loads(pickle.dumps(m))(x)))
print(torch.jit.trace(m, x)(x).shape, torch.jit.script(m)(x).shape, torch.fx.symbolic_trace(m)(x).shape, m(x).shape)
class Bad(nn.Module):
    def forward(self, x):
        raise ValueError("no")
try:
    nn.Sequential(Bad())(x)
except ValueError:
    traceback.print_exc()
handle = m.register_forward_hook(lambda m, i, o: print("hook"))
m(x)
handle.remove()
opt = torch.optim.AdamW(m.parameters())
rate = torch.optim.lr_scheduler.StepLR(opt, 10)
for b in torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=2):
    m(b).sum().backward()
    opt.step()
    rate.step()
PY
real_is_the_same() {
	"$python" "$TMP/real.py" >"$TMP/without" 2>&1
	"$SONDE" regions --modules -f json -o "$TMP/real.json" -- "$python" "$TMP/real.py" 2>&1 | grep -v '^sonde: ' >"$TMP/with"
	diff "$TMP/without" "$TMP/with"
}
real_has_regions() {
	jq -e '[.regions[].name] | contains(["step", "DataLoader", "Sequential", "0", "1", "backward", "AdamW.step"])' "$TMP/real.json" >/dev/null
}
ok modules__pytorch_says_the_same real_is_the_same
ok modules__pytorch_has_its_regions real_has_regions
