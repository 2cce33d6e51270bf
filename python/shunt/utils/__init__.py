"""Tools besides tensors and operators."""
