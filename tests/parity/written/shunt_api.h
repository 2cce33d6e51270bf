// The written programs' names of Shunt. Stateless; for one thread.
#pragma once

#include "tests/parity/written/api.h"
#include "tests/parity/written/program.h"

#include <shunt/shunt.h>

namespace parity::programs {

struct ShuntLibrary {
  using Tensor = shunt::Tensor;
  using Scalar = shunt::Scalar;
  using ScalarType = shunt::ScalarType;
  using Context = shunt::autograd::AutogradContext;
  template <class T>
  using Function = shunt::autograd::Function<T>;
  using GradMode = shunt::AutoGradMode;
  using InferenceMode = shunt::InferenceMode;
  static constexpr auto kByte = shunt::kByte, kBool = shunt::kBool, kLong = shunt::kLong, kHalf = shunt::kHalf,
                        kFloat = shunt::kFloat, kDouble = shunt::kDouble;
  static constexpr auto kChannelsLast = shunt::MemoryFormat::ChannelsLast;

  static Tensor empty(int64_t n, ScalarType dtype) { return shunt::empty({n}, dtype); }
  static Tensor arange(const Scalar& end, ScalarType dtype) { return shunt::arange(end, dtype); }
  static Tensor pow(double base, const Tensor& e) { return shunt::pow(base, e); }
  static Tensor concatenate(const std::vector<Tensor>& list, int64_t dim) { return shunt::cat(list, dim); }
  static std::vector<Tensor> grad(const Tensor& y, const Tensor& x, bool create_graph) {
    return shunt::autograd::grad({y}, {x}, {}, std::nullopt, create_graph);
  }
};
using ShuntApi = Api<ShuntLibrary>;

/// Compiled apart, as they take long.
void addShuntCustomFunctions(std::vector<Program>& all);

}  // namespace parity::programs
