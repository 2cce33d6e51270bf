// Kernels of elementwise operators, made from their functors.
//
//   Tensor c = elementwise::run<functors::Add>("add", a, b, alpha);
//   elementwise::runOut<functors::Add>("add", out, a, b, alpha);           out= rules: resized, cast by canCast
//   elementwise::runInplace<functors::Add>("add_", self, other, alpha);    self is output and first input
//
// The first F::kInputs arguments are inputs: tensors, or Scalars, which take part in type promotion as wrapped numbers do;
// the other F::kScalars ones are Scalars passed to the functor in its compute type. CPU and Meta tensors. Broadcasting,
// promotion, output layout, overlap rules and errors are those of PyTorch's TensorIterator. Keys, autograd and version
// counters are the callers'. Functions may be called from any thread; tensors are the caller's to synchronise.
#pragma once

#include "kernels/elementwise/op_info.h"

#include <shunt/tensor/tensor.h>

namespace shunt::elementwise {

/// One input: a tensor or a number. Neither: an undefined tensor.
struct Argument {
  TensorImpl* tensor = nullptr;
  const Scalar* number = nullptr;
};

/// A call of an elementwise operator, without its output. Refers to the caller's arguments.
struct Request {
  const OpInfo& op;
  const char* name;
  Argument inputs[kMaxInputs] = {};
  const Scalar* scalars[kMaxScalars] = {};
};

SHUNT_API Tensor runFunctional(const Request& request);
SHUNT_API void runOutRequest(const Request& request, Tensor& out);
SHUNT_API void runInplaceRequest(const Request& request, Tensor& self);

/// How many calls took the fast path (one contiguous loop, no plan), per thread. For tests.
struct PathCounters {
  uint64_t fast = 0, planned = 0;
};
SHUNT_API const PathCounters& pathCounters();

namespace detail {

inline void bind(Request& request, int i, const Tensor& tensor) { request.inputs[i].tensor = tensor.unsafeGetTensorImpl(); }
inline void bind(Request& request, int i, const Scalar& number) {
  const int inputs = request.op.num_inputs;
  if (i < inputs) request.inputs[i].number = &number;
  else request.scalars[i - inputs] = &number;
}

template <class F, class... Args>
SHUNT_ALWAYS_INLINE void bindAll(Request& request, int first, const Args&... args) {
  int i = first;
  (bind(request, i++, args), ...);
}

}  // namespace detail

template <class F, class... Args>
Tensor run(const char* op, const Args&... args) {
  static_assert(sizeof...(Args) == F::kInputs + F::kScalars);
  Request request{kOpInfo<F>, op};
  detail::bindAll<F>(request, 0, args...);
  return runFunctional(request);
}

template <class F, class... Args>
void runOut(const char* op, Tensor& out, const Args&... args) {
  static_assert(sizeof...(Args) == F::kInputs + F::kScalars);
  Request request{kOpInfo<F>, op};
  detail::bindAll<F>(request, 0, args...);
  runOutRequest(request, out);
}

template <class F, class... Args>
void runInplace(const char* op, Tensor& self, const Args&... args) {
  static_assert(sizeof...(Args) == F::kInputs + F::kScalars - 1);
  Request request{kOpInfo<F>, op};
  detail::bind(request, 0, self);
  detail::bindAll<F>(request, 1, args...);
  runInplaceRequest(request, self);
}

}  // namespace shunt::elementwise
