from .module import Module
from .container import ModuleList, Sequential
from .linear import Linear
