"""state_dict and load_state_dict: a module's parameters and persistent buffers by path."""

from collections import OrderedDict, namedtuple

from shunt._tensor import Tensor
from shunt.nn.parameter import Parameter

_EXTRA = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict found on one side only."""

    __slots__ = ()

    def __repr__(self):
        return ("<All keys matched successfully>" if not self.missing_keys and not self.unexpected_keys
                else super().__repr__())

    __str__ = __repr__


class StateMixin:
    """The part of Module that saves and loads."""

    def _persistent(self):
        yield from self._parameters.items()
        for name, buffer in self._buffers.items():
            if name not in self._non_persistent_buffers_set:
                yield name, buffer

    def get_extra_state(self):
        """State that is no tensor, for state_dict: defined by classes that have any, with set_extra_state."""
        raise RuntimeError(
            f"{type(self).__name__}.get_extra_state(): expected a class with state that is no tensor to define it"
        )

    def set_extra_state(self, state):
        """Takes what get_extra_state() gave."""
        raise RuntimeError(
            f"{type(self).__name__}.set_extra_state(): expected a class with state that is no tensor to define it"
        )

    def _has_extra_state(self):
        return type(self).get_extra_state is not StateMixin.get_extra_state

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._persistent():
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        if self._has_extra_state():
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by path, sharing memory with the module.

        Args:
            destination: a dictionary to add to.
            prefix: what paths begin with.
            keep_vars: the Parameters themselves, instead of detached tensors.
        """
        if args:
            names = ("destination", "prefix", "keep_vars")
            given = dict(zip(names, args))
            destination, prefix = given.get("destination", destination), given.get("prefix", prefix)
            keep_vars = given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self.__dict__.get("_state_dict_pre_hooks", {}).values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self.__dict__.get("_state_dict_hooks", {}).values():
            result = hook(self, destination, prefix, metadata)
            destination = destination if result is None else result
        return destination

    def _add_state_hook(self, table, hook):
        from shunt.nn.modules._hooks import RemovableHandle
        hooks = self.__dict__.setdefault(table, OrderedDict())
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def register_state_dict_pre_hook(self, hook):
        """hook(module, prefix, keep_vars) before state_dict() looks at the module."""
        return self._add_state_hook("_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata) after."""
        return self._add_state_hook("_state_dict_hooks", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) before
        loading."""
        return self._add_state_hook("_load_state_dict_pre_hooks", lambda *args: hook(self, *args))

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return self._add_state_hook("_load_state_dict_pre_hooks",
                                    (lambda *args: hook(self, *args)) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook):
        """hook(module, incompatible_keys) after loading; it may change the lists."""
        return self._add_state_hook("_load_state_dict_post_hooks", hook)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        for hook in self.__dict__.get("_load_state_dict_pre_hooks", {}).values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, value in self._persistent():
            if value is None:
                continue
            key = prefix + name
            if key in state_dict:
                self._load_one(name, value, state_dict[key], key, assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA
        if self._has_extra_state():
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            known = {name for name, value in self._persistent() if value is not None} | set(self._modules)
            for key in state_dict:
                if key.startswith(prefix) and key != extra and key[len(prefix):].split(".", 1)[0] not in known:
                    unexpected_keys.append(key)

    def _load_one(self, name, value, given, key, assign, error_msgs):
        from shunt.autograd import no_grad
        if not isinstance(given, Tensor):
            error_msgs.append(f"{key}: expected a Tensor, got {type(given).__name__}")
            return
        if given.shape != value.shape and not (given.dim() == 1 and given.numel() == 1 and value.dim() == 0):
            error_msgs.append(
                f"size mismatch for {key}: expected shape {tuple(value.shape)}, as the module has, got "
                f"{tuple(given.shape)}"
            )
            return
        try:
            with no_grad():
                if assign and isinstance(value, Parameter):
                    setattr(self, name, given if isinstance(given,
                                                            Parameter) else Parameter(given, value.requires_grad))
                elif assign:
                    setattr(self, name, given)
                else:
                    value.copy_(given.reshape(value.shape))
        except Exception as error:
            error_msgs.append(
                f"{key}: copying shape {tuple(given.shape)} to {tuple(value.shape)} raised {type(error).__name__}: "
                f"{error}"
            )

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the values of a state_dict into the module's tensors.

        Args:
            strict: RuntimeError where keys are missing or unexpected.
            assign: takes the tensors themselves instead of copying.
        Returns the missing and the unexpected keys.
        """
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"load_state_dict(): expected a dict, got {type(state_dict).__name__}")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)

        def load(module, prefix):
            local = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
            if assign:
                local["assign_to_params_buffers"] = True
            module._load_from_state_dict(state_dict, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    load(child, f"{prefix}{name}.")
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in module.__dict__.get("_load_state_dict_post_hooks", {}).values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "load_state_dict(): expected a hook of register_load_state_dict_post_hook() to return None; it "
                        "may change the keys that it gets"
                    )

        load(self, "")
        if strict:
            for keys, which in ((missing, "Missing"), (unexpected, "Unexpected")):
                if keys:
                    errors.insert(0, f"{which} key(s) in state_dict: " + ", ".join(f'"{key}"' for key in keys))
        if errors:
            found = "\n\t".join(errors)
            raise RuntimeError(f"load_state_dict(): the state_dict doesn't fit {type(self).__name__}:\n\t{found}")
        return _IncompatibleKeys(missing, unexpected)
