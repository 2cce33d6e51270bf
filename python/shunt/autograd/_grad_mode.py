"""no_grad, enable_grad, set_grad_enabled and inference_mode: context managers and decorators."""

import functools

from shunt import _C

# What `inspect` would say; importing it costs more than the rest of the package.
_CO_GENERATOR = 0x20


def _is_generator_function(function):
    while hasattr(function, "__func__") or isinstance(function, functools.partial):
        function = getattr(function, "__func__", None) or function.func
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & _CO_GENERATOR)


class _Decorator:
    """A context manager that may stand above a function, or a generator function, with or without parentheses."""

    def __call__(self, function):
        if isinstance(function, type):
            _C._warn(
                f"{type(self).__name__}() on a class won't work for ever; expected a function or "
                f"method, such as the class's `__init__`, got {function.__name__}",
                FutureWarning,
            )
        if _is_generator_function(function):
            return self._generator(function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return wrapped

    def _generator(self, function):
        # The setting holds while the generator runs, and not while its caller does.
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            try:
                with self.clone():
                    value = generator.send(None)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            value = generator.throw(error)
                    else:
                        with self.clone():
                            value = generator.send(sent)
            except StopIteration as end:
                return end.value

        return wrapped

    def clone(self):
        """Another one with the same setting."""
        return type(self)()


class no_grad(_C._GradModeBase, _Decorator):
    """Nothing is recorded for gradients in the block, on this thread."""

    _on = False


class enable_grad(_C._GradModeBase, _Decorator):
    """Operators are recorded in the block, on this thread, also inside of no_grad."""

    _on = True


class set_grad_enabled(_Decorator):
    """Sets whether operators are recorded, at once; as a context manager, for the block."""

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                            f"{type(mode).__name__}")
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, function):
        _C._set_grad_enabled(self.prev)
        return super().__call__(function)

    def __enter__(self):
        _C._set_grad_enabled(self.mode)

    def __exit__(self, *error):
        _C._set_grad_enabled(self.prev)

    def __repr__(self):
        return f"shunt.set_grad_enabled(mode={self.mode})"

    def clone(self):
        """Another one with the same setting. Decorated functions get one for each call."""
        return set_grad_enabled(self.mode)


class inference_mode(_Decorator):
    """Nothing is recorded in the block, and its tensors have neither version counter nor a part in later graphs."""

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if isinstance(mode, bool):
            self.mode = mode
            return self
        self.mode = True
        return self(mode)

    def __enter__(self):
        self._guard = _C._enter_inference_mode(self.mode)

    def __exit__(self, *error):
        _C._exit_inference_mode(self._guard)

    def clone(self):
        """Another one with the same setting."""
        return inference_mode(self.mode)
