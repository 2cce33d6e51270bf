#include "tests/diff/digest.h"

#include "tests/parity/dtypes.h"

#include <cmath>

namespace diff {

void Digest::add(const void* data, size_t size) {
  for (size_t i = 0; i < size; ++i) hash_ = (hash_ ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3;
}

void Digest::add(const std::string& s) {
  add(static_cast<int64_t>(s.size()));
  add(s.data(), s.size());
}

void Digest::add(const std::vector<int64_t>& v) {
  add(static_cast<int64_t>(v.size()));
  for (const int64_t i : v) add(i);
}

void Digest::add(const parity::TensorState& t, bool values) {
  add(t.defined);
  if (!t.defined) return;
  add(t.dtype);
  add(t.sizes);
  add(t.strides);
  for (const int64_t v : {t.offset, int64_t{t.requires_grad}, int64_t{t.is_leaf}, int64_t{t.is_view}}) add(v);
  add(t.grad_fn);
  if (!values) return;
  const size_t item = parity::itemSize(t.dtype);
  for (size_t at = 0; at < t.bytes.size(); at += item) {
    const bool nan = parity::isFloating(t.dtype) && std::isnan(parity::loadElement(t.dtype, &t.bytes[at]));
    nan ? add("nan", 3) : add(&t.bytes[at], item);
  }
}

void Digest::add(const parity::Returned& r, bool values) {
  add(static_cast<int64_t>(r.number.kind));
  add(r.number.i);
  std::isnan(r.number.d) ? add("nan", 3) : add(&r.number.d, sizeof r.number.d);
  add(r.number.s);
  add(r.number.ints);
  for (const int i : r.same_as) add(i);
  for (const int i : r.storage_of) add(i);
  for (const parity::TensorState& t : r.tensors) add(t, values);
}

void Digest::add(const parity::Outcome& outcome, bool values) {
  for (const bool flag : {outcome.threw, outcome.ran_backward, outcome.backward_threw}) add(int64_t{flag});
  for (const parity::Returned& r : outcome.returns) add(r, values);
  for (const parity::TensorState& t : outcome.after) add(t, values);
  add(outcome.bumped);
  for (const parity::TensorState& t : outcome.grads) add(t, values);
}

}  // namespace diff
