"""CompiledModule: what shunt.compile() makes of a module."""

from shunt.nn.modules.module import Module


class CompiledModule(Module):
    """A module that runs another one, its only part `_orig_mod`, as a graph. Attributes are those of the other."""

    def __init__(self, module, compiled):
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_compiled", compiled)
        object.__setattr__(self, "training", module.training)

    def forward(self, *args, **kwargs):
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_orig_mod":
                raise
        # explain(), graph(), counts() ... are the compiled function's.
        return getattr(self._compiled if hasattr(type(self._compiled), name) else self._orig_mod, name)

    def __len__(self):
        return len(self._orig_mod)

    def __getitem__(self, index):
        return self._orig_mod[index]

    def __iter__(self):
        return iter(self._orig_mod)

    def __reduce__(self):
        return _compile_again, (self._orig_mod,)

    def __deepcopy__(self, memo):
        import copy
        return _compile_again(copy.deepcopy(self._orig_mod, memo))


def _compile_again(module):
    from shunt import compile
    return compile(module)
