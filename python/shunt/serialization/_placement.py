"""Where load() puts tensors: map_location."""

from shunt import _C


class Placement:
    """Answers, for the name of a storage's device in a file, "cpu" or "meta"."""

    def __init__(self, devices, default):
        self._devices, self._default = devices, default
        self.error = None  # which the program's function raised

    def __call__(self, location):
        return self._devices.get(location, self._default)

    def storage(self, storage, location):
        """The storage to use for one that was read."""
        return storage


class _Function(Placement):
    """A program's function of storages and the names of their devices."""

    def __init__(self, function):
        super().__init__({}, "cpu")
        self._function = function

    def storage(self, storage, location):
        try:
            found = self._function(storage, location)
            if found is not None and not isinstance(found, _C.UntypedStorage):
                raise TypeError("load(): expected what map_location returns to be an UntypedStorage or None, got "
                                f"{type(found).__name__}")
        except Exception as error:
            self.error = error
            raise
        return storage if found is None else found


def _place(device, given):
    try:
        name = _C.device(device).type
    except (RuntimeError, TypeError, AssertionError) as error:
        raise type(error)(f"load(): map_location={given!r}: {error}") from None
    if name not in ("cpu", "meta"):
        raise NotImplementedError(f"load(): map_location={given!r} is not supported: tensors are loaded on the CPU or "
                                  "on meta; copy them to other devices")
    return name


def placement(map_location):
    """The Placement for an argument of load()."""
    if map_location is None:
        return Placement({}, "cpu")
    if isinstance(map_location, (str, _C.device)):
        return Placement({}, _place(map_location, map_location))
    if isinstance(map_location, dict):
        return Placement({str(k): _place(v, map_location) for k, v in map_location.items()}, "cpu")
    if callable(map_location):
        return _Function(map_location)
    raise TypeError("load(): expected map_location to be None, a device, its name, a dictionary of them or a function, "
                    f"got {type(map_location).__name__}")
