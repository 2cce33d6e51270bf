// DenseCall: dense operands of any kind, as expected.cpp takes them: rows of consecutive elements, some of whose
// operands are repeated for each (a bias, a column), single elements, numbers, and other dtypes than the loop's. Lives
// on the stack of the call.
#pragma once

#include "kernels/pointwise/expected_parts.h"

namespace shunt::elementwise {

SHUNT_ALWAYS_INLINE bool isOneElement(uint8_t kind) { return kind == Record::kOneElement || kind == kOneOfSeveralDims; }

template <int N>
struct DenseCall {
  const TensorImpl* shape = nullptr;  // of the result
  int64_t row = -1;                   // elements, where an operand is repeated for each row

  SHUNT_ALWAYS_INLINE bool take(const Request& r, const Parts<N>& p, const Record& e, Record::Form form, Views& views,
                                Slots& slots) {
    if (!isOfRecord(p, e, form) || !findShape(p, e)) return false;
    return allOf<N>([&](int i) __attribute__((always_inline)) { return takeInput(p, i, e, views, slots); }) &&
           makesDense(r, p, e, *shape);
  }

  SHUNT_ALWAYS_INLINE bool loop(const Parts<N>& p, const Record& e, Views& views, const Slots& slots, std::byte* out) {
    const ScalarType result = p.op.loopOutput(e.common);
    const int64_t numel = shape->numel(), length = row < 0 ? numel : row;
    bool valid = true;
    for (int64_t at = 0; at < numel; at += length) {
      valid &= runLoop(p, e, out + at * sizeOf(result), views.in, length, slots.scalars);
      unrolled<N>([&](int i) __attribute__((always_inline)) {
        if (e.kind[i] == Record::kSameShape) views.in[i].p += sizeOf(dtypeOf(e, i)) * length;
        if (e.kind[i] == kColumn) views.in[i].p += sizeOf(dtypeOf(e, i));
      });
    }
    return valid;
  }

 private:
  /// The first of the dense operands, which have one shape; where there is none, of those of one element the first with
  /// the most dimensions.
  SHUNT_ALWAYS_INLINE bool findShape(const Parts<N>& p, const Record& e) {
    bool any_dense = false, found = false;  // constants at every place
    p.forEachInput([&](int i) __attribute__((always_inline)) { any_dense |= e.kind[i] == Record::kSameShape; });
    const auto look = [&](int i) __attribute__((always_inline)) {
      if (any_dense ? e.kind[i] != Record::kSameShape || found : !isOneElement(e.kind[i])) return true;
      const TensorImpl* t = p.tensors[i];
      if (t == nullptr || t->signature() != e.signature[i]) return false;
      if (!found || t->dim() > shape->dim()) shape = t;
      found = true;
      return true;
    };
    return allOf<N>(look) && found;
  }

  /// Only kinds, dtypes and layouts are constants; shapes are compared.
  SHUNT_ALWAYS_INLINE bool takeInput(const Parts<N>& p, int i, const Record& e, Views& views, Slots& slots) {
    if (isNumber(e.kind[i])) return takeNumber(p, i, e, views, slots);
    const TensorImpl* t = p.tensors[i];
    if (t == nullptr || t->signature() != e.signature[i]) return false;
    const ScalarType dtype = dtypeOf(e, i);
    const bool repeated = e.kind[i] != Record::kSameShape && e.kind[i] != kRow;
    views.in[i] = {dataOf(*t, dtype), repeated ? 0 : sizeOf(dtype), dtype};
    if (e.kind[i] == Record::kSameShape) return t == shape || sameSizes(*t, *shape);
    if (e.kind[i] == kRow) return takeRow(rowOf(*shape, *t));
    if (e.kind[i] == kColumn) {
      const int64_t length = rowBesideColumn(*shape, *t);
      return length >= kLeastRow && takeRow(length);
    }
    if (!isOneElement(e.kind[i])) return false;
    // By the number of dimensions types are promoted.
    if (e.kind[i] == Record::kOneElement ? t->dim() != 0 : t->dim() == 0 || t->dim() > shape->dim()) return false;
    // What a 0-dim tensor that is a number does in promotion depends on the numbers beside it.
    return !((isMixed(p.op, e) || anyOf(e, isNumber)) && t->is_wrapped_number());
  }

  SHUNT_ALWAYS_INLINE bool takeNumber(const Parts<N>& p, int i, const Record& e, Views& views, Slots& slots) {
    views.in[i] = {slots.numbers[i].bytes, 0, p.op.loopInput(i, e.common)};
    if (!isCategory(e.kind[i])) return !isMixed(p.op, e) && takePlainNumber(p, i, e, slots);
    const Scalar* number = p.numbers[i];  // stored by takeScalars
    return p.tensors[i] == nullptr && number != nullptr && categoryOf(*number) == e.kind[i];
  }

  /// All operands that make rows make the same.
  SHUNT_ALWAYS_INLINE bool takeRow(int64_t length) {
    if (length < 0 || (row >= 0 && row != length)) return false;
    row = length;
    return true;
  }
};

}  // namespace shunt::elementwise
