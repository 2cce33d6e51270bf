// What programs of extensions print: tensors with all their digits, and the texts of errors. Written for PyTorch's API,
// so that one source prints what Shunt does and what libtorch does.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdio>
#include <string>

namespace report {

inline void tensor(const std::string& what, const at::Tensor& t) {
  if (!t.defined()) {
    std::printf("%s: undefined\n", what.c_str());
    return;
  }
  std::printf("%s: %s [", what.c_str(), c10::toString(t.scalar_type()));
  for (int64_t d = 0; d < t.dim(); ++d) std::printf("%s%lld", d ? ", " : "", static_cast<long long>(t.size(d)));
  std::printf("]%s", t.requires_grad() ? " grad" : "");
  const at::Tensor all = t.detach().to(at::kDouble).contiguous();
  for (int64_t i = 0; i < all.numel(); ++i) std::printf(" %.17g", all.data_ptr<double>()[i]);
  std::printf("\n");
}

/// The first line of what f throws: texts after PyTorch's are the library's own.
template <class F>
void error(const std::string& what, F f) {
  std::string text = "nothing thrown";
  try {
    f();
  } catch (const c10::Error& e) {
    text = e.what_without_backtrace();
  }
  std::printf("error of %s: %s\n", what.c_str(), text.substr(0, text.find('\n')).c_str());
}

/// 0.25, 0.5, ...: sums of these are exact in any order. Every third is negative.
inline at::Tensor quarters(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  at::Tensor t = at::zeros(sizes, at::kDouble);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<double>()[i] = (i % 3 == 2 ? -0.25 : 0.25) * double(i + 1);
  return t.to(dtype);
}

inline at::Tensor integers(std::initializer_list<int64_t> values, at::ScalarType dtype = at::kLong) {
  at::Tensor t = at::zeros({static_cast<int64_t>(values.size())}, at::kLong);
  int64_t* to = t.data_ptr<int64_t>();
  for (const int64_t v : values) *to++ = v;
  return t.to(dtype);
}

template <class Signature>
auto op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace report
