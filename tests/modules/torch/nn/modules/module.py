def _forward_unimplemented(self, *a):
    raise NotImplementedError("no forward")


class Module:
    forward = _forward_unimplemented

    def __init__(self):
        self.__dict__["_modules"] = {}
        self.training = True

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self._modules[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        if name != "_modules" and name in self.__dict__.get("_modules", {}):
            return self._modules[name]
        raise AttributeError("%s has no %s" % (type(self).__name__, name))

    def named_modules(self, memo=None, prefix=""):
        memo = set() if memo is None else memo
        if self not in memo:
            memo.add(self)
            yield prefix, self
            for name, m in self._modules.items():
                yield from m.named_modules(memo, prefix + ("." if prefix else "") + name)

    def eval(self):
        self.training = False
        return self

    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    __call__ = _wrapped_call_impl
