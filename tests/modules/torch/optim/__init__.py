from .optimizer import Optimizer, SGD
