// The gradients that are more than one expression: what operators/*_derivatives.yaml call, by family of operators.
//
// Pure functions of tensors, written with operators, so that they can be differentiated again. Arguments have the names
// they have in the operator's schema; `grad` is the gradient of its (first) result. Any thread.
#pragma once

#include <shunt/autograd/as_strided_backward.h>
#include <shunt/ops.h>
#include <shunt/tensor/expand_utils.h>

#include <array>
#include <string_view>
#include <tuple>

namespace shunt::autograd {

// ---- elementwise (elementwise_formulas.cpp) -----------------------------------------------------------------------
/// t * s, without an operator when s is 1.
Tensor maybe_multiply(const Tensor& t, const Scalar& s);
/// Zeros like `t` where `mask`, else `t`.
Tensor zero_where(const Tensor& mask, const Tensor& t);
/// `t` in the type that its elements are computed in: float for the 16-bit types. Counts and long sums need it:
/// bfloat16 has no 257, half nothing beyond 65504. The engine rounds the gradient once, to the argument's dtype.
Tensor in_compute_type(const Tensor& t);

Tensor div_tensor_self_backward(const Tensor& grad, const Tensor& other,
                                std::optional<std::string_view> rounding_mode = {});
Tensor div_tensor_other_backward(const Tensor& grad, const Tensor& self, const Tensor& other,
                                 std::optional<std::string_view> rounding_mode = {});
Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent);
Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent);
Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result);
Tensor pow_backward_exponent(const Tensor& grad, const Scalar& self, const Tensor& exponent, const Tensor& result);
Tensor erf_backward(const Tensor& grad, const Tensor& self);
/// 0 outside [eps, 1 - eps]; NaN outside [0, 1] without eps.
Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps);
Tensor sinc_backward(const Tensor& grad, const Tensor& self);
/// grad * leg / squares, and 0 where the squares are.
Tensor atan2_backward(const Tensor& grad, const Tensor& leg, const Tensor& squares);
/// 0 where self is 0.
Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max);
Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Tensor>& min,
                      const std::optional<Tensor>& max);
/// Gradients of the two bounds.
std::tuple<Tensor, Tensor> clamp_backward_min_max(const Tensor& grad, const Tensor& self,
                                                  const std::optional<Tensor>& min, const std::optional<Tensor>& max,
                                                  std::array<bool, 2> grad_input_mask);
/// `grad` times `scale`, which is not 0. Its own gradient is not multiplied: a second derivative is scaled once, as
/// that of PyTorch's embedding.
Tensor scale_gradient_backward(const Tensor& grad, const Tensor& scale);
/// Of maximum and minimum: `loses` where the operand was not chosen; equal operands share.
Tensor selected_backward(const Tensor& grad, const Tensor& loses, const Tensor& equal);
Tensor lerp_self_backward(const Tensor& grad, const Scalar& weight);
Tensor addcdiv_tensor2_backward(const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value);

// Second derivatives of activations.
Tensor softplus_double_backward(const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold);
Tensor sigmoid_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output);
Tensor tanh_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output);
Tensor silu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self);
Tensor elu_double_backward(const Tensor& grad, const Tensor& grad_output, const Scalar& alpha, const Scalar& scale,
                           const Scalar& input_scale, bool is_result, const Tensor& self_or_result);
Tensor gelu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self,
                            std::string_view approximate);

// ---- reductions (reduce_formulas.cpp) -----------------------------------------------------------------------------
/// A reduced gradient, shaped so that it broadcasts against the input again. No dims: all.
Tensor restore_reduced_dims(const Tensor& grad, int64_t input_dim, IntArrayRef dims, bool keepdim);
Tensor sum_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dims, bool keepdim);
Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dims, bool keepdim);
/// Of amax, amin: every element that equals the result gets an equal share.
Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dims, bool keepdim);
/// Of max.dim, min.dim: the element at the index gets all.
Tensor value_selecting_reduction_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntArrayRef sizes,
                                          bool keepdim);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim);
Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dims, bool keepdim);
/// Divides by elements - correction (unset: 1), as var does: NaN where that is 0. A standard deviation of 0 has the
/// gradient 0, and so has that gradient.
Tensor var_backward(const Tensor& grad, const Tensor& self, OptionalIntArrayRef dims, std::optional<int64_t> correction,
                    bool keepdim);
Tensor std_backward(const Tensor& grad, const Tensor& result, const Tensor& self, OptionalIntArrayRef dims,
                    std::optional<int64_t> correction, bool keepdim);
/// Either of the two gradients may be undefined.
Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self, OptionalIntArrayRef dims,
                         std::optional<int64_t> correction, bool keepdim);
Tensor std_mean_backward(const Tensor& grad_std, const Tensor& grad_mean, const Tensor& self, const Tensor& std,
                         OptionalIntArrayRef dims, std::optional<int64_t> correction, bool keepdim);
/// Undefined for p = 0; 0 where the derivative does not exist. An unset p is 2.
Tensor norm_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& p, const Tensor& norm,
                     OptionalIntArrayRef dims, bool keepdim);
Tensor trace_backward(const Tensor& grad, IntArrayRef sizes);

// ---- scans (scan_formulas.cpp) ------------------------------------------------------------------------------------
Tensor cumsum_backward(const Tensor& grad, int64_t dim);
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& result);

// ---- linear algebra (linalg_formulas.cpp) -------------------------------------------------------------------------
// The saved operand is cast to the gradient's dtype: under autocast the product ran in the lower precision.
Tensor mm_mat1_backward(const Tensor& grad, const Tensor& mat2, const Scalar& alpha = 1);
/// `strides` are mat2's; its gradient gets the same order of dimensions.
Tensor mm_mat2_backward(const Tensor& grad, const Tensor& mat1, IntArrayRef strides, const Scalar& alpha = 1);
Tensor bmm_mat1_backward(const Tensor& grad, const Tensor& mat2, const Scalar& alpha = 1);
Tensor bmm_mat2_backward(const Tensor& grad, const Tensor& mat1, const Scalar& alpha = 1);
Tensor mv_self_backward(const Tensor& grad, const Tensor& vec);
Tensor mv_vec_backward(const Tensor& grad, const Tensor& self);
/// grad * other for a 0-dim grad.
Tensor dot_backward(const Tensor& grad, const Tensor& other);
/// The cofactors, also where A is singular. `det` is the result.
Tensor linalg_det_backward(const Tensor& grad, const Tensor& det, const Tensor& A);
/// `grad` is logabsdet's, and may be undefined.
Tensor linalg_slogdet_backward(const Tensor& grad, const Tensor& A);
/// The same for both triangles, though one is read: the matrix is meant to stay symmetric.
Tensor linalg_cholesky_backward(const Tensor& grad, bool upper, const Tensor& factor);
Tensor linalg_inv_backward(const Tensor& grad, const Tensor& inverse);
std::tuple<Tensor, Tensor> linalg_solve_backward(const Tensor& grad, const Tensor& result, const Tensor& A,
                                                 IntArrayRef B_sizes, bool left, std::array<bool, 2> wanted);
std::tuple<Tensor, Tensor> linalg_solve_triangular_backward(const Tensor& grad, const Tensor& A, const Tensor& result,
                                                            bool upper, bool left, bool unitriangular,
                                                            std::array<bool, 2> wanted);

// ---- shapes (shape_formulas.cpp) ----------------------------------------------------------------------------------
Tensor permute_backward(const Tensor& grad, IntArrayRef dims);
/// Puts back the dimensions of size 1 that squeeze took away: all, or `dim`.
Tensor unsqueeze_to(const Tensor& grad, IntArrayRef sizes);
Tensor unsqueeze_to(const Tensor& grad, int64_t dim, IntArrayRef sizes);
Tensor slice_backward_wrapper(const Tensor& grad, IntArrayRef sizes, int64_t dim, std::optional<int64_t> start,
                              std::optional<int64_t> end, int64_t step);
Tensor as_strided_backward(const Tensor& grad, const TensorGeometry& input, IntArrayRef size, IntArrayRef stride,
                           std::optional<int64_t> storage_offset);
/// Of as_strided_scatter: of the elements that the window left alone, and of those in the window. Elements of
/// the window outside `self` get zeros.
Tensor as_strided_scatter_self_backward(const Tensor& grad, const TensorGeometry& self, IntArrayRef size,
                                        IntArrayRef stride, std::optional<int64_t> storage_offset);
Tensor as_strided_scatter_src_backward(const Tensor& grad, const TensorGeometry& self, IntArrayRef size,
                                       IntArrayRef stride, std::optional<int64_t> storage_offset);
Tensor index_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index);
/// Throws for sparse_grad: there are no sparse tensors.
Tensor index_backward(const Tensor& grad, IntArrayRef sizes, TensorOptList indices);
Tensor index_put_self_backward(const Tensor& grad, TensorOptList indices, bool accumulate);
Tensor index_put_values_backward(const Tensor& grad, TensorOptList indices, IntArrayRef sizes);
Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index, bool sparse_grad);
/// Of scatter and scatter_add, with respect to src: 0 for elements that index does not cover.
Tensor scatter_src_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef src_sizes);
/// With respect to self and to src, which gets 0 where index does not cover it; of a product also where elements are 0.
std::tuple<Tensor, Tensor> scatter_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                                   const Tensor& index, const Tensor& src, std::string_view reduce,
                                                   bool include_self, const Tensor& result);
Tensor index_add_source_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes,
                                 const Scalar& alpha);
/// Of split, split_with_sizes, unbind: parts that got no gradient count as zeros.
Tensor split_backward(const std::vector<Tensor>& grads, int64_t split_size, int64_t dim, IntArrayRef sizes,
                      const TensorOptions& options);
Tensor split_with_sizes_backward(const std::vector<Tensor>& grads, IntArrayRef split_sizes, int64_t dim,
                                 IntArrayRef sizes, const TensorOptions& options);
Tensor unbind_backward(const std::vector<Tensor>& grads, int64_t dim);
/// Sizes of each tensor of a list, for cat's backward.
std::vector<std::vector<int64_t>> to_args_sizes(TensorList tensors);
std::vector<Tensor> cat_tensors_backward(const Tensor& grad, const std::vector<std::vector<int64_t>>& sizes,
                                         int64_t dim);
/// To another dtype or device, as _to_copy's input had it.
Tensor to_copy_backward(const Tensor& grad, const TensorOptions& options);

// ---- neural networks (nn_formulas.cpp) ----------------------------------------------------------------------------
Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim);
/// With respect to grad_output and to output.
Tensor log_softmax_backward_grad_output(const Tensor& grad, const Tensor& output, int64_t dim);
Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim);
/// Of native_layer_norm_backward with respect to input, weight and grad_out, given the gradients of its three results,
/// any of which may be undefined.
std::tuple<Tensor, Tensor, Tensor> layer_norm_double_backward(ArrayRef<Tensor> grads, const Tensor& grad_out,
                                                              const Tensor& input, IntArrayRef normalized_shape,
                                                              const Tensor& mean, const Tensor& rstd,
                                                              const std::optional<Tensor>& weight,
                                                              std::array<bool, 3> grad_input_mask);
/// Of mse_loss, for either operand; where they broadcast, in the broadcast shape.
Tensor mse_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction);
Tensor mse_loss_backward_grad_output(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction);
Tensor mse_loss_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self, int64_t reduction);
Tensor nll_loss_backward_grad_output(const Tensor& grad, const Tensor& target, const std::optional<Tensor>& weight,
                                     int64_t reduction, int64_t ignore_index);
/// As mse_loss_gradient.
Tensor smooth_l1_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                               double beta);
Tensor smooth_l1_loss_backward_grad_output(const Tensor& grad, const Tensor& self, const Tensor& target,
                                           int64_t reduction, double beta);
/// Of the product of both gradients.
Tensor smooth_l1_loss_double_backward(const Tensor& grads, const Tensor& self, const Tensor& target, int64_t reduction,
                                      double beta);
Tensor huber_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                           double delta);
Tensor huber_loss_backward_grad_output(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                                       double delta);
Tensor huber_loss_double_backward(const Tensor& grads, const Tensor& self, const Tensor& target, int64_t reduction,
                                  double delta);

// ---- images (vision_formulas.cpp) ---------------------------------------------------------------------------------
std::tuple<Tensor, Tensor, Tensor> convolution_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                         IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                                         bool transposed, IntArrayRef output_padding, int64_t groups,
                                                         std::array<bool, 3> grad_input_mask);
/// Of convolution_backward with respect to grad_output, input and weight, given the gradients of its three results, any
/// of which may be undefined.
std::tuple<Tensor, Tensor, Tensor> convolution_double_backward(ArrayRef<Tensor> grads, const Tensor& grad_output,
                                                               const Tensor& input, const Tensor& weight,
                                                               IntArrayRef stride, IntArrayRef padding,
                                                               IntArrayRef dilation, bool transposed,
                                                               IntArrayRef output_padding, int64_t groups,
                                                               std::array<bool, 3> grad_input_mask);
/// Of native_batch_norm_backward with respect to input, weight and grad_out; the same.
std::tuple<Tensor, Tensor, Tensor> batch_norm_double_backward(ArrayRef<Tensor> grads, const Tensor& grad_out,
                                                              const Tensor& input, const std::optional<Tensor>& weight,
                                                              const std::optional<Tensor>& running_mean,
                                                              const std::optional<Tensor>& running_var,
                                                              const std::optional<Tensor>& save_mean,
                                                              const std::optional<Tensor>& save_invstd, bool train,
                                                              double eps, std::array<bool, 3> grad_input_mask);
/// The elements of `grad` at the indices of max_pool2d; 0 for windows that meet no element, which only a dilation
/// makes.
Tensor max_pool_double_backward(const Tensor& grad, const Tensor& indices, IntArrayRef dilation);
/// The output_size of which the sizes are.
inline IntArrayRef adaptive_output_size(IntArrayRef sizes) { return sizes.slice(sizes.size() - 2); }

}  // namespace shunt::autograd
