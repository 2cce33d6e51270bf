// What the kernels that write to chosen elements share. Pure functions of their arguments; any thread.
#pragma once

#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/view_util.h"

#include <shunt/elementwise/cast.h>

namespace shunt::native {

/// to += from, rounded to T each time; of bools, or.
template <class T>
void addElement(T& to, const T& from) {
  if constexpr (std::is_same_v<T, bool>)
    to = to | from;
  else
    to = cast<T>(cast<opmath_t<T>>(to) + cast<opmath_t<T>>(from));
}

/// A tensor to read while `written` is written: a copy where they meet in memory.
inline Tensor readableBeside(const Tensor& t, const TensorImpl& written) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (elementwise::areDisjoint(written, impl)) return t;
  return native::clone(t, MemoryFormat::Contiguous);
}

}  // namespace shunt::native
