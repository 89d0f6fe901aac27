import time


class Tensor:
    shape = (1, 1, 2048)

    def itself(self, *_):
        return self

    view = transpose = copy_ = reshape = __add__ = __getitem__ = itself

    def unbind(self, _):
        return self, self, self


class Module:
    def itself(self):
        return self

    half = cuda = eval = itself

    def register_buffer(self, name, tensor):
        setattr(self, name, tensor)

    def __call__(self, x):
        return self.forward(x)


class Linear(Module):
    def __init__(self, *_, **__):
        pass

    def forward(self, x):
        end = time.perf_counter() + 20e-6
        while time.perf_counter() < end:
            pass
        return x


LayerNorm = Linear
ModuleList = list
