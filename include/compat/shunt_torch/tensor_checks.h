// at::checkDim and related functions: checks of a kernel's arguments, with PyTorch's messages. They throw Error. Any
// thread.
#pragma once

#include <shunt/core/error.h>
#include <shunt/tensor/tensor.h>

#include <algorithm>
#include <functional>
#include <string>

namespace shunt {

/// The name of the function whose arguments are checked, for the message.
using CheckedFrom = const char*;

/// A tensor with its argument's name and position (from 1; 0: none). Refers to the tensor, which must outlive it.
struct TensorArg {
  TensorArg(const Tensor& t, const char* name_of, int position) : tensor(t), name(name_of), pos(position) {}
  TensorArg(Tensor&&, const char*, int) = delete;
  const Tensor& tensor;
  const char* name;
  int pos;
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
};
inline std::ostream& operator<<(std::ostream& out, const TensorArg& t) {
  return t.pos == 0 ? out << '\'' << t.name << '\'' : out << "argument #" << t.pos << " '" << t.name << '\'';
}

namespace detail {

template <class... Parts>
void checkArgument(bool holds, CheckedFrom c, const Parts&... parts) {
  SHUNT_CHECK(holds, detail::str(parts...), " (while checking arguments for ", c, ")");
}
/// The message for two tensors that must have the same `what`.
template <class A, class B>
void checkShared(bool holds, CheckedFrom c, const TensorArg& t1, const TensorArg& t2, const char* what, const A& a,
                 const B& b) {
  checkArgument(holds, c, "Expected tensor for ", t1, " to have ", what, " as tensor for ", t2, "; but ", a,
                " does not equal ", b);
}
/// PyTorch's old name for a dtype on a device, such as "CPUFloatType".
inline std::string typeName(const Tensor& t) {
  std::string device = detail::str(t.device().type());
  std::transform(device.begin(), device.end(), device.begin(), [](char c) { return c < 'a' ? c : char(c - 32); });
  return device + toString(t.scalar_type()) + "Type";
}
/// Compares each defined tensor with the first defined one.
template <class Check>
void checkAll(ArrayRef<TensorArg> tensors, const Check& check) {
  const TensorArg* first = nullptr;
  for (const TensorArg& t : tensors) {
    if (!t->defined()) continue;
    if (first != nullptr) check(*first, t);
    first = first != nullptr ? first : &t;
  }
}

}  // namespace detail

inline void checkDim(CheckedFrom c, const Tensor& tensor, const char* name, int pos, int64_t dim) {
  detail::checkArgument(tensor.dim() == dim, c, "Expected ", dim, "-dimensional tensor, but got ", tensor.dim(),
                        "-dimensional tensor for ", TensorArg(tensor, name, pos));
}
inline void checkDim(CheckedFrom c, const TensorArg& t, int64_t dim) { checkDim(c, *t, t.name, t.pos, dim); }
/// The tensor has at least `begin` and fewer than `end` dimensions.
inline void checkDimRange(CheckedFrom c, const TensorArg& t, int64_t begin, int64_t end) {
  detail::checkArgument(t->dim() >= begin && t->dim() < end, c, "Expected ", begin, " to ", end - 1,
                        " dimensions, but got ", t->dim(), "-dimensional tensor for ", t);
}
inline void checkSize(CheckedFrom c, const TensorArg& t, IntArrayRef size) {
  checkDim(c, t, static_cast<int64_t>(size.size()));
  detail::checkArgument(t->sizes() == size, c, "Expected tensor of size ", size, ", but got tensor of size ",
                        t->sizes(), " for ", t);
}
inline void checkSize(CheckedFrom c, const TensorArg& t, int64_t dim, int64_t size) {
  detail::checkArgument(t->size(dim) == size, c, "Expected tensor to have size ", size, " at dimension ", dim,
                        ", but got size ", t->size(dim), " for ", t);
}
inline void checkNumel(CheckedFrom c, const TensorArg& t, int64_t numel) {
  detail::checkArgument(t->numel() == numel, c, "Expected tensor for ", t, " to have ", numel,
                        " elements; but it actually has ", t->numel(), " elements");
}
inline void checkContiguous(CheckedFrom c, const TensorArg& t) {
  detail::checkArgument(t->is_contiguous(), c, "Expected contiguous tensor, but got non-contiguous tensor for ", t);
}
inline void checkAllContiguous(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  for (const TensorArg& t : tensors)
    if (t->defined()) checkContiguous(c, t);
}
inline void checkDefined(CheckedFrom c, const TensorArg& t) {
  detail::checkArgument(t->defined(), c, "Expected tensor for ", t, " to be non-null, but it was undefined");
}
inline void checkAllDefined(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  for (const TensorArg& t : tensors) checkDefined(c, t);
}
inline void checkScalarType(CheckedFrom c, const TensorArg& t, ScalarType type) {
  detail::checkArgument(t->scalar_type() == type, c, "Expected tensor for ", t, " to have scalar type ", type,
                        "; but got ", detail::typeName(*t), " instead");
}
inline void checkScalarTypes(CheckedFrom c, const TensorArg& t, ArrayRef<ScalarType> types) {
  std::string list;
  for (const ScalarType type : types) list += (list.empty() ? "" : ", ") + std::string(toString(type));
  detail::checkArgument(std::find(types.begin(), types.end(), t->scalar_type()) != types.end(), c,
                        "Expected tensor for ", t, " to have one of the following scalar types: ", list, "; but got ",
                        detail::typeName(*t), " instead");
}

inline void checkSameSize(CheckedFrom c, const TensorArg& t1, const TensorArg& t2) {
  detail::checkShared(t1->sizes() == t2->sizes(), c, t1, t2, "same size", t1->sizes(), t2->sizes());
}
inline void checkSameDim(CheckedFrom c, const TensorArg& t1, const TensorArg& t2) {
  detail::checkShared(t1->dim() == t2->dim(), c, t1, t2, "the same dimension", t1->dim(), t2->dim());
}
inline void checkSameNumel(CheckedFrom c, const TensorArg& t1, const TensorArg& t2) {
  detail::checkShared(t1->numel() == t2->numel(), c, t1, t2, "same number of elements", t1->numel(), t2->numel());
}
inline void checkSameType(CheckedFrom c, const TensorArg& t1, const TensorArg& t2) {
  const std::string a = detail::typeName(*t1), b = detail::typeName(*t2);
  detail::checkArgument(a == b, c, "Expected tensor for ", t1, " to have the same type as tensor for ", t2,
                        "; but type ", a, " does not equal ", b);
}
inline void checkAllSameNumel(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  detail::checkAll(tensors, [&](const TensorArg& a, const TensorArg& b) { checkSameNumel(c, a, b); });
}
inline void checkAllSameType(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  detail::checkAll(tensors, [&](const TensorArg& a, const TensorArg& b) { checkSameType(c, a, b); });
}

}  // namespace shunt
