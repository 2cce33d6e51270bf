// Tensor::toString: the layout of PyTorch's Python repr, with its default options (4 digits, lines of 80 characters, 3
// items at each edge above 1,000 elements).
#include "src/tensor/printing.h"

#include <shunt/core/error.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/wrapper_kind.h>

#include "src/tensor/active_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace shunt {
namespace {

constexpr int64_t kThreshold = 1000;
constexpr int64_t kEdgeItems = 3;
constexpr size_t kLineWidth = 80;

/// One element, as what Python would make of it.
struct Value {
  enum class Kind { kFloat, kInt, kBool } kind;
  double d;
  int64_t i;
};

Value loadValue(const std::byte* p, ScalarType dtype) {
  return dispatchAllTypes(dtype, "print", [&]<class T>(std::type_identity<T>) -> Value {
    T v;
    std::memcpy(&v, p, sizeof v);
    if constexpr (std::is_same_v<T, bool>)
      return {Value::Kind::kBool, 0, v};
    else if constexpr (std::is_integral_v<T>)
      return {Value::Kind::kInt, 0, static_cast<int64_t>(v)};
    else
      return {Value::Kind::kFloat, static_cast<double>(v), 0};
  });
}

std::string fixed(double v, int digits, bool scientific) {
  // Without the sign that fmt shows on a negative NaN.
  if (std::isnan(v)) return "nan";
  return scientific ? fmt::format("{:.{}e}", v, digits) : fmt::format("{:.{}f}", v, digits);
}

/// The tensor's elements seen as one printed list after another.
class Printer {
 public:
  explicit Printer(const Tensor& t) : t_(*t.unsafeGetTensorImpl()), summarize_(t_.numel() > kThreshold) {
    visit(0, t_.data(), [this](const Value& v) { measure(v); });
    decideMode();
    if (isFloatingType(t_.dtype())) visit(0, t_.data(), [this](const Value& v) { widen(v); });
  }

  std::string print(size_t indent) const { return printFrom(0, t_.data(), indent); }

 private:
  bool elides(size_t dim) const { return summarize_ && t_.sizes()[dim] > 2 * kEdgeItems; }
  const std::byte* at(size_t dim, const std::byte* base, int64_t i) const {
    return base + i * t_.strides()[dim] * t_.itemsize();
  }

  /// Calls f(position) for the positions of `dim` that are shown, and gap() between the two edges.
  template <class F, class G>
  void forShown(size_t dim, F&& f, G&& gap) const {
    const int64_t size = t_.sizes()[dim];
    if (!elides(dim)) {
      for (int64_t i = 0; i < size; ++i) f(i);
      return;
    }
    for (int64_t i = 0; i < kEdgeItems; ++i) f(i);
    gap();
    for (int64_t i = size - kEdgeItems; i < size; ++i) f(i);
  }

  template <class F>
  void visit(size_t dim, const std::byte* base, F&& f) const {
    if (dim == t_.sizes().size()) return f(loadValue(base, t_.dtype()));
    forShown(dim, [&](int64_t i) { visit(dim + 1, at(dim, base, i), f); }, [] {});
  }

  void measure(const Value& v) {
    if (v.kind != Value::Kind::kFloat) {
      width_ = std::max(width_, format(v).size());
      return;
    }
    if (!std::isfinite(v.d) || v.d == 0) return;
    smallest_ = std::min(smallest_, std::abs(v.d));
    largest_ = std::max(largest_, std::abs(v.d));
    whole_numbers_ &= v.d == std::ceil(v.d);
  }

  void decideMode() {
    if (largest_ == 0) return;
    scientific_ = largest_ / smallest_ > 1000 || largest_ > 1e8 || (!whole_numbers_ && smallest_ < 1e-4);
  }

  // Only ordinary numbers set the width, as PyTorch has it: zeros, infinities and NaN may be wider.
  void widen(const Value& v) {
    if (std::isfinite(v.d) && v.d != 0) width_ = std::max(width_, format(v).size());
  }

  std::string format(const Value& v) const {
    if (v.kind == Value::Kind::kBool) return v.i != 0 ? "True" : "False";
    if (v.kind == Value::Kind::kInt) return fmt::format("{}", v.i);
    if (scientific_) return fixed(v.d, 4, true);
    if (!whole_numbers_) return fixed(v.d, 4, false);
    return fixed(v.d, 0, false) + (std::isfinite(v.d) ? "." : "");
  }

  std::string padded(const std::byte* p) const {
    return fmt::format("{:>{}}", format(loadValue(p, t_.dtype())), width_);
  }

  std::string printFrom(size_t dim, const std::byte* base, size_t indent) const {
    const size_t ndim = t_.sizes().size();
    if (dim == ndim) return padded(base);
    if (dim + 1 == ndim) return printVector(dim, base, indent);
    std::vector<std::string> slices;
    forShown(
        dim, [&](int64_t i) { slices.push_back(printFrom(dim + 1, at(dim, base, i), indent + 1)); },
        [&] { slices.push_back("..."); });
    const std::string between = "," + std::string(ndim - dim - 1, '\n') + std::string(indent + 1, ' ');
    return fmt::format("[{}]", fmt::join(slices, between));
  }

  std::string printVector(size_t dim, const std::byte* base, size_t indent) const {
    std::vector<std::string> items;
    forShown(dim, [&](int64_t i) { items.push_back(padded(at(dim, base, i))); }, [&] { items.push_back(" ..."); });
    const size_t space = kLineWidth > indent ? kLineWidth - indent : 0;
    const size_t per_line = std::max<size_t>(1, space / (width_ + 2));
    std::string out = "[";
    for (size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out += i % per_line != 0 ? ", " : ",\n" + std::string(indent + 1, ' ');
      out += items[i];
    }
    return out + "]";
  }

  const TensorImpl& t_;
  bool summarize_;
  bool whole_numbers_ = true;
  bool scientific_ = false;
  size_t width_ = 1;
  double smallest_ = std::numeric_limits<double>::infinity();
  double largest_ = 0;
};

/// A shape as Python prints a tuple.
std::string tuple(IntArrayRef sizes) {
  return sizes.size() == 1 ? fmt::format("({},)", sizes[0])
                           : fmt::format("({})", fmt::join(sizes.begin(), sizes.end(), ", "));
}

std::vector<std::string> suffixesOf(const Tensor& t) {
  std::vector<std::string> out;
  const bool default_type = t.dtype() == get_default_dtype();
  const auto add_type = [&] { out.push_back(fmt::format("dtype=torch.{}", dtypeName(t.dtype()))); };
  if (!t.is_cpu()) out.push_back(fmt::format("device='{}'", t.device().str()));
  const bool without_data = whyNoData(t) != nullptr;
  if (without_data || t.numel() == 0) {
    if (without_data || t.dim() != 1) out.push_back("size=" + tuple(t.sizes()));
    if (!default_type) add_type();
  } else if (!default_type && t.dtype() != kLong && t.dtype() != kBool) {
    add_type();
  }
  if (const std::string grad_fn = detail::gradFnName(t); !grad_fn.empty())
    out.push_back(fmt::format("grad_fn=<{}>", grad_fn));
  else if (t.requires_grad())
    out.push_back("requires_grad=True");
  return out;
}

std::string valuesOf(const Tensor& t, size_t indent) {
  if (whyNoData(t) != nullptr) return "...";
  if (t.numel() == 0) return "[]";
  if (t.is_cpu()) return Printer(t).print(indent);
  NoGradGuard no_grad;
  return Printer(t.cpu()).print(indent);
}

}  // namespace

std::string Tensor::toString() const {
  if (!defined()) return "[ Tensor (undefined) ]";
  if (ActiveTrace* trace = traceAround()) [[unlikely]]
    trace->readsText(*this);
  const WrapperKind kind = wrapperKind(*this);
  if (kind == WrapperKind::kSubclass) return detail::wrapperToString(*this);
  if (kind == WrapperKind::kFunctional) return detail::functionalToString(*this);
  if (kind == WrapperKind::kBatched)
    if (const Tensor* value = detail::constantBehind(*this)) return value->toString();
  if (kind == WrapperKind::kTraced) return detail::str("TracedTensor(", dtypeName(dtype()), sizes(), ")");
  std::string out = kind == WrapperKind::kFake ? "FakeTensor(" : "tensor(";
  const size_t indent = out.size();
  out += valuesOf(*this, indent);
  const size_t last_newline = out.rfind('\n');
  // PyTorch counts from the line break, or one before the start where there is none, and adds one.
  size_t line = out.size() - (last_newline == std::string::npos ? size_t(-1) : last_newline) + 1;
  for (const std::string& suffix : suffixesOf(*this)) {
    if (line + suffix.size() + 2 > kLineWidth) {
      out += ",\n" + std::string(indent, ' ') + suffix;
      line = indent + suffix.size();
    } else {
      out += ", " + suffix;
      line += suffix.size() + 2;
    }
  }
  return out + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.toString(); }

std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  if (s.isBoolean()) return out << (s.toBool() ? "true" : "false");
  if (s.isFloatingPoint()) return out << s.toDouble();
  return out << s.toLong();
}

}  // namespace shunt
