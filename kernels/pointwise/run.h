// Kernels of elementwise operators, made from their functors.
//
//   Tensor c = elementwise::run<functors::Add>("add", a, b, alpha);
//   elementwise::runOut<functors::Add>("add", out, a, b, alpha);           out= rules: resized, cast by canCast
//   elementwise::runInplace<functors::Add>("add_", self, other, alpha);    self is output and first input
//
// The first F::kInputs arguments are inputs: tensors, or Scalars, which take part in type promotion as wrapped numbers
// do; the other F::kScalars ones are Scalars passed to the functor in its compute type. CPU and Meta tensors.
// Broadcasting, promotion, output layout, overlap rules and errors are those of PyTorch's TensorIterator. Keys,
// autograd and version counters are the callers'. Functions may be called from any thread; tensors are the caller's to
// synchronise.
#pragma once

#include "kernels/pointwise/descriptor.h"

#include <shunt/elementwise/request.h>

namespace shunt::elementwise {

/// How many calls took the fast path (one contiguous loop, no plan) and how many a plan; and how many of both streamed
/// their output (stream.h). Per thread, for tests.
struct PathCounters {
  uint64_t fast = 0, planned = 0, streamed = 0;
};
SHUNT_API const PathCounters& pathCounters();
extern constinit thread_local PathCounters path_counters SHUNT_TLS_MODEL;

/// runFunctional, runOutRequest and runInplaceRequest for operands that their fast path takes in no case.
Tensor runFunctionalPlanned(const Request& request);
void runOutPlanned(const Request& request, Tensor& out);
void runInplacePlanned(const Request& request, Tensor& self);

namespace detail {

template <class F, class... Args>
Tensor run(const char* op, const Args&... args) {
  Request request{kDescriptor<F>, op};
  bindAll(request, 0, args...);
  return runFunctional(request);
}

template <class F, class... Args>
void runOut(const char* op, Tensor& out, const Args&... args) {
  Request request{kDescriptor<F>, op};
  bindAll(request, 0, args...);
  runOutRequest(request, out);
}

template <class F, class... Args>
void runInplace(const char* op, Tensor& self, const Args&... args) {
  Request request{kDescriptor<F>, op};
  bind(request, 0, self);
  bindAll(request, 1, args...);
  runInplaceRequest(request, self);
}

/// As run and runOut, with a given common dtype.
template <class F, class... Args>
Tensor runIn(ScalarType common, const char* op, const Args&... args) {
  Request request{kDescriptor<F>, op};
  request.common = common;
  bindAll(request, 0, args...);
  return runFunctional(request);
}

template <class F, class... Args>
void runOutIn(ScalarType common, const char* op, Tensor& out, const Args&... args) {
  Request request{kDescriptor<F>, op};
  request.common = common;
  bindAll(request, 0, args...);
  runOutRequest(request, out);
}

// Plain numbers become Scalars, which live until the end of the expression that calls one of the above.
inline const Tensor& keep(const Tensor& t) { return t; }
inline const Scalar& keep(const Scalar& s) { return s; }
template <class Number>
  requires std::is_arithmetic_v<Number>
Scalar keep(Number n) {
  return Scalar(n);
}

}  // namespace detail

template <class F, class... Args>
Tensor run(const char* op, const Args&... args) {
  static_assert(sizeof...(Args) == F::kInputs + F::kScalars);
  return detail::run<F>(op, detail::keep(args)...);
}

template <class F, class... Args>
void runOut(const char* op, Tensor& out, const Args&... args) {
  static_assert(sizeof...(Args) == F::kInputs + F::kScalars);
  detail::runOut<F>(op, out, detail::keep(args)...);
}

template <class F, class... Args>
void runInplace(const char* op, Tensor& self, const Args&... args) {
  static_assert(sizeof...(Args) == F::kInputs + F::kScalars - 1);
  detail::runInplace<F>(op, self, detail::keep(args)...);
}

}  // namespace shunt::elementwise
