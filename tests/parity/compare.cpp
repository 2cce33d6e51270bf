#include "tests/parity/compare.h"

#include "tests/parity/causes.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/messages.h"
#include "tests/parity/rules.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace parity {
namespace {

double smallestNormal(double epsilon) {
  return epsilon == epsilonOf(5) ? 0x1p-14 : epsilon == epsilonOf(7) ? 0x1p-1022 : 0x1p-126;
}

constexpr double kMostRelative = 0.25;  // of the ULPs of 16-bit types, of which a few are much

template <class T>
std::string listText(const std::vector<T>& v) {
  std::ostringstream out;
  for (size_t i = 0; i < v.size(); ++i) out << (i ? ", " : "[") << v[i];
  return v.empty() ? "[]" : out.str() + "]";
}

class Comparison {
 public:
  Comparison(const Case& c, const Outcome& s, const Outcome& t)
      : case_(c),
        shunt_(s),
        torch_(t),
        tolerance_(toleranceFor(c.name, c.overload)),
        largest_term_(largestTerm()),
        epsilon_(computeEpsilon()) {}

  std::vector<Difference> run() {
    if (shunt_.threw != torch_.threw) {
      add(shunt_.threw ? "shunt_throws" : "torch_throws", firstLine(shunt_.threw ? shunt_.error : torch_.error));
    } else if (shunt_.threw) {
      if (!sameMessage(shunt_.error, torch_.error))
        add("message", "Shunt " + firstLine(shunt_.error) + ", libtorch " + firstLine(torch_.error));
    } else {
      returns();
      arguments();
      gradients();
    }
    return std::move(found_);
  }

 private:
  static std::string firstLine(const std::string& text) {
    return text.substr(0, std::min(text.find('\n'), size_t{300}));
  }

  void add(const std::string& what, const std::string& detail) { found_.push_back({what, detail}); }
  template <class T>
  void same(const std::string& what, const std::string& where, const T& a, const T& b) {
    std::ostringstream out;
    if (a == b) return;
    out << where << ": Shunt " << a << ", libtorch " << b;
    add(what, out.str());
  }

  void returns() {
    same("returns", "number of returns", shunt_.returns.size(), torch_.returns.size());
    if (shunt_.returns.size() != torch_.returns.size()) return;
    for (size_t i = 0; i < shunt_.returns.size(); ++i) {
      const Returned &a = shunt_.returns[i], &b = torch_.returns[i];
      const std::string where = "result " + std::to_string(i);
      same("returns", where + " kind", static_cast<int>(a.number.kind), static_cast<int>(b.number.kind));
      same("values", where, a.number.i, b.number.i);
      if (a.number.d != b.number.d && !(std::isnan(a.number.d) && std::isnan(b.number.d)))
        same("values", where, a.number.d, b.number.d);
      same("returns", where + " tensors", a.tensors.size(), b.tensors.size());
      if (a.tensors.size() != b.tensors.size()) continue;
      for (size_t k = 0; k < a.tensors.size(); ++k) {
        const std::string which = a.tensors.size() == 1 ? where : where + "[" + std::to_string(k) + "]";
        tensor("", which, a.tensors[k], b.tensors[k], tolerance_.forward, tolerance_.sums);
        same("alias", which + " is argument", a.same_as[k], b.same_as[k]);
        same("storage", which + " shares storage with argument", a.storage_of[k], b.storage_of[k]);
      }
    }
  }

  void arguments() {
    for (size_t i = 0; i < shunt_.after.size(); ++i) {
      const std::string where = "argument tensor " + std::to_string(i) + " after the call";
      tensor("after_", where, shunt_.after[i], torch_.after[i], tolerance_.forward, tolerance_.sums);
      // Tensors on one storage count versions together in Shunt and apart in libtorch.
      if (alone(i))
        same("version", where + " version raised", static_cast<bool>(shunt_.bumped[i]),
             static_cast<bool>(torch_.bumped[i]));
    }
  }

  bool alone(size_t i) const {
    return std::ranges::count_if(case_.tensors, [&](const TensorSpec& t) {
             return t.defined && t.storage == case_.tensors[i].storage;
           }) <= 1;
  }

  void gradients() {
    // A gradient has come through the results, whose dtype may be coarser (dtype=).
    for (const Returned& r : shunt_.returns)
      for (const TensorState& t : r.tensors)
        if (t.defined && isFloating(t.dtype)) epsilon_ = std::max(epsilon_, epsilonOf(t.dtype));
    rounded_terms_ = 3 * tolerance_.rounded_terms;
    if (anyBroadcast()) largest_term_ = std::max(largest_term_, 9.0);  // and through a sum over what was broadcast
    same("backward", "backward ran", shunt_.ran_backward, torch_.ran_backward);
    if (shunt_.backward_threw != torch_.backward_threw)
      add(shunt_.backward_threw ? "shunt_backward_throws" : "torch_backward_throws",
          firstLine(shunt_.backward_threw ? shunt_.backward_error : torch_.backward_error));
    else if (shunt_.backward_threw && !sameMessage(shunt_.backward_error, torch_.backward_error))
      add("backward_message",
          "Shunt " + firstLine(shunt_.backward_error) + ", libtorch " + firstLine(torch_.backward_error));
    if (!shunt_.backward_threw && !torch_.backward_threw)
      same("backward", "number of gradients", shunt_.grads.size(), torch_.grads.size());
    for (size_t i = 0; i < std::min(shunt_.grads.size(), torch_.grads.size()); ++i)
      tensor("grad_", "gradient of tensor " + std::to_string(i), shunt_.grads[i], torch_.grads[i], tolerance_.backward,
             true, i);
  }

  /// `of`: of gradients, the number of the case's tensor.
  void tensor(const std::string& prefix, const std::string& where, const TensorState& a, const TensorState& b,
              double ulps, bool sums, size_t of = 0) {
    same(prefix + "defined", where + " defined", a.defined, b.defined);
    if (!a.defined || !b.defined) return;
    if (a.dtype != b.dtype)
      add(prefix + "dtype", where + ": Shunt " + dtypeName(a.dtype) + ", libtorch " + dtypeName(b.dtype));
    same(prefix + "sizes", where + " sizes", listText(a.sizes), listText(b.sizes));
    same(prefix + "requires_grad", where + " requires_grad", a.requires_grad, b.requires_grad);
    same(prefix + "leaf", where + " is_leaf", a.is_leaf, b.is_leaf);
    same(prefix + "view", where + " is_view", a.is_view, b.is_view);
    same(prefix + "grad_fn", where + " grad_fn", a.grad_fn, b.grad_fn);
    if (a.dtype != b.dtype || a.sizes != b.sizes) return;
    same(prefix + (stridesMatter(a, b) ? "strides" : "idle_strides"), where + " strides", listText(a.strides),
         listText(b.strides));
    same(prefix + (a.bytes.empty() ? "idle_offset" : "offset"), where + " storage_offset", a.offset, b.offset);
    values(prefix, where, a, b, ulps, sums, of);
  }

  // Strides of dimensions of one element, or of empty tensors, address nothing.
  static bool stridesMatter(const TensorState& a, const TensorState& b) {
    for (size_t d = 0; d < a.sizes.size() && !a.bytes.empty(); ++d)
      if (a.sizes[d] > 1 && a.strides[d] != b.strides[d]) return true;
    return false;
  }

  void values(const std::string& prefix, const std::string& where, const TensorState& a, const TensorState& b,
              double ulps, bool sums, size_t of) {
    if (metadataOnly()) return;
    const size_t item = itemSize(a.dtype);
    const double largest = sums && isFloating(b.dtype) ? largestOf(b.dtype, b.bytes) : 0;
    std::vector<size_t> wrong;
    std::string kind;
    for (size_t at = 0; at < a.bytes.size(); at += item) {
      if (close(a.dtype, &a.bytes[at], &b.bytes[at], ulps, sums, largest)) continue;
      const std::string this_kind = kindOf(a.dtype, &a.bytes[at], &b.bytes[at]);
      if (wrong.empty())
        kind = this_kind;
      else if (kind != this_kind)
        kind.clear();
      wrong.push_back(at / item);
    }
    if (wrong.empty()) return;
    const size_t first = wrong[0] * item;
    std::ostringstream out;
    out.precision(17);
    out << where << ": " << wrong.size() << " of " << a.bytes.size() / item << " elements differ, first at "
        << first / item << ": Shunt " << loadElement(a.dtype, &a.bytes[first]) << ", libtorch "
        << loadElement(b.dtype, &b.bytes[first]) << " (" << dtypeName(a.dtype) << ")";
    if (anyStrided()) out << ", strided operands";
    if (anyBroadcast()) out << ", broadcast operands";
    for (const auto& [text, is] : kSpecial)
      if (anyOperand(is)) out << ", " << text << " operand";
    if (std::ranges::any_of(case_.args, isZero)) out << ", number 0";
    if (std::ranges::any_of(case_.args, isNan)) out << ", number NaN";
    if (std::ranges::any_of(case_.args, isBool)) out << ", a bool number";
    if (std::ranges::any_of(case_.storages, [](const StorageSpec& s) { return !isFloating(s.dtype); }))
      out << ", integer operand";
    if (anyTwice()) out << ", a tensor twice";
    if (std::ranges::any_of(case_.tensors, &TensorSpec::wrapped_number)) out << ", a wrapped number";
    if (const std::string cause = causeOf(case_, a, b, wrong, prefix == "grad_", of); !cause.empty())
      out << ", " << cause;
    add(prefix + kind + "values", out.str());
  }

  // What one library calls NaN or infinite and the other does not; empty for two numbers.
  static std::string kindOf(int dtype, const uint8_t* a, const uint8_t* b) {
    if (!isFloating(dtype)) return "";
    const double x = loadElement(dtype, a), y = loadElement(dtype, b);
    if (std::isnan(x) != std::isnan(y)) return std::isnan(x) ? "shunt_nan_" : "torch_nan_";
    if (std::isinf(x) != std::isinf(y)) return std::isinf(x) ? "shunt_inf_" : "torch_inf_";
    return "";
  }

  // What an operand may hold that known differences are about.
  struct Special {
    const char* text;
    bool (*is)(int dtype, double v);
  };
  static constexpr Special kSpecial[] = {
      {"NaN", [](int, double v) { return std::isnan(v); }},
      {"infinite", [](int, double v) { return std::isinf(v); }},
      {"denormal", [](int dtype, double v) { return v != 0 && std::abs(v) < smallestNormal(epsilonOf(dtype)); }},
      {"zero", [](int, double v) { return v == 0; }},
      {"huge",
       [](int dtype, double v) {
         return std::isfinite(v) && std::abs(v) > (dtype == 5 ? 1e4 : dtype == 7 ? 1e150 : 1e18);
       }},
  };
  bool anyOperand(bool (*is)(int, double)) const {
    for (const StorageSpec& s : case_.storages)
      for (size_t at = 0; isFloating(s.dtype) && at < s.bytes.size(); at += itemSize(s.dtype))
        if (is(s.dtype, loadElement(s.dtype, &s.bytes[at]))) return true;
    return false;
  }
  bool anyTwice() const {
    std::vector<int64_t> seen;
    for (const Value& v : case_.args)
      if (v.kind == Value::Kind::kTensor &&
          (std::ranges::count(seen, v.ints[0]) != 0 || (seen.push_back(v.ints[0]), false)))
        return true;
    return false;
  }
  static bool isNan(const Value& v) { return v.kind == Value::Kind::kDouble && std::isnan(v.d); }
  static bool isBool(const Value& v) { return v.kind == Value::Kind::kBool; }
  static bool isZero(const Value& v) {
    return ((v.kind == Value::Kind::kInt || v.kind == Value::Kind::kBool) && v.i == 0) ||
           (v.kind == Value::Kind::kDouble && v.d == 0);
  }

  // Whether some tensor of the case is not row-major and dense.
  bool anyStrided() const {
    for (const TensorSpec& t : case_.tensors) {
      if (!t.defined) continue;
      int64_t dense = 1;
      for (size_t d = t.sizes.size(); d-- > 0; dense *= t.sizes[d])
        if (t.sizes[d] != 1 && t.strides[d] != dense) return true;
    }
    return false;
  }

  // Whether two tensors have different shapes.
  bool anyBroadcast() const {
    const auto differs = [&](const TensorSpec& t) { return t.defined && t.sizes != case_.tensors[0].sizes; };
    return std::ranges::any_of(case_.tensors, differs);
  }

  static double largestOf(int dtype, const std::vector<uint8_t>& bytes) {
    double largest = 0;
    for (size_t at = 0; at < bytes.size(); at += itemSize(dtype))
      if (const double v = std::abs(loadElement(dtype, &bytes[at])); std::isfinite(v)) largest = std::max(largest, v);
    return largest;
  }

  // `largest`: of the tensor's elements, where they are sums whose terms may cancel.
  bool close(int dtype, const uint8_t* a, const uint8_t* b, double ulps, bool sums, double largest) const {
    if (std::equal(a, a + itemSize(dtype), b)) return true;
    if (!isFloating(dtype)) return false;
    const double x = loadElement(dtype, a), y = loadElement(dtype, b);
    if (std::isnan(x) && std::isnan(y)) return true;
    const bool exact = ulps == 0 || (case_.integral_data && tolerance_.exact_on_integers && dtype != 5 && dtype != 15);
    if (exact) return sums && x == 0 && y == 0;
    if (x == y) return true;
    const double epsilon = std::max(epsilonOf(dtype), epsilon_);
    const double smallest = smallestNormal(epsilon);
    if (std::abs(x) <= smallest && std::abs(y) <= smallest) return true;
    if (!std::isfinite(x) || !std::isfinite(y)) return false;
    const double terms = sums ? std::min(epsilon, epsilonOf(6)) * largest_term_ : 0;  // added up in float32 at least
    return std::abs(x - y) <= std::min(ulps * epsilon, kMostRelative) * std::max({std::abs(y), largest, smallest}) +
                                  ulps * terms + (rounded_terms_ + tolerance_.of_one * productOfNumbers()) * epsilon;
  }

  double productOfNumbers() const {
    double product = 1;
    for (const Value& v : case_.args) {
      const double number = v.kind == Value::Kind::kDouble ? v.d
                            : v.kind == Value::Kind::kInt  ? static_cast<double>(v.i)
                                                           : 1;
      if (std::isfinite(number)) product *= std::max(1.0, std::abs(number));
    }
    return product;
  }

  bool metadataOnly() const { return (ruleFor(case_.name, case_.overload).flags & kMetadataOnly) != 0; }

  // Of the most exact floating-point input, which out= may exceed; numbers and integers compute in float32. Where
  // operators of several dtypes follow each other, of the coarsest.
  double computeEpsilon() const {
    const bool is_out = case_.overload.find("out") != std::string::npos || case_.overload == "grad_input";
    if (is_out && isFloating(case_.compute_dtype)) return epsilonOf(case_.compute_dtype);
    std::vector<const Value*> tensors;
    for (const Value& v : case_.args)
      if (v.kind == Value::Kind::kTensor) tensors.push_back(&v);
    if (tensors.empty() || !(is_out || tolerance_.stepwise)) return 0;
    if (is_out) tensors.pop_back();
    double epsilon = tolerance_.stepwise ? 0 : 1;
    for (const Value* v : tensors) {
      const TensorSpec& t = case_.tensors[static_cast<size_t>(v->ints[0])];
      const int dtype = t.defined ? case_.storages[static_cast<size_t>(t.storage)].dtype : 6;
      if (!isFloating(dtype)) continue;
      epsilon = tolerance_.stepwise ? std::max(epsilon, epsilonOf(dtype)) : std::min(epsilon, epsilonOf(dtype));
    }
    return epsilon == 1 ? epsilonOf(6) : epsilon;
  }

  // Of the sums that operators add up, whose operands are small numbers: a product of two operands or of an operand and
  // a gradient.
  double largestTerm() const {
    if ((ruleFor(case_.name, case_.overload).flags & kAccumulates) == 0 && !tolerance_.cancels) return 0;
    double largest = 3;  // gradients
    for (const StorageSpec& s : case_.storages)
      if (isFloating(s.dtype)) largest = std::max(largest, largestOf(s.dtype, s.bytes));
    for (const Value& v : case_.args)
      if (v.kind == Value::Kind::kDouble && std::isfinite(v.d)) largest = std::max(largest, std::abs(v.d));
    return std::min(largest, 16.0) * std::min(largest, 16.0);
  }

  const Case& case_;
  const Outcome &shunt_, &torch_;
  const Tolerance& tolerance_;
  double largest_term_, epsilon_, rounded_terms_ = 0;
  std::vector<Difference> found_;
};

}  // namespace

std::vector<Difference> compareOutcomes(const Case& c, const Outcome& shunt, const Outcome& torch) {
  return Comparison(c, shunt, torch).run();
}

}  // namespace parity
