"""Layers that take their number of inputs from the first input that they see."""

from shunt import _operators
from shunt.nn.modules import batchnorm, conv, instancenorm, linear
from shunt.nn.modules._settings import check_sizes
from shunt.nn.parameter import UninitializedBuffer, UninitializedParameter


def is_lazy(tensor):
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(tensor, (UninitializedBuffer, UninitializedParameter))


class LazyModuleMixin:
    """The part of a lazy module that waits for the first input.

    A derived class names the class that the module becomes, `cls_to_become`, and defines initialize_parameters(*args),
    which
    gives shapes to what is uninitialised. Until then its parameters can be moved and cast, but not computed with.
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        self._load_hook = self._register_load_state_dict_pre_hook(self._take_shapes)

    def initialize_parameters(self, *args, **kwargs):
        """Gives shapes to the parameters, from the arguments of forward."""
        raise NotImplementedError(f"{type(self).__name__} has no initialize_parameters(); a lazy module defines one")

    def has_uninitialized_params(self):
        """Whether there are parameters or buffers without a shape."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self, module, args, kwargs):
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(
                f"{type(self).__name__}: expected initialize_parameters() to fill all parameters, got some without a "
                "shape"
            )
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become

    def _take_shapes(self, state_dict, prefix, *args):
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            saved = state_dict.get(prefix + name)
            if is_lazy(tensor) and saved is not None and not is_lazy(saved):
                tensor.materialize(saved.shape)


class LazyLinear(LazyModuleMixin, linear.Linear):
    """Linear, whose in_features are the last size of the first input."""

    cls_to_become = linear.Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        options = {"device": device, "dtype": dtype}
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(**options)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(**options)

    def reset_parameters(self):
        """Draws the parameters, where they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Gives the weight and the bias their shapes."""
        self.in_features = input.shape[-1]
        if self.has_uninitialized_params():
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()


class _LazyConv(LazyModuleMixin):
    def __init__(self, out_channels, kernel_size, *args, **kwargs):
        names = ("stride", "padding", *self._after_padding, "padding_mode", "device", "dtype")
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__}() takes at most {len(names) + 2} arguments, got {len(args) + 2}")
        settings = {**dict(zip(names, args)), **kwargs}
        bias = settings.pop("bias", True)
        options = {name: settings.get(name) for name in ("device", "dtype")}
        super().__init__(0, 0, kernel_size, bias=False, **{**settings, "groups": 1})
        check_sizes(type(self).__name__, out_channels=out_channels, groups=settings.get("groups", 1))
        self.groups, self.out_channels = settings.get("groups", 1), out_channels
        self.weight = UninitializedParameter(**options)
        if bias:
            self.bias = UninitializedParameter(**options)

    def reset_parameters(self):
        """Draws the parameters, where they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Gives the weight and the bias their shapes. RuntimeError for another number of dimensions."""
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"{type(self).__name__}: expected input with {n + 1} or, for a batch, {n + 2} dimensions, got "
                f"{list(input.shape)}"
            )
        channels = input.shape[input.dim() - n - 1]
        if channels % self.groups != 0:
            raise ValueError(
                f"{type(self).__name__}: expected groups that divide in_channels, {channels}, got {self.groups}"
            )
        self.in_channels = channels
        if not self.has_uninitialized_params():
            return  # a state_dict gave the shapes
        first, second = (channels, self.out_channels) if self.transposed else (self.out_channels, channels)
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyNorm(LazyModuleMixin):
    def __init__(
        self, eps=1e-5, momentum=0.1, affine=None, track_running_stats=None, device=None, dtype=None, *, bias=True
    ):
        defaults = self._defaults
        affine, track = (
            defaults if affine is None else affine,
            defaults if track_running_stats is None else track_running_stats,
        )
        options = {"device": device, "dtype": dtype}
        super().__init__(0, eps, momentum, False, False, **options)
        self.affine, self.track_running_stats = affine, track
        if affine:
            self.weight = UninitializedParameter(**options)
            if bias:
                self.bias = UninitializedParameter(**options)
        if track:
            self.running_mean, self.running_var = UninitializedBuffer(**options), UninitializedBuffer(**options)
            self.num_batches_tracked = _operators.zeros((), dtype=int, device=device)

    def reset_parameters(self):
        """Sets the parameters, where they have a shape."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Gives parameters and buffers one element for each channel."""
        # Instances come without a batch, too.
        self.num_features = input.shape[1 if input.dim() == max(self._dims) or self._defaults else 0]
        if self.has_uninitialized_params():
            for tensor in (*self._parameters.values(), *self._buffers.values()):
                if is_lazy(tensor):
                    tensor.materialize((self.num_features,))
            self.reset_parameters()


def _lazy(base, lazy_base, takes, **more):
    """The lazy form of a class."""
    return type(
        "Lazy" + base.__name__,
        (lazy_base, base),
        {
            "cls_to_become": base,
            "__doc__": f"{base.__name__}, whose {takes} are those of the first input.",
            "__module__": "shunt.nn",
            "__qualname__": "Lazy" + base.__name__,
            **more,
        },
    )


_CONV, _TRANSPOSED = ("dilation", "groups", "bias"), ("output_padding", "groups", "bias", "dilation")
LazyConv1d, LazyConv2d, LazyConv3d = (
    _lazy(base, _LazyConv, "in_channels", _after_padding=_CONV) for base in (conv.Conv1d, conv.Conv2d, conv.Conv3d)
)
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(base, _LazyConv, "in_channels", _after_padding=_TRANSPOSED)
    for base in (conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d)
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazy(base, _LazyNorm, "num_features", _defaults=True)
    for base in (batchnorm.BatchNorm1d, batchnorm.BatchNorm2d, batchnorm.BatchNorm3d)
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(base, _LazyNorm, "num_features", _defaults=False)
    for base in (instancenorm.InstanceNorm1d, instancenorm.InstanceNorm2d, instancenorm.InstanceNorm3d)
)
