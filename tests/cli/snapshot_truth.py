#!/usr/bin/env python3
"""Makes memory snapshots like PyTorch's, and checks reports of them.

    snapshot_truth.py make SEED PROTOCOL OUT.pickle OUT.truth.json   simulates an allocator; the truth has who held how much memory
    snapshot_truth.py check IN.pickle REPORT.json [TRUTH.json]       compares the report with the pickle, as Python reads it
    snapshot_truth.py hostile FOLDER                                 makes pickles that must be refused, each named by its opcode

check reads the pickle with Python's pickle, which may create no class, replays the history forwards and adds up by stack.
It shares nothing with the reader in C, which walks the history backwards.
"""
import json
import os
import pickle
import random
import struct
import sys

PYTHON = [("<module>", "/home/u/train.py", 40), ("train", "/home/u/train.py", 31), ("train", "/home/u/train.py", 33),
          ("_wrapped_call_impl", "/env/torch/nn/modules/module.py", 1739), ("_call_impl", "/env/torch/nn/modules/module.py", 1750),
          ("forward", "/home/u/model.py", 12), ("forward", "/home/u/model.py", 13), ("step", "/env/torch/optim/adamw.py", 88),
          ("<lambda>", "<stdin>", 1)]
CPP = [("at::_ops::bmm::call(at::Tensor const&)", "??", 0), ("at::_ops::add_Tensor::redispatch(int)", "RegisterCUDA.cpp", 0),
       ("c10::cuda::CUDACachingAllocator::malloc(unsigned long)", "CUDACachingAllocator.cpp", 0)]
BACKWARD = [("torch::autograd::generated::BmmBackward0::apply(std::vector<at::Tensor>&&)", "", 0),
            ("torch::autograd::Engine::thread_main(int)", "??", 0)]


def label(frame):
    return "%s %s:%d" % (frame["name"], os.path.basename(frame["filename"]), frame["line"])


def path_of(frames):
    """The region of a stack, the outermost first."""
    python = [f for f in frames or [] if f["filename"].endswith(".py") or f["filename"].startswith("<")]
    path = [label(f) for f in reversed(python) if f["name"] not in ("_call_impl", "_wrapped_call_impl")]
    if path or not frames:
        return tuple(path or ["(no stack)"])
    for f in frames:
        before, found, after = f["name"].partition("torch::autograd::generated::")
        if found and "::apply(" in after:
            return ("(no Python frame)", after.split("::")[0])
    return ("(no Python frame)",)


# --- make ---------------------------------------------------------------------------------------------


class Frames:
    def __init__(self, rng):
        self.rng = rng
        self.known = {f: {"name": f[0], "filename": f[1], "line": f[2]} for f in PYTHON + CPP + BACKWARD}

    def stack(self):
        kind = self.rng.random()
        inner = self.rng.sample(CPP, self.rng.randint(0, 3))
        if kind < 0.2:
            return [self.known[f] for f in inner + BACKWARD]
        return [self.known[f] for f in inner + self.rng.sample(PYTHON[1:], self.rng.randint(1, 5)) + PYTHON[:1]]


class Device:
    """First fit in segments of 2 MiB, blocks of 512 bytes; events from the beginning of the history on."""

    def __init__(self, rng, number):
        self.rng, self.number = rng, number
        self.segments, self.events, self.live, self.is_recording = [], [], {}, False
        self.most, self.at_most = -1, {}

    def note_peak(self):
        held = sum(b["requested_size"] for b in self.live.values())
        if held >= self.most and self.is_recording:
            self.most, self.at_most = held, [(b["frames"], b["requested_size"]) for b in self.live.values()]

    def alloc(self, size, frames):
        need = (size + 511) // 512 * 512
        for s in self.segments + [None]:
            if s is None:
                s = {"address": 0x7F0000000000 + len(self.segments) * 0x1000000, "blocks": []}
                s["blocks"].append({"address": s["address"], "size": 2 << 20, "requested_size": 0, "state": "inactive", "frames": []})
                self.segments.append(s)
            for i, b in enumerate(s["blocks"]):
                if b["state"] == "inactive" and b["size"] >= need:
                    rest = dict(b, address=b["address"] + need, size=b["size"] - need)
                    b.update(size=need, requested_size=size, state="active_allocated", frames=frames if self.is_recording else [])
                    if rest["size"]:
                        s["blocks"].insert(i + 1, rest)
                    self.live[b["address"]] = b
                    if self.is_recording:
                        self.event("alloc", b["address"], size, frames)
                    self.note_peak()
                    return

    def free(self, frames):
        b = self.live.pop(self.rng.choice(sorted(self.live)))
        if self.is_recording:
            self.event("free_requested", b["address"], b["requested_size"], frames)
            self.event("free_completed", b["address"], b["requested_size"], frames)
        b.update(state="inactive", requested_size=0, frames=[])

    def event(self, action, addr, size, frames):
        self.events.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": len(self.events), "frames": frames})

    def snapshot(self):
        for s in self.segments:
            held = [b for b in s["blocks"] if b["state"] == "active_allocated"]
            yield {"device": self.number, "address": s["address"], "total_size": 2 << 20, "stream": 0, "segment_type": "small",
                   "allocated_size": sum(b["size"] for b in held), "segment_pool_id": (0, 0), "is_expandable": False,
                   "blocks": s["blocks"]}


def make(seed, protocol, out, truth):
    rng = random.Random(seed)
    frames = Frames(rng)
    devices = [Device(rng, i) for i in range(2)]
    for d in devices:
        for i in range(rng.randint(20, 60)):
            if i == 9:
                d.is_recording = True
                d.note_peak()
            if d.live and rng.random() < 0.4:
                d.free(frames.stack())
            else:
                d.alloc(rng.randint(1, 300000), frames.stack())
    with open(out, "wb") as f:
        pickle.dump({"segments": [s for d in devices for s in d.snapshot()], "device_traces": [d.events for d in devices],
                     "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0.5, "none": None},
                     "external_annotations": []}, f, protocol=protocol)
    planted = []
    for d in devices:
        now = add_up([(b["frames"], b["requested_size"]) for b in d.live.values()])
        peak = add_up([(f, n) for f, n in d.at_most])
        planted.append({"held": {"/".join(k): v for k, v in now.items()}, "peak": {"/".join(k): v for k, v in peak.items()}})
    with open(truth, "w") as f:
        json.dump(planted, f)


# --- check --------------------------------------------------------------------------------------------


def add_up(pairs):
    """Bytes of each region, with those of the regions inside."""
    out = {}
    for frames, size in pairs:
        path = path_of(frames)
        for i in range(1, len(path) + 1):
            out[path[:i]] = out.get(path[:i], 0) + size
    return out


class Restricted(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("a snapshot has no classes: %s.%s" % (module, name))


def play(snapshot, device):
    """(held, held at the peak) of a device: pairs of frames and size, from the history played forwards."""
    blocks = [b for s in snapshot["segments"] if s["device"] == device for b in s["blocks"] if b["state"] == "active_allocated"]
    now = {b["address"]: (b["frames"], b["requested_size"]) for b in blocks}
    events = [e for e in snapshot["device_traces"][device] if e["action"] in ("alloc", "free_requested")]
    # What was there at the beginning: what is freed before it is allocated, and what is held and never allocated.
    live, seen = {}, set()
    for e in events:
        if e["addr"] not in seen and e["action"] == "free_requested":
            live[e["addr"]] = ([], e["size"])
        seen.add(e["addr"])
    for a, b in now.items():
        if a not in seen:
            live[a] = b
    total, best = sum(n for _, n in live.values()), dict(live)
    most = total
    for e in events:
        if e["action"] == "alloc":
            live[e["addr"]] = (e["frames"], e["size"])
            total += e["size"]
        else:
            total -= live.pop(e["addr"])[1]
        if total >= most:
            most, best = total, dict(live)
    return list(now.values()), list(best.values())


def check(path, report, truth=None):
    with open(path, "rb") as f:
        snapshot = Restricted(f).load()
    with open(report) as f:
        report = json.load(f)
    planted = json.load(open(truth)) if truth else None
    wrong = nr = 0
    for scope in report["scopes"]:
        device = int(scope["device"].split(":")[1])
        held, peak = play(snapshot, device)
        want = {"allocator__held_bytes.sum": add_up(held), "allocator__peak_bytes.sum": add_up(peak)}
        regions = {tuple(r["path"]): r["metrics"] for r in scope["regions"]}
        for metric, sums in want.items():
            if planted:
                by_id = {"/".join(k): v for k, v in sums.items()}
                wrong += by_id != planted[device]["held" if "held" in metric else "peak"]
            for region in set(sums) | set(regions):
                nr += 1
                if sums.get(region, 0) != regions.get(region, {}).get(metric):
                    wrong += 1
                    print(metric, region, sums.get(region), regions.get(region, {}).get(metric))
        reserved = sum(s["total_size"] for s in snapshot["segments"] if s["device"] == device)
        facts = next(d for d in report["capture"]["devices"] if d["id"] == device)["attributes"]
        wrong += facts["allocator__reserved_bytes"] != reserved
    print("%d figures, %d wrong" % (nr, wrong))
    return wrong or not nr


# --- hostile ------------------------------------------------------------------------------------------

REFUSED = {
    "GLOBAL": b"cos\nsystem\n", "REDUCE": b"]]R", "BUILD": b"}}b", "INST": b"(ios\nsystem\n", "OBJ": b"(]o", "NEWOBJ": b"])\x81",
    "NEWOBJ_EX": b"])}\x92", "STACK_GLOBAL": b"\x8c\x02os\x8c\x06system\x93", "EXT1": b"\x82\x01", "EXT2": b"\x83\x01\x00",
    "EXT4": b"\x84\x01\x00\x00\x00", "PERSID": b"Pid\n", "BINPERSID": b"]Q", "POP": b"]0", "DUP": b"]2", "NEXT_BUFFER": b"\x97",
    "BYTEARRAY8": b"\x96" + struct.pack("<Q", 0), "EMPTY_SET": b"\x8f", "FROZENSET": b"(\x91", "INT": b"I1\n", "STRING": b"S'a'\n",
}


def hostile(folder):
    os.makedirs(folder, exist_ok=True)
    for name, code in REFUSED.items():
        with open(os.path.join(folder, name), "wb") as f:  # inside a snapshot, behind a list
            f.write(b"\x80\x04}(\x8c\x08segments]\x8c\x01x" + code + b"u.")


if __name__ == "__main__":
    command, *args = sys.argv[1:]
    if command == "make":
        make(int(args[0]), int(args[1]), *args[2:])
    elif command == "hostile":
        hostile(*args)
    else:
        sys.exit(check(*args))
