"""Names of special methods, which Python calls without code that names them: where a class gets one, its objects behave
otherwise."""

NAMES = frozenset(
    f"__{name}__"
    for name in (
        "abs add aenter aexit aiter and anext array array_function array_ufunc await bool bytes call ceil class "
        "class_getitem complex contains del delattr delete delitem dict dir divmod enter eq exit float floor floordiv "
        "format fspath ge get getattr getattribute getitem gt hash iadd iand ifloordiv ilshift imatmul imod imul index "
        "init init_subclass instancecheck int invert ior ipow irshift isub iter itruediv ixor le len length_hint "
        "lshift lt match_args matmul missing mod mul ne neg new next or pos pow prepare radd rand rdivmod repr "
        "reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor set setattr "
        "setitem str sub subclasscheck subclasshook torch_dispatch torch_function truediv trunc xor"
    ).split()
)
