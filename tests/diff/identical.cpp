#include "tests/diff/identical.h"

#include "tests/parity/dtypes.h"

#include <cmath>
#include <sstream>

namespace diff {
namespace {

using parity::TensorState;

template <class T>
std::string text(const T& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}
template <class T>
std::string text(const std::vector<T>& v) {
  std::ostringstream out;
  out << '[';
  for (size_t i = 0; i < v.size(); ++i) out << (i ? ", " : "") << v[i];
  out << ']';
  return out.str();
}

template <class T>
std::string unequal(const std::string& what, const T& expected, const T& got) {
  return expected == got ? "" : what + ": expected " + text(expected) + ", got " + text(got);
}

bool sameElement(int dtype, const uint8_t* a, const uint8_t* b) {
  if (std::equal(a, a + parity::itemSize(dtype), b)) return true;
  return parity::isFloating(dtype) && std::isnan(parity::loadElement(dtype, a)) &&
         std::isnan(parity::loadElement(dtype, b));
}

std::string valuesOf(const std::string& where, const TensorState& e, const TensorState& g) {
  const size_t item = parity::itemSize(e.dtype);
  size_t wrong = 0, first = 0;
  for (size_t at = 0; at < e.bytes.size(); at += item)
    if (!sameElement(e.dtype, &e.bytes[at], &g.bytes[at]) && wrong++ == 0) first = at;
  if (wrong == 0) return "";
  std::ostringstream out;
  out.precision(17);
  out << where << ": " << wrong << " of " << e.bytes.size() / item << " elements differ, first at " << first / item
      << ": expected " << parity::loadElement(e.dtype, &e.bytes[first]) << ", got "
      << parity::loadElement(e.dtype, &g.bytes[first]) << " (" << parity::dtypeName(e.dtype) << ")";
  return out.str();
}

std::string tensors(const std::string& where, const TensorState& e, const TensorState& g, bool values) {
  std::string d = unequal(where + " defined", e.defined, g.defined);
  if (!d.empty() || !e.defined) return d;
  for (const std::string& found :
       {unequal(where + " dtype", e.dtype, g.dtype), unequal(where + " sizes", e.sizes, g.sizes),
        unequal(where + " strides", e.strides, g.strides), unequal(where + " storage_offset", e.offset, g.offset),
        unequal(where + " requires_grad", e.requires_grad, g.requires_grad),
        unequal(where + " is_leaf", e.is_leaf, g.is_leaf), unequal(where + " is_view", e.is_view, g.is_view),
        unequal(where + " grad_fn", e.grad_fn, g.grad_fn)})
    if (!found.empty()) return found;
  return values ? valuesOf(where, e, g) : "";
}

std::string tensorLists(const std::string& where, const std::vector<TensorState>& e, const std::vector<TensorState>& g,
                        bool values) {
  std::string d = unequal(where + ": tensors", e.size(), g.size());
  for (size_t i = 0; d.empty() && i < e.size(); ++i) d = tensors(where + " " + std::to_string(i), e[i], g[i], values);
  return d;
}

std::string returned(const parity::Returned& e, const parity::Returned& g, const std::string& where, bool values) {
  std::string d = unequal(where + " kind", static_cast<int>(e.number.kind), static_cast<int>(g.number.kind));
  if (d.empty()) d = unequal(where, e.number.i, g.number.i);
  if (d.empty() && !(std::isnan(e.number.d) && std::isnan(g.number.d))) d = unequal(where, e.number.d, g.number.d);
  if (d.empty()) d = unequal(where, e.number.s, g.number.s);
  if (d.empty()) d = unequal(where, e.number.ints, g.number.ints);
  if (d.empty()) d = unequal(where + " is argument", e.same_as, g.same_as);
  if (d.empty()) d = unequal(where + " shares storage with argument", e.storage_of, g.storage_of);
  return d.empty() ? tensorLists(where, e.tensors, g.tensors, values) : d;
}

}  // namespace

std::string firstDifference(const parity::Outcome& e, const parity::Outcome& g, bool values) {
  std::string d = unequal("throws", e.threw ? e.error : "", g.threw ? g.error : "");
  if (d.empty()) d = unequal("returns", e.returns.size(), g.returns.size());
  for (size_t i = 0; d.empty() && i < e.returns.size(); ++i)
    d = returned(e.returns[i], g.returns[i], "result " + std::to_string(i), values);
  if (d.empty()) d = tensorLists("argument", e.after, g.after, values);
  if (d.empty()) d = unequal("versions raised by", e.bumped, g.bumped);
  if (d.empty()) d = unequal("backward ran", e.ran_backward, g.ran_backward);
  if (d.empty())
    d = unequal("backward throws", e.backward_threw ? e.backward_error : "", g.backward_threw ? g.backward_error : "");
  return d.empty() ? tensorLists("gradient", e.grads, g.grads, values) : d;
}

}  // namespace diff
