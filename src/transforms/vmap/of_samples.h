// Calls of some operators in a vmap level without a Stack: what the fallback of Batched (fallback.cpp) does with the
// usual ones, whose batches stand in front. Each gives an undefined tensor where the call isn't usual: it is the
// fallback's then, as are errors. Run inside of the level.
#pragma once

#include "src/transforms/vmap/call.h"

#include <shunt/ops.h>

namespace shunt::levels {

/// The value of a tensor of the level whose batch is in front; null for others.
inline const Tensor* valueInFront(const Tensor& t, const Level& level) {
  if (!belongsTo(t, level)) return nullptr;
  const WrapperStorage& storage = storageOf(t);
  return storage.batch_dim == 0 ? &storage.value : nullptr;
}

/// For operators that have no such way.
template <class Op>
struct OfSamples {
  template <class... A>
  static auto call(const LevelFrame&, DispatchKeySet, const A&... a) {
    return decltype(Op::call(a...))();
  }
};

/// rules::mv, for a matrix that all samples share.
template <>
struct OfSamples<ops::mv> {
  static Tensor call(const LevelFrame& frame, DispatchKeySet, const Tensor& matrix, const Tensor& vec) {
    const Tensor* value = valueInFront(vec, frame.level());
    if (value == nullptr || !matrix.defined() || belongsTo(matrix, frame.level()) || matrix.dim() != 2 ||
        vec.dim() != 1 || matrix.size(1) != vec.size(0))
      return {};
    countRule();
    const Outside outside;
    return ops::mm::call(*value, ops::t::call(matrix));
  }
};

/// rules::copy.
template <class Op>
Tensor likeSamples(const Level& level, const Tensor& t, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                   std::optional<Device> device, std::optional<bool> pin_memory, std::optional<MemoryFormat> format) {
  const Tensor* value = valueInFront(t, level);
  if (value == nullptr || (format && *format != MemoryFormat::Contiguous)) return {};
  countRule();
  const Outside outside;
  return Op::call(*value, dtype, layout, device, pin_memory, format);
}
template <>
struct OfSamples<ops::ones_like> {
  template <class... Options>
  static Tensor call(const LevelFrame& frame, DispatchKeySet, const Tensor& t, const Options&... options) {
    return likeSamples<ops::ones_like>(frame.level(), t, options...);
  }
};
template <>
struct OfSamples<ops::zeros_like> {
  template <class... Options>
  static Tensor call(const LevelFrame& frame, DispatchKeySet, const Tensor& t, const Options&... options) {
    return likeSamples<ops::zeros_like>(frame.level(), t, options...);
  }
};

/// products.cpp
template <>
struct OfSamples<ops::outer> {
  static Tensor call(const LevelFrame& frame, DispatchKeySet keys, const Tensor& a, const Tensor& b);
};

/// rules_nll_loss.cpp
template <>
struct OfSamples<ops::nll_loss_forward> {
  static std::tuple<Tensor, Tensor> call(const LevelFrame& frame, DispatchKeySet, const Tensor& self,
                                         const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
                                         int64_t ignore_index);
};
template <>
struct OfSamples<ops::nll_loss_backward> {
  static Tensor call(const LevelFrame& frame, DispatchKeySet, const Tensor& grad_output, const Tensor& self,
                     const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                     const Tensor& total_weight);
};

/// runDims, for operators of rows along one dimension.
template <class Op>
struct OfRows {
  template <class... Other>
  static Tensor one(const Level& level, const Tensor& t, int64_t dim, Other... other) {
    const Tensor* value = valueInFront(t, level);
    if (value == nullptr || !names(dim, t)) return {};
    countRule();
    const Outside outside;
    return Op::call(*value, shifted(dim), other...);
  }
  template <class... Other>
  static Tensor two(const Level& level, const Tensor& t, const Tensor& u, int64_t dim, Other... other) {
    const Tensor *value = valueInFront(t, level), *second = valueInFront(u, level);
    if (value == nullptr || second == nullptr || !names(dim, t)) return {};
    countRule();
    const Outside outside;
    return Op::call(*value, *second, shifted(dim), other...);
  }

 private:
  static bool names(int64_t dim, const Tensor& t) { return t.dim() > 0 && dim >= -t.dim() && dim < t.dim(); }
  /// From the end it is the same dimension of the batch.
  static int64_t shifted(int64_t dim) { return dim < 0 ? dim : dim + 1; }
};
template <>
struct OfSamples<ops::_log_softmax> {
  static Tensor call(const LevelFrame& frame, DispatchKeySet, const Tensor& t, int64_t dim, bool half_to_float) {
    return OfRows<ops::_log_softmax>::one(frame.level(), t, dim, half_to_float);
  }
};
template <>
struct OfSamples<ops::_softmax> {
  static Tensor call(const LevelFrame& frame, DispatchKeySet, const Tensor& t, int64_t dim, bool half_to_float) {
    return OfRows<ops::_softmax>::one(frame.level(), t, dim, half_to_float);
  }
};
template <>
struct OfSamples<ops::_log_softmax_backward_data> {
  static Tensor call(const LevelFrame& frame, DispatchKeySet, const Tensor& grad, const Tensor& output, int64_t dim,
                     ScalarType dtype) {
    return OfRows<ops::_log_softmax_backward_data>::two(frame.level(), grad, output, dim, dtype);
  }
};
template <>
struct OfSamples<ops::_softmax_backward_data> {
  static Tensor call(const LevelFrame& frame, DispatchKeySet, const Tensor& grad, const Tensor& output, int64_t dim,
                     ScalarType dtype) {
    return OfRows<ops::_softmax_backward_data>::two(frame.level(), grad, output, dim, dtype);
  }
};

}  // namespace shunt::levels
