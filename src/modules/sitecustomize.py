# Regions for a PyTorch program that has no annotations (sonde run --modules).
#
# Python runs this file at its start, because its folder comes first in PYTHONPATH. It runs the user's own
# sitecustomize, waits until torch has been imported, and puts guards (modules.c) in place of the calls that become
# ranges. If anything is odd it switches itself off with one line and leaves the program as it was.
#
# SONDE_MODULES: "auto" (leaves lose their ranges where these cost too much), "all", or the depth of the deepest modules
# that get ranges.
import os
import sys


def _say(why):
    sys.stderr.write("sonde: --modules is off in process %d: %s\n" % (os.getpid(), why))


def _run_the_users_own(here):
    """Runs the sitecustomize that Python would have found without ours, in place of this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    sys.path_importer_cache.pop(here, None)
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None:  # Python ignores this error: it means that the machine has no sitecustomize
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    sys.modules["sitecustomize"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["sitecustomize"])


class _Library:
    """libsonde_modules.so, by ctypes: its functions are called with the interpreter's lock held."""

    def __init__(self, path):
        import ctypes

        lib = ctypes.PyDLL(path)
        self.null = ctypes.py_object()
        self.object = ctypes.py_object
        self.guard = lib.sonde_modules_guard
        self.guard.restype = ctypes.py_object
        self.guard.argtypes = [ctypes.py_object, ctypes.c_int, ctypes.py_object, ctypes.c_char_p]
        self.steps = lib.sonde_modules_steps
        self.steps.restype = None
        self.steps.argtypes = [ctypes.py_object]
        self.memory = lib.sonde_modules_memory
        self.memory.restype = None
        self.memory.argtypes = [ctypes.py_object, ctypes.py_object, ctypes.py_object]
        self.name = lib.sonde_modules_name
        self.name.restype = None
        self.name.argtypes = [ctypes.py_object, ctypes.c_char_p, ctypes.c_int]
        self.forget = lib.sonde_modules_forget
        self.forget.restype = None
        self.forget.argtypes = [ctypes.c_void_p]
        self.outermost = lib.sonde_modules_outermost
        self.outermost.restype = ctypes.py_object
        self.depth = lib.sonde_modules_depth
        self.depth.restype = ctypes.c_uint
        self.limit = lib.sonde_modules_limit
        self.limit.restype = None
        self.limit.argtypes = [ctypes.c_uint, ctypes.c_int]
        self.end = lib.sonde_modules_end
        self.end.restype = None
        self.left_leaves = lib.sonde_modules_left_leaves


class _Names:
    """Names of modules: the path of attributes that leads to each from the module around it."""

    def __init__(self, library, module_class):
        import weakref

        self.library = library
        self.named_modules = module_class.named_modules
        self.no_forward = getattr(module_class, "forward", None)
        self.ref = weakref.ref
        self.refs = {}  # weak references by address; when a module is destroyed, its name is forgotten

    def put(self, module, label, is_leaf):
        address = id(module)
        if address in self.refs:
            return

        def forget(_, self=self, address=address):
            self.library.forget(address)
            self.refs.pop(address, None)

        self.refs[address] = self.ref(module, forget)
        self.library.name(module, label.encode("utf-8", "backslashreplace"), is_leaf)

    def put_all(self, root):
        """Names a root by its class, and the modules inside by their paths from the nearest module that can be called."""
        can_be_called = set()
        self.put(root, type(root).__name__, not root._modules)
        for path, module in self.named_modules(root):
            around = path.rpartition(".")[0]
            while around and around not in can_be_called:
                around = around.rpartition(".")[0]
            if getattr(type(module), "forward", None) is not self.no_forward:
                can_be_called.add(path)
            if path:
                self.put(module, path[len(around) + 1 :] if around else path, not module._modules)

    def __call__(self, module):
        """Called by a guard for a module that has no name yet."""
        if self.library.depth():
            self.put_all(self.library.outermost())  # the module was added since the root was named
            self.put(module, type(module).__name__, not module._modules)
        else:
            self.put_all(module)


# How a guard is used: enum use of modules.c.
_RANGE, _MODULE, _LOADER, _OPTIMIZER, _OWN_PUSH, _OWN_POP, _INDEX = range(7)

_COLLECTIVES = (
    "all_reduce all_gather all_gather_into_tensor all_gather_object all_to_all all_to_all_single barrier broadcast "
    "broadcast_object_list gather reduce reduce_scatter reduce_scatter_tensor scatter send recv"
).split()


class _Watcher:
    """A finder that Python asks at each import. It finds nothing, but guards what has been imported by then."""

    def __init__(self, library):
        self.library = library
        self.waiting = {
            "torch.nn.modules.module": self.guard_modules,
            "torch.optim.optimizer": self.guard_optimizers,
            "torch.autograd": self.guard_backward,
            "torch.utils.data.dataloader": self.guard_loading,
            "torch.distributed.distributed_c10d": self.guard_collectives,
            "torch.cuda.nvtx": self.guard_own_ranges,
            "torch.cuda.graphs": self.guard_graphs,
            "torch": self.guard_steps,
            "torch.cuda": self.read_memory,
        }

    def find_spec(self, name, path=None, target=None):
        if "torch" in sys.modules:
            self.look()
        return None

    def look(self):
        for name in list(self.waiting):
            module = sys.modules.get(name)
            spec = getattr(module, "__spec__", None)
            if module is None or getattr(spec, "_initializing", False):
                continue
            guard = self.waiting.pop(name)
            try:
                guard(module)
            except Exception as e:
                self.waiting.clear()
                _say("this version of PyTorch is not supported: hooking %s failed (%s)" % (name, e))
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)

    def put_guard(self, owner, name, label, use=_RANGE):
        setattr(owner, name, self.library.guard(getattr(owner, name), use, self.library.null, label and label.encode()))

    def guard_modules(self, module):
        names = _Names(self.library, module.Module)
        seen = self

        def name_it(m):
            seen.look()  # puts guards into what was imported last, too
            names(m)

        module.Module.__call__ = self.library.guard(module.Module.__call__, _MODULE, name_it, None)

    def guard_optimizers(self, module):
        """Each class has its own step. PyTorch hooks it when the first optimizer of the class is made; so do we."""
        library = self.library
        name = next(n for n in ("_patch_step_function", "_hook_for_profile") if hasattr(module.Optimizer, n))
        hook = getattr(module.Optimizer, name)

        def hook_step(self):
            hook(self)
            step = type(self).step
            if type(step).__name__ != "guard":
                label = (type(self).__name__ + ".step").encode()
                type(self).step = library.guard(step, _OPTIMIZER, library.null, label)

        setattr(module.Optimizer, name, hook_step)

    def guard_backward(self, module):
        self.put_guard(module, "backward", "backward")

    def guard_loading(self, module):
        self.put_guard(module._BaseDataLoaderIter, "__next__", "DataLoader", _LOADER)
        if hasattr(module._BaseDataLoaderIter, "_next_index"):
            self.put_guard(module._BaseDataLoaderIter, "_next_index", None, _INDEX)

    def guard_graphs(self, module):
        self.put_guard(module.CUDAGraph, "replay", "CUDAGraph.replay")

    def guard_own_ranges(self, module):
        self.put_guard(module, "range_push", None, _OWN_PUSH)
        self.put_guard(module, "range_pop", None, _OWN_POP)

    def guard_steps(self, module):
        self.library.steps(module.is_grad_enabled)

    def read_memory(self, module):
        """Builds of torch without CUDA do not have these functions. Only sonde's own capture uses the readings."""
        torch = sys.modules.get("torch")
        stats = getattr(getattr(torch, "_C", None), "_cuda_memoryStats", None)
        device = getattr(getattr(torch, "_C", None), "_cuda_getDevice", None)
        if stats is not None and device is not None and os.environ.get("SONDE_INJECT_CONFIG"):
            self.library.memory(stats, device, vars(module))

    def guard_collectives(self, module):
        around = sys.modules.get("torch.distributed")
        for name in _COLLECTIVES:
            was = getattr(module, name, None)
            if was is None:
                continue
            self.put_guard(module, name, name)
            if getattr(around, name, None) is was:
                setattr(around, name, getattr(module, name))


def _end(library):
    """At the program's end: closes the last step; if leaves lost their ranges, leaves a file for the report."""
    library.end()
    config = os.environ.get("SONDE_INJECT_CONFIG", "")
    if library.left_leaves() and config:
        try:
            with open(os.path.join(os.path.dirname(config), "modules-%d.left" % os.getpid()), "w") as f:
                f.write("leaves\n")
        except OSError:
            pass


def _begin(here):
    asked = os.environ.get("SONDE_MODULES", "")
    if not asked:
        return
    if object.__basicsize__ != 16 or not getattr(sys, "_is_gil_enabled", lambda: True)():
        _say("this Python is a free-threaded or debug build")
        return
    if sys.implementation.name != "cpython":
        _say("this is %s, not CPython" % sys.implementation.name)
        return
    library = _Library(os.path.join(here, "libsonde_modules.so"))
    library.limit(int(asked) if asked.isdigit() else 0, 0 if asked == "auto" else 1)
    sys.meta_path.insert(0, _Watcher(library))
    import atexit

    atexit.register(_end, library)


_here = os.path.dirname(os.path.abspath(__file__))
try:
    _begin(_here)
except Exception as e:
    _say(e)
_run_the_users_own(_here)
