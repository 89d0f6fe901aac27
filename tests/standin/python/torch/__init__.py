"""A stand-in for PyTorch: as much of it as workloads/torch_decode.py calls. A layer is a moment of the CPU; nothing is calculated."""
import contextlib
import time
import types

from torch import nn

half = "half"


@contextlib.contextmanager
def inference_mode():
    yield


def manual_seed(seed):
    pass


def randn(*shape, **_):
    return nn.Tensor()


def synchronize():
    time.sleep(0)


cuda = types.SimpleNamespace(nvtx=types.SimpleNamespace(range=contextlib.nullcontext), synchronize=synchronize)
