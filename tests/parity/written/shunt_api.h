// What the written programs ask of Shunt. Stateless; for one thread.
#pragma once

#include "tests/parity/written/program.h"

#include <shunt/shunt.h>

namespace parity::programs {

struct ShuntApi {
  using Tensor = shunt::Tensor;
  using Scalar = shunt::Scalar;
  using Context = shunt::autograd::AutogradContext;
  template <class T>
  using Function = shunt::autograd::Function<T>;
  using GradMode = shunt::AutoGradMode;
  using InferenceMode = shunt::InferenceMode;
  static constexpr auto kByte = shunt::kByte, kBool = shunt::kBool, kLong = shunt::kLong, kHalf = shunt::kHalf,
                        kFloat = shunt::kFloat, kDouble = shunt::kDouble;

  static Tensor of(const std::vector<double>& v) {
    const Tensor t = shunt::empty({static_cast<int64_t>(v.size())}, shunt::kDouble);
    std::copy(v.begin(), v.end(), t.data_ptr<double>());
    return t;
  }
  static Tensor leaf(const std::vector<double>& v) { return of(v).requires_grad_(); }
  static Tensor cast(const Tensor& t, shunt::ScalarType dtype) { return t.to(dtype); }
  static Tensor cat(const std::vector<Tensor>& list, int64_t dim) { return shunt::cat(list, dim); }
  static Tensor arange(const Scalar& end, shunt::ScalarType dtype) { return shunt::arange(end, dtype); }
  static Tensor channelsLast(const Tensor& t) { return t.contiguous(shunt::MemoryFormat::ChannelsLast); }
  static Tensor emptyLike(const Tensor& t) { return shunt::empty_like(t); }
  static Tensor pow(double base, const Tensor& e) { return shunt::pow(base, e); }
  static Tensor inferenceCopy(const Tensor& t) {
    const InferenceMode on(true);
    return t.clone();
  }
  static std::string format(const Tensor& t) {
    std::ostringstream out;
    out << t.suggest_memory_format();
    return out.str();
  }
  static std::vector<Tensor> grad(const Tensor& y, const Tensor& x, bool create_graph) {
    return shunt::autograd::grad({y}, {x}, {}, std::nullopt, create_graph);
  }
  static std::string dtype(const Tensor& t) {
    switch (t.scalar_type()) {
      case shunt::kByte:
        return "uint8";
      case shunt::kBool:
        return "bool";
      case shunt::kLong:
        return "int64";
      case shunt::kHalf:
        return "float16";
      case shunt::kFloat:
        return "float32";
      case shunt::kDouble:
        return "float64";
      default:
        return "another dtype";
    }
  }
  static std::string show(const Tensor& t) {
    const Tensor flat = t.detach().to(shunt::kDouble).contiguous();
    std::ostringstream out;
    out << dtype(t);
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const double v = flat.data_ptr<double>()[i];
      if (v != v)
        out << " nan";  // of either sign
      else
        out << ' ' << v;
    }
    return out.str();
  }
};

/// Compiled apart, as they take long.
void addShuntCustomFunctions(std::vector<Program>& all);

}  // namespace parity::programs
