from . import graphs, nvtx
from .. import _C

_initialized = False


def init():
    global _initialized
    _initialized = True


def take(size):
    """Allocates; the first time, as PyTorch does, CUDA is initialised by it."""
    init()
    _C.held += size
    _C.peak = max(_C.peak, _C.held)


def give(size):
    _C.held -= size


def reset_peak_memory_stats():
    _C.peak = _C.held
