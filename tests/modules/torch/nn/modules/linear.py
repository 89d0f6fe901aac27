from .module import Module


class Linear(Module):
    def forward(self, x):
        return 2 * x
