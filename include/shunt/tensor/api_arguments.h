// Helpers of the generated functions and methods: argument types that allow several notations, and the handling of
// TensorOptions. The values live for one call. Any thread.
#pragma once

#include <shunt/core/array_ref.h>
#include <shunt/tensor/options.h>

#include <initializer_list>
#include <utility>

namespace shunt {

/// The argument type of `int[]?`: nothing, one dimension, or a list. It owns nothing, like IntArrayRef. A number or
/// list written in the call lives until the end of the call.
class OptionalDims : public OptionalIntArrayRef {
 public:
  OptionalDims() = default;
  OptionalDims(std::nullopt_t) {}
  OptionalDims(IntArrayRef list) : OptionalIntArrayRef(list) {}
  OptionalDims(const OptionalIntArrayRef& list) : OptionalIntArrayRef(list) {}
  OptionalDims(const std::vector<int64_t>& list) : OptionalIntArrayRef(IntArrayRef(list)) {}
  OptionalDims(std::initializer_list<int64_t> list) : OptionalIntArrayRef(IntArrayRef(list)) {}
  OptionalDims(const int64_t& one) : OptionalIntArrayRef(IntArrayRef(one)) {}
};

namespace detail {

/// The memory format, from the options or the argument. Throws when both name one.
inline std::optional<MemoryFormat> memoryFormat(const TensorOptions& options, std::optional<MemoryFormat> argument) {
  SHUNT_CHECK(!argument || !options.memory_format_opt(),
              "memory_format is given twice: inside the tensor options and as an argument; give it once");
  return argument ? argument : options.memory_format_opt();
}

inline void checkNoRequiresGrad(const TensorOptions& options) {
  SHUNT_CHECK(!options.requires_grad(),
              "Operators taking TensorOptions cannot take a TensorOptions with options.requires_grad set as true where "
              "they may return their argument; call requires_grad_() on the result");
}

/// Sets requires_grad on a factory's result. T is Tensor, which is incomplete here.
template <class T>
T withRequiresGrad(T result, const TensorOptions& options) {
  if (options.requires_grad()) [[unlikely]]
    result.set_requires_grad(true);
  return result;
}

}  // namespace detail
}  // namespace shunt
