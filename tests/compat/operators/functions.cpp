// The operators' gradients: custom functions, registered for the Autograd key.
#include "operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/autograd.h>
#include <torch/library.h>

namespace operators {

at::Tensor row_softmax(const at::Tensor& x, double scale) {
  static auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("operators::row_softmax", "").typed<decltype(row_softmax)>();
  return op.call(x, scale);
}
at::Tensor row_softmax_backward(const at::Tensor& grad, const at::Tensor& y, double scale) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("operators::row_softmax_backward", "")
                       .typed<decltype(row_softmax_backward)>();
  return op.call(grad, y, scale);
}
at::Tensor segment_sum(const at::Tensor& src, const at::Tensor& index, int64_t size) {
  static auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("operators::segment_sum", "").typed<decltype(segment_sum)>();
  return op.call(src, index, size);
}
at::Tensor segment_sum_backward(const at::Tensor& grad, const at::Tensor& index) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("operators::segment_sum_backward", "")
                       .typed<decltype(segment_sum_backward)>();
  return op.call(grad, index);
}
std::tuple<at::Tensor, at::Tensor> row_max(const at::Tensor& x) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("operators::row_max", "").typed<decltype(row_max)>();
  return op.call(x);
}
at::Tensor row_max_backward(const at::Tensor& grad, const at::Tensor& where, int64_t columns) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("operators::row_max_backward", "")
                       .typed<decltype(row_max_backward)>();
  return op.call(grad, where, columns);
}
at::Tensor& clamp_below_(at::Tensor& x, double low) {
  static auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("operators::clamp_below_", "").typed<decltype(clamp_below_)>();
  return op.call(x, low);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

class RowSoftmax : public torch::autograd::Function<RowSoftmax> {
 public:
  static Variable forward(AutogradContext* ctx, const Variable& x, double scale) {
    at::AutoDispatchBelowADInplaceOrView below;
    Variable y = row_softmax(x, scale);
    ctx->saved_data["scale"] = scale;
    ctx->save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    return {row_softmax_backward(grads[0], saved[0], ctx->saved_data["scale"].toDouble()), Variable()};
  }
};

class SegmentSum : public torch::autograd::Function<SegmentSum> {
 public:
  static Variable forward(AutogradContext* ctx, Variable src, Variable index, int64_t size) {
    at::AutoDispatchBelowADInplaceOrView below;
    ctx->saved_data["shape"] = src.sizes();
    ctx->save_for_backward({index});
    return segment_sum(src, index, size);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto shape = ctx->saved_data["shape"].toIntList();
    TORCH_INTERNAL_ASSERT(grads[0].size(1) == shape[1]);
    return {segment_sum_backward(grads[0], ctx->get_saved_variables()[0]), Variable(), Variable()};
  }
};

class RowMax : public torch::autograd::Function<RowMax> {
 public:
  static variable_list forward(AutogradContext* ctx, const Variable& x) {
    at::AutoDispatchBelowADInplaceOrView below;
    const auto result = row_max(x);
    ctx->saved_data["columns"] = x.size(1);
    ctx->mark_non_differentiable({std::get<1>(result)});
    ctx->save_for_backward({std::get<1>(result)});
    return {std::get<0>(result), std::get<1>(result)};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {row_max_backward(grads[0], ctx->get_saved_variables()[0], ctx->saved_data["columns"].toInt())};
  }
};

class ClampBelow : public torch::autograd::Function<ClampBelow> {
 public:
  static Variable forward(AutogradContext* ctx, Variable x, double low) {
    at::AutoDispatchBelowADInplaceOrView below;
    ctx->save_for_backward({x.ge(low)});
    clamp_below_(x, low);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0] * ctx->get_saved_variables()[0].to(grads[0].scalar_type()), Variable()};
  }
};

at::Tensor row_softmax_autograd(const at::Tensor& x, double scale) { return RowSoftmax::apply(x, scale); }
at::Tensor segment_sum_autograd(const at::Tensor& src, const at::Tensor& index, int64_t size) {
  return SegmentSum::apply(src, index, size);
}
std::tuple<at::Tensor, at::Tensor> row_max_autograd(const at::Tensor& x) {
  const variable_list result = RowMax::apply(x);
  return std::make_tuple(result[0], result[1]);
}
at::Tensor& clamp_below_autograd(at::Tensor& x, double low) {
  ClampBelow::apply(x, low);
  return x;
}

}  // namespace
}  // namespace operators

TORCH_LIBRARY_IMPL(operators, Autograd, m) {
  m.impl("row_softmax", TORCH_FN(operators::row_softmax_autograd));
  m.impl("segment_sum", TORCH_FN(operators::segment_sum_autograd));
  m.impl("row_max", TORCH_FN(operators::row_max_autograd));
  m.impl("clamp_below_", TORCH_FN(operators::clamp_below_autograd));
}
