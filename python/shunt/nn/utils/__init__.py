"""What training does to gradients and parameters."""

from shunt.nn.utils._clip import clip_grad_norm_, clip_grad_value_, get_total_norm
from shunt.nn.utils._vector import parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "vector_to_parameters"]
