// What the written programs ask of a library, over the few names in which the two differ. Stateless; for one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace parity::programs {

/// `Library` has the types, dtypes and functions that argument-dependent lookup doesn't find.
template <class Library>
struct Api : Library {
  using typename Library::Tensor, typename Library::Scalar, typename Library::ScalarType,
      typename Library::InferenceMode;

  static Tensor of(const std::vector<double>& v) {
    const Tensor t = Library::empty(static_cast<int64_t>(v.size()), Library::kDouble);
    std::copy(v.begin(), v.end(), t.template data_ptr<double>());
    return t;
  }
  static Tensor leaf(const std::vector<double>& v) { return of(v).requires_grad_(); }
  static Tensor cast(const Tensor& t, ScalarType dtype) { return t.to(dtype); }
  static Tensor cat(const std::vector<Tensor>& list, int64_t dim) { return Library::concatenate(list, dim); }
  static Tensor channelsLast(const Tensor& t) { return t.contiguous(Library::kChannelsLast); }
  static Tensor emptyLike(const Tensor& t) { return empty_like(t); }
  static Tensor inferenceCopy(const Tensor& t) {
    const InferenceMode on(true);
    return t.clone();
  }
  static std::string format(const Tensor& t) {
    std::ostringstream out;
    out << t.suggest_memory_format();
    return out.str();
  }
  static std::string dtype(const Tensor& t) {
    switch (t.scalar_type()) {
      case Library::kByte:
        return "uint8";
      case Library::kBool:
        return "bool";
      case Library::kLong:
        return "int64";
      case Library::kHalf:
        return "float16";
      case Library::kFloat:
        return "float32";
      case Library::kDouble:
        return "float64";
      default:
        return "another dtype";
    }
  }
  static std::string show(const Tensor& t) {
    const Tensor flat = t.detach().to(Library::kDouble).contiguous();
    std::ostringstream out;
    out << dtype(t);
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const double v = flat.template data_ptr<double>()[i];
      if (std::isnan(v))
        out << " nan";  // of either sign
      else
        out << ' ' << v;
    }
    return out.str();
  }
};

}  // namespace parity::programs
