"""no_grad, enable_grad, set_grad_enabled and inference_mode: context managers and decorators."""

import functools
import inspect

from shunt import _C


class _Decorator:
    """A context manager that may stand above a function, or a generator function, with or without parentheses."""

    def __call__(self, function):
        if inspect.isclass(function):
            raise TypeError(f"{type(self).__name__} can't decorate a class; decorate its __init__")
        if inspect.isgeneratorfunction(function):
            return self._generator(function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._clone():
                return function(*args, **kwargs)

        return wrapped

    def _generator(self, function):
        # The setting holds while the generator runs, and not while its caller does.
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            try:
                with self._clone():
                    value = generator.send(None)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        with self._clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self._clone():
                            value = generator.throw(error)
                    else:
                        with self._clone():
                            value = generator.send(sent)
            except StopIteration as end:
                return end.value

        return wrapped

    def _clone(self):
        return type(self)()


class _GradMode(_Decorator):
    _on = None

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self if function is None else self(function)

    def __enter__(self):
        self._before = _C.is_grad_enabled()
        _C._set_grad_enabled(self._on)

    def __exit__(self, *error):
        _C._set_grad_enabled(self._before)


class no_grad(_GradMode):
    """Nothing is recorded for gradients in the block, on this thread."""

    _on = False


class enable_grad(_GradMode):
    """Operators are recorded in the block, on this thread, also inside of no_grad."""

    _on = True


class set_grad_enabled(_Decorator):
    """Sets whether operators are recorded, at once; as a context manager, for the block."""

    def __init__(self, mode):
        self._before = _C.is_grad_enabled()
        self._mode = bool(mode)
        _C._set_grad_enabled(self._mode)

    def __call__(self, function):
        _C._set_grad_enabled(self._before)
        return super().__call__(function)

    def __enter__(self):
        _C._set_grad_enabled(self._mode)

    def __exit__(self, *error):
        _C._set_grad_enabled(self._before)

    def _clone(self):
        return set_grad_enabled(self._mode)


class inference_mode(_Decorator):
    """Nothing is recorded in the block, and its tensors have neither version counter nor a part in later graphs."""

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if callable(mode) and not isinstance(mode, bool):
            self._mode = True
            return self(mode)
        self._mode = bool(mode)
        return self

    def __enter__(self):
        self._guard = _C._enter_inference_mode(self._mode)

    def __exit__(self, *error):
        _C._exit_inference_mode(self._guard)

    def _clone(self):
        return inference_mode(self._mode)
