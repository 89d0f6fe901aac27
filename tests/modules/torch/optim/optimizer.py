import functools


class Optimizer:
    def __init__(self):
        self._patch_step_function()

    @staticmethod
    def profile_hook_step(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            return func(*args, **kwargs)

        return wrapper

    def _patch_step_function(self):
        if not getattr(self.__class__.step, "hooked", None):
            self.__class__.step = self.profile_hook_step(self.__class__.step)
            self.__class__.step.hooked = True


class SGD(Optimizer):
    def step(self):
        return "stepped"
