"""Schemas of operators as objects: what OpOverload._schema is."""

from shunt import _C

# As PyTorch names types when it prints them: enumerations are ints.
_NAMES = {"Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int", "QScheme": "int"}


class Type:
    """The type of an argument or return, of one of the classes below. `str(type)` is as PyTorch's: "Tensor",
    "Optional[int]", "List[Tensor]"."""

    def __init__(self, kind, optional, is_list, element_optional, fixed_size, text):
        self._kind, self.is_optional, self.is_list = kind, optional, is_list
        self.element_optional, self.fixed_size, self.schema_text = element_optional, fixed_size, text

    def kind(self):
        """The name of the class: "TensorType"."""
        return type(self).__name__.lstrip("_")

    def is_of(self, kind):
        """Whether it is of this kind, or may be: "Generator" of an optional one, too."""
        return self._kind == kind

    def __str__(self):
        if self._kind in ("Dict", "Tuple", "List"):
            return self.schema_text
        text = _NAMES.get(self._kind, self._kind)
        if self.element_optional:
            text = f"Optional[{text}]"
        if self.is_list:
            text = f"List[{text}]"
        return f"Optional[{text}]" if self.is_optional else text

    annotation_str = property(__str__)

    def __repr__(self):
        return str(self)

    def __eq__(self, other):
        return isinstance(other, Type) and self.schema_text == other.schema_text

    def __hash__(self):
        return hash(self.schema_text)


class _SingleType(Type):
    """A type of which there is one."""

    _of = None  # its kind in schemas

    @classmethod
    def get(cls):
        """The type itself."""
        return cls(cls._of, False, False, False, None, cls._of)


class _Containing(Type):
    """A type of values of another."""

    def getElementType(self):
        """The type of what is in it."""
        of_optional = isinstance(self, OptionalType)
        is_list = self.is_list and of_optional
        return make_type(self._kind, self.element_optional and not is_list, is_list, self.element_optional and is_list,
                         self.fixed_size if is_list else None, self.schema_text[:-1] if of_optional else self._element())

    def _element(self):
        return self.schema_text.partition("[")[0]


class OptionalType(_Containing):
    """What may be None."""


class ListType(_Containing):
    """Lists."""


def _single(name, kind):
    return type(name, (_SingleType,), {"_of": kind, "__module__": __name__, "__doc__": f"{kind} of schemas."})


TensorType = _single("TensorType", "Tensor")
NumberType = _single("NumberType", "Scalar")
IntType = _single("IntType", "int")
FloatType = _single("FloatType", "float")
BoolType = _single("BoolType", "bool")
StringType = _single("StringType", "str")
DeviceObjType = _single("DeviceObjType", "Device")
_GeneratorType = _single("_GeneratorType", "Generator")

_CLASSES = {c._of: c for c in (TensorType, NumberType, IntType, FloatType, BoolType, StringType, DeviceObjType,
                               _GeneratorType)}
_CLASSES |= dict.fromkeys(("ScalarType", "Layout", "MemoryFormat", "QScheme", "SymInt"), IntType)


def make_type(kind, optional, is_list, element_optional, fixed_size, text):
    """The type of these parts, an object of the class for them."""
    cls = OptionalType if optional else ListType if is_list else _CLASSES.get(kind, Type)
    return cls(kind, optional, is_list, element_optional, fixed_size, text)


class AliasInfo:
    """Which memory an argument may share, and whether the operator writes to it."""

    def __init__(self, before_set, after_set, is_write):
        self.before_set, self.after_set, self.is_write = before_set, after_set, is_write

    def __repr__(self):
        return f"({'|'.join(sorted(self.before_set))}{'!' if self.is_write else ''})"


class Argument:
    """One argument or return: name, type, default_value, kwarg_only, is_out, alias_info."""

    def __init__(self, name, type_parts, has_default, default, kwarg_only, alias):
        self.name = name
        self.type = self.real_type = make_type(*type_parts)
        self.N = self.type.fixed_size
        self.default_value = default
        self.kwarg_only = kwarg_only
        self.alias_info = None if alias is None else AliasInfo(*alias)
        self._has_default = has_default

    @property
    def is_write(self):
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self):
        return self.kwarg_only and self.is_write

    def has_default_value(self):
        return self._has_default

    def __repr__(self):
        default = f"={self.default_value!r}" if self._has_default else ""
        return f"{self.type.schema_text} {self.name}{default}".rstrip()


class FunctionSchema:
    """An operator's schema: name, overload_name, arguments, returns. `str(schema)` is its text."""

    def __init__(self, name, overload_name, arguments, returns, is_vararg, is_varret, text):
        self.name, self.overload_name = name, overload_name
        self.arguments = [Argument(*a) for a in arguments]
        self.returns = [Argument(*r) for r in returns]
        self.is_vararg, self.is_varret = is_vararg, is_varret
        self._text = text

    @property
    def is_mutable(self):
        return any(a.is_write for a in self.arguments)

    def __str__(self):
        return self._text

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and self._text == other._text

    def __hash__(self):
        return hash(self._text)


def parse_schema(text):
    """The schema that a text like "my::op(Tensor x, *, int n=1) -> Tensor" describes. A RuntimeError shows where it is
    wrong."""
    return FunctionSchema(*_C._schema_parts(text))
