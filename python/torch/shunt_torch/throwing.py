"""Which operators raise no error, whatever elements their tensors have. Errors of sizes and types don't count: these
are guarded.

A replay that meets an error after it has written something runs no handler of the function's, so a function with one is
captured only if all operators in its reach are listed here. What isn't listed may throw: indices out of range, matrices
without inverse, probabilities above 1, integers divided by 0. The lists were found by experiment: each operator that
PyTorch's table of operators calls, forward and backward, ran with its samples' elements replaced by zeros, ones, the
largest and smallest numbers, infinities, NaN and random numbers; tests/torch/test_throwing.py repeats that. Those that
the table doesn't call were added by reading what they do.
"""

from __future__ import annotations

from typing import Any, Iterator

import torch

# Without "aten::", "_foreach_", and the "_" at the end of those in place.
_NEVER = frozenset("""
    _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward _batch_norm_with_update
    _cdist_backward _cdist_forward _chunk_cat _conj _conj_physical _efficientzerotensor _fft_c2c _fft_c2r _fft_r2c
    _histogramdd_from_bin_tensors _linalg_det _linalg_slogdet _linalg_solve_ex _local_scalar_dense _log_softmax
    _log_softmax_backward_data _native_batch_norm_legit _pdist_backward _pdist_forward _prelu_kernel _prelu_kernel_backward
    _safe_softmax _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward _softmax
    _softmax_backward_data _to_copy _to_sparse _trilinear _unique _unique2 _unsafe_masked_index _unsafe_masked_index_put_accumulate
    _unsafe_view _upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward _upsample_nearest_exact1d
    _upsample_nearest_exact1d_backward _upsample_nearest_exact2d _upsample_nearest_exact2d_backward _upsample_nearest_exact3d
    _upsample_nearest_exact3d_backward abs acos acosh adaptive_max_pool2d adaptive_max_pool3d add addbmm addcdiv addcmul addmm addmv
    addr alias alias_copy all allclose amax amin aminmax angle any arange argmax argmin as_strided as_strided_copy
    as_strided_scatter asin asinh atan atan2 atanh avg_pool2d avg_pool2d_backward avg_pool3d avg_pool3d_backward baddbmm
    batch_norm_backward binary_cross_entropy_backward binary_cross_entropy_with_logits bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor block_diag bmm bucketize cat cauchy ceil celu channel_shuffle cholesky_solve clamp
    clamp_max clamp_min clone col2im complex constant_pad_nd convolution convolution_backward copy copysign cos cosh count_nonzero
    cummax cummin cumprod cumsum deg2rad detach diag_embed diagonal diagonal_backward diagonal_copy diagonal_scatter digamma dist
    dot elu elu_backward embedding_dense_backward empty empty_like empty_permuted empty_strided eq equal erf erfc erfinv exp exp2
    expand expand_copy expm1 exponential eye flip floor fmax fmin frac fractional_max_pool2d fractional_max_pool3d frexp full
    full_like gcd ge gelu gelu_backward geometric geqrf glu glu_backward grid_sampler_2d grid_sampler_3d grid_sampler_3d_backward gt
    hardshrink hardshrink_backward hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh hardtanh_backward
    hash_tensor heaviside huber_loss huber_loss_backward hypot i0 igamma igammac im2col isin isinf isnan isneginf isposinf kthvalue
    ldexp le leaky_relu leaky_relu_backward lerp lgamma lift_fresh linalg_cholesky_ex linalg_cross linalg_householder_product
    linalg_inv_ex linalg_ldl_factor_ex linalg_lu_factor_ex linalg_matrix_exp linalg_qr linalg_solve_triangular linalg_vector_norm
    log log10 log1p log2 log_sigmoid_backward log_sigmoid_forward logaddexp logaddexp2 logcumsumexp logical_and logical_not
    logical_or logical_xor logit logit_backward logsumexp lt masked_scatter_backward masked_select max max_pool2d_with_indices
    max_pool3d_with_indices maximum mean median min minimum mish mish_backward mm mode mse_loss mse_loss_backward mul mv mvlgamma
    nan_to_num nanmedian nansum narrow_copy native_batch_norm native_batch_norm_backward native_dropout_backward native_group_norm
    native_group_norm_backward native_layer_norm native_layer_norm_backward ne neg new_empty new_empty_strided new_full new_ones
    new_zeros nextafter nonzero nonzero_static norm ones ones_like ormqr permute permute_copy pixel_shuffle pixel_unshuffle polar
    polygamma pow prod rad2deg rand randint randint_like randn randn_like reciprocal reflection_pad1d reflection_pad1d_backward
    reflection_pad2d reflection_pad2d_backward reflection_pad3d reflection_pad3d_backward relu renorm repeat replication_pad1d
    replication_pad1d_backward replication_pad2d replication_pad2d_backward replication_pad3d replication_pad3d_backward resize
    resize_as roll rot90 round rrelu_with_noise rrelu_with_noise_backward rsqrt rsub select select_backward select_scatter sgn
    sigmoid sign signbit silu silu_backward sin sinc sinh slice slice_backward slice_scatter smooth_l1_loss smooth_l1_loss_backward
    soft_margin_loss soft_margin_loss_backward softplus softplus_backward softshrink softshrink_backward sort special_i1 split
    split_with_sizes split_with_sizes_copy sqrt squeeze squeeze_copy stack std std_mean sub sum t t_copy tan tanh threshold
    threshold_backward topk trace transpose transpose_copy triangular_solve tril tril_indices triu triu_indices trunc unbind
    unbind_copy unfold unfold_backward unfold_copy uniform unique_consecutive unsafe_split unsqueeze unsqueeze_copy
    upsample_bicubic2d upsample_bicubic2d_backward upsample_bilinear2d upsample_bilinear2d_backward upsample_linear1d
    upsample_linear1d_backward upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d upsample_nearest2d_backward
    upsample_nearest3d upsample_nearest3d_backward upsample_trilinear3d upsample_trilinear3d_backward var var_mean vdot view
    view_as_complex view_as_real view_copy where xlogy zero zeros zeros_like
""".split())
# Not in the table, some of them with the overload's name; and those that take indices which a forward operator made.
_ADDED = frozenset("""
    _addmm_activation _cudnn_rnn_flatten_weight _fused_adagrad _fused_adam _fused_adamw _fused_sgd
    _native_batch_norm_legit_functional _native_batch_norm_legit_no_training _native_multi_head_attention _neg_view _reshape_alias
    _reshape_copy _transformer_encoder_layer_fwd _weight_norm_interface _weight_norm_interface_backward adaptive_max_pool2d_backward
    adaptive_max_pool3d_backward bernoulli.p bernoulli_.float grid_sampler_2d_backward is_same_size lcm log_normal
    max_pool2d_with_indices_backward max_pool3d_with_indices_backward mkldnn_convolution mkldnn_linear mkldnn_rnn_layer
    mkldnn_rnn_layer_backward native_dropout normal.float_float normal_ random reshape rrelu_with_noise_functional scalar_tensor set
    sigmoid_backward tanh_backward
""".split())
_NEVER_FOR_FLOATS = frozenset({"div", "floor_divide", "fmod", "remainder"})
# These read an element as a number, which integers of another type may not hold.
_NEVER_FOR_ONE_TYPE = frozenset({"fill", "masked_fill"})


def never_throws(schema: Any, args: tuple, kwargs: dict) -> bool:
    """Whether an operator throws for no elements of its tensors."""
    namespace, _, name = schema.name.partition("::")
    if namespace not in ("aten", "prims"):
        return False
    if f"{name}.{schema.overload_name}".rstrip(".") in _ADDED:
        return True
    name = name.removeprefix("_foreach_").rstrip("_")
    if name in _NEVER or name in _ADDED:
        return True
    if name in _NEVER_FOR_FLOATS:
        return all(map(_is_float, _dtypes((args, tuple(kwargs.values())))))
    if name in _NEVER_FOR_ONE_TYPE:
        return len({d for d in _dtypes((args, tuple(kwargs.values()))) if d != torch.bool}) <= 1
    return False


def _dtypes(value: Any) -> Iterator[torch.dtype]:
    if isinstance(value, torch.Tensor):
        yield value.dtype
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _dtypes(v)


def _is_float(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex
