"""shunt.Tag: properties that operators are marked with, and OpOverload.tags."""

import enum

__all__ = ["Tag", "tags_of"]

#: The tags by PyTorch's names. Operators here are marked with those of `tags_of`, and with what define() was given.
Tag = enum.IntEnum("Tag", [
    "core", "cudagraph_unsafe", "data_dependent_output", "dynamic_output_shape", "flexible_layout", "generated",
    "inplace", "inplace_view", "maybe_aliasing_or_mutating", "needs_contiguous_strides", "needs_exact_strides",
    "needs_fixed_stride_order", "nondeterministic_bitwise", "nondeterministic_seeded", "out", "out_variant", "pointwise",
    "pt2_compliant_tag", "reduction", "view_copy"
], start=0, module=__name__)

_DYNAMIC_SHAPE = frozenset(("argwhere", "bincount", "index.Tensor", "masked_select", "masked_select.out", "nonzero",
                            "nonzero.out", "one_hot", "repeat_interleave.Tensor", "unique_consecutive", "_unique2",
                            "unique_dim", "unique_dim_consecutive"))
_READS_DATA = frozenset(("allclose", "equal", "item", "_local_scalar_dense"))
_CHANGES_VIEW = frozenset(("as_strided_", "detach_", "resize_", "resize_as_", "set_", "squeeze_", "swapaxes_",
                           "swapdims_", "t_", "transpose_", "unsqueeze_"))
# Random without an argument for a generator.
_DRAWS = frozenset(("dropout", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
                    "scaled_dot_product_attention"))

_given = {}  # of define(), by the operator's name


def give(name, tags):
    """Keeps the tags that an operator was defined with."""
    tags = (tags,) if isinstance(tags, Tag) else tuple(tags or ())
    if tags:
        _given[name] = tags
    else:
        _given.pop(name, None)


def tags_of(op):
    """The tags of an OpOverload, a list: out, inplace, nondeterministic_seeded, inplace_view, dynamic_output_shape and
    data_dependent_output, which follow from what it is, and those that it was defined with."""
    name = op.name()
    namespace, _, own = name.partition("::")
    schema = op._schema
    base = own.partition(".")[0]
    tags = set(_given.get(name, ()))
    if any(a.is_out for a in schema.arguments):
        tags.add(Tag.out)
    if base.endswith("_") and not base.endswith("__") and schema.arguments and schema.arguments[0].is_write:
        tags.add(Tag.inplace)
    if any(a.type.is_of("Generator") for a in schema.arguments):
        tags.add(Tag.nondeterministic_seeded)
    if namespace == "aten":
        if base in _DRAWS:
            tags.add(Tag.nondeterministic_seeded)
        if base in _CHANGES_VIEW:
            tags.add(Tag.inplace_view)
        if own in _DYNAMIC_SHAPE:
            tags.add(Tag.dynamic_output_shape)
        if own in _READS_DATA:
            tags.add(Tag.data_dependent_output)
    return sorted(tags)
