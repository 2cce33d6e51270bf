#include "tests/functionalize/compare.h"

#include "tests/parity/dtypes.h"
#include "tests/parity/shunt_api.h"

#include <shunt/transforms/functionalize.h>

#include <cmath>
#include <sstream>

namespace functional {
namespace {

using parity::Outcome;
using parity::TensorState;

struct FunctionalApi : parity::ShuntApi {
  static void callBoxed(const std::string& name, const std::string& overload, Stack& stack) {
    const auto op = shunt::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
    const shunt::FunctionalizeCheckGuard check;
    shunt::detail::FunctionalizeCall call;
    Stack wrapped;
    for (const IValue& v : stack)
      wrapped.push_back(shunt::mapTensors(
          v, [&](const Tensor& t) { return t.unsafeGetTensorImpl()->is_wrapped_number() ? t : call.wrap(t); }));
    {
      const shunt::FunctionalizeGuard guard;
      op.callBoxed(&wrapped);
    }
    call.writeBack();
    shunt::mapTensors(wrapped, wrapped.size(),
                      [&](const Tensor& t) { return shunt::is_functional(t) ? call.unwrap(t) : t; });
    stack = std::move(wrapped);
  }
};

class Comparison {
 public:
  explicit Comparison(bool values) : values_(values) {}

  std::vector<Difference> run(const Outcome& p, const Outcome& f) {
    if (p.threw || f.threw) {
      same(p.threw && f.threw ? "error" : "throws", "throws", p.threw ? words(p.error) : "",
           f.threw ? words(f.error) : "");
      return std::move(found_);
    }
    same("returns", "returns", p.returns.size(), f.returns.size());
    for (size_t i = 0; found_.empty() && i < p.returns.size(); ++i) {
      const parity::Returned &a = p.returns[i], &b = f.returns[i];
      const std::string where = "result " + std::to_string(i);
      same("returns", where + " kind", static_cast<int>(a.number.kind), static_cast<int>(b.number.kind));
      same("values", where, a.number.i, b.number.i);
      if (!(std::isnan(a.number.d) && std::isnan(b.number.d))) same("values", where, a.number.d, b.number.d);
      tensors("", where, a.tensors, b.tensors);
      same("alias", where + " is argument", text(a.same_as), text(b.same_as));
      same("storage", where + " shares storage with argument", text(a.storage_of), text(b.storage_of));
    }
    tensors("after_", "argument", p.after, f.after);
    same("backward", "backward ran", p.ran_backward, f.ran_backward);
    same("backward", "backward throws", p.backward_error, f.backward_error);
    tensors("grad_", "gradient", p.grads, f.grads);
    return std::move(found_);
  }

 private:
  /// Without "(in aten::add_)": the operators that run are others.
  static std::string words(const std::string& message) { return message.substr(0, message.rfind(" (in ")); }
  /// A gradient may have come through a copy_, which leaves open what the strides of one element are.
  static std::vector<int64_t> stridesSeen(const std::string& prefix, const TensorState& t) {
    std::vector<int64_t> strides = t.strides;
    for (size_t d = 0; d < strides.size(); ++d)
      if (prefix == "grad_" && t.sizes[d] == 1) strides[d] = 1;
    return strides;
  }
  template <class T>
  static std::string text(const std::vector<T>& v) {
    std::ostringstream out;
    for (size_t i = 0; i < v.size(); ++i) out << (i ? ", " : "[") << v[i];
    return out.str() + "]";
  }
  template <class T>
  void same(const std::string& what, const std::string& where, const T& plain, const T& functional) {
    if (plain == functional) return;
    std::ostringstream out;
    out << where << ": plain " << plain << ", functional " << functional;
    found_.push_back({what, out.str()});
  }
  void tensors(const std::string& prefix, const std::string& where, const std::vector<TensorState>& a,
               const std::vector<TensorState>& b) {
    same(prefix + "tensors", where, a.size(), b.size());
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      tensor(prefix, where + " " + std::to_string(i), a[i], b[i]);
  }
  void tensor(const std::string& prefix, const std::string& where, const TensorState& a, const TensorState& b) {
    same(prefix + "defined", where + " defined", a.defined, b.defined);
    if (!a.defined || !b.defined) return;
    same(prefix + "dtype", where + " dtype", a.dtype, b.dtype);
    same(prefix + "sizes", where + " sizes", text(a.sizes), text(b.sizes));
    same(prefix + "strides", where + " strides", text(stridesSeen(prefix, a)), text(stridesSeen(prefix, b)));
    same(prefix + "offset", where + " offset", a.offset, b.offset);
    same(prefix + "requires_grad", where + " requires_grad", a.requires_grad, b.requires_grad);
    same(prefix + "leaf", where + " is_leaf", a.is_leaf, b.is_leaf);
    if (a.dtype != b.dtype || a.bytes.size() != b.bytes.size() || !values_) return;
    const size_t item = parity::itemSize(a.dtype);
    for (size_t at = 0; at < a.bytes.size(); at += item) {
      if (std::equal(&a.bytes[at], &a.bytes[at] + item, &b.bytes[at])) continue;
      const double x = parity::loadElement(a.dtype, &a.bytes[at]), y = parity::loadElement(b.dtype, &b.bytes[at]);
      if ((std::isnan(x) && std::isnan(y)) || (prefix == "grad_" && x == 0 && y == 0)) continue;
      std::ostringstream out;
      out.precision(17);
      out << where << ": element " << at / item << " is " << x << ", functional " << y << " ("
          << parity::dtypeName(a.dtype) << ")";
      found_.push_back({prefix + "values", out.str()});
      return;
    }
  }

  bool values_;
  std::vector<Difference> found_;
};

}  // namespace

Outcome runFunctional(const parity::Case& c) { return parity::Executor<FunctionalApi>(c).run(); }

std::vector<Difference> differences(const Outcome& plain, const Outcome& functional, bool values) {
  return Comparison(values).run(plain, functional);
}

}  // namespace functional
