"""Stands in for PyTorch: the classes and functions that sonde --modules guards, laid out as in 2.x."""
_grad = [True]


def is_grad_enabled():
    return _grad[0]


class no_grad:
    def __enter__(self):
        _grad[0] = False

    def __exit__(self, *a):
        _grad[0] = True


from .utils import data
from . import nn, optim, autograd, cuda
