"""The schema that a function's annotations describe."""

import inspect
import typing

from shunt import _C
from shunt._C import device, dtype, layout, memory_format


def _types():
    import shunt
    return {shunt.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType",
            device: "Device", layout: "Layout", memory_format: "MemoryFormat", shunt.Generator: "Generator",
            typing.Union[int, float, bool]: "Scalar", typing.Union[int, float]: "Scalar", complex: "Scalar"}


_SEQUENCES = ("list", "List", "Sequence")


def _is_union(annotation):
    import types
    return typing.get_origin(annotation) is typing.Union or (hasattr(types, "UnionType") and
                                                             isinstance(annotation, types.UnionType))


def _element(annotation):
    """T of a list or sequence of T; None for other annotations."""
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is not None and getattr(origin, "__name__", "") in _SEQUENCES and len(arguments) == 1:
        return arguments[0]
    return None


def _schema_type(annotation, types):
    if annotation in types:
        return types[annotation]
    element = _element(annotation)
    if element is not None:
        inner = _schema_type(element, types)
        return None if inner is None or inner.endswith("]") else inner + "[]"
    if _is_union(annotation):
        parts = [a for a in typing.get_args(annotation) if a is not type(None)]
        optional = len(parts) < len(typing.get_args(annotation))
        if optional:
            inner = _schema_type(parts[0], types) if len(parts) == 1 else (
                "Scalar" if all(p in (int, float, bool, complex) for p in parts) else None)
            return None if inner is None else inner + "?"
        if all(p in (int, float, bool, complex) for p in parts):
            return "Scalar"
    return None


def _return_types(annotation, types, refuse):
    if annotation in (None, type(None)):
        return "()"
    if typing.get_origin(annotation) is tuple:
        parts = typing.get_args(annotation)
        if len(parts) == 2 and parts[1] is Ellipsis:
            refuse(f"return type {annotation}: a tuple needs a fixed number of elements")
    else:
        parts = (annotation,)
    texts = [_schema_type(p, types) for p in parts]
    for part, text in zip(parts, texts):
        if text is None or text.endswith("?"):
            refuse(f"return type {part} is not supported")
    texts = ["int" if t == "SymInt" else t for t in texts]
    return texts[0] if len(texts) == 1 and typing.get_origin(annotation) is not tuple else f"({', '.join(texts)})"


def _default_text(value, name, refuse):
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dtype):
        return str(value).split(".")[-1]
    if isinstance(value, device):
        return f'"{value}"'
    refuse(
        f"expected the default of {name} to be None, int, float, bool, str, dtype or device, got {type(value).__name__}"
    )


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema, "(Tensor x, int n=1) -> Tensor", of a function with annotations.

    Args:
        mutates_args: names of the arguments that the function writes; "unknown" for all tensors.
        op_name: what the schema's text begins with, if anything.

    A ValueError says which parameter has no type, or one that operators don't have.
    """
    signature = inspect.signature(prototype_function)
    try:
        hints = typing.get_type_hints(prototype_function)
    except Exception:
        hints = dict(getattr(prototype_function, "__annotations__", {}))
    types = _types()

    def refuse(why):
        raise ValueError(f"infer_schema(): {why}; the signature is {signature}")

    mutated = set() if mutates_args == "unknown" else set(mutates_args)
    seen, params, keyword_only = set(), [], False
    for index, (name, p) in enumerate(signature.parameters.items()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            refuse(f"expected parameters that can be given by name, got {p}")
        if p.kind == p.KEYWORD_ONLY and not keyword_only:
            params.append("*")
            keyword_only = True
        if name not in hints:
            refuse(f"parameter {name} must have a type annotation, got none")
        text = _schema_type(hints[name], types)
        if text is None:
            refuse(
                f"parameter {name} has the unsupported type {hints[name]}; expected Tensor, int, float, bool, str, "
                "dtype, device, layout, memory_format or Generator, Optional of these, or List or Sequence of the "
                "first five"
            )
        if mutates_args == "unknown" and text.startswith("Tensor") or name in mutated:
            if not text.startswith("Tensor"):
                refuse(
                    f"parameter {name} is in mutates_args, expected Tensor or a list of Tensors there, got "
                    f"{hints[name]}"
                )
            text = text.replace("Tensor", f"Tensor(a{index}!)", 1)
        seen.add(name)
        default = "" if p.default is p.empty else "=" + _default_text(p.default, name, refuse)
        params.append(f"{text} {name}{default}")
    if mutated - seen:
        raise ValueError(
            f"infer_schema(): expected mutates_args out of the function's parameters {list(signature.parameters)}, got "
            f"{sorted(mutated - seen)}, not found there"
        )
    returns = hints.get("return", signature.return_annotation)
    if returns is inspect.Signature.empty:
        refuse("expected an annotation of what is returned, got none")
    result = _return_types(returns, types, refuse)
    text = f"({', '.join(params)}) -> {result}"
    _C._schema_parts("check::check" + text)
    return text if op_name is None else op_name + text
