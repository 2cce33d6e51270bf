"""Settings for CUDA, which nothing here reads."""

import types

#: Settings of matrix products.
matmul = types.SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True
)


def is_built():
    """False: Shunt is built without CUDA."""
    return False
