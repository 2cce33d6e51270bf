// Shared by the dispatcher's tests.
#pragma once

#include <shunt/core/library.h>

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {

inline Tensor tensorOn(Device device, int64_t n = 2) {
  return Tensor(detail::makeTensor(IntArrayRef(&n, 1), {}, kFloat, device));
}
inline Tensor cpuTensor(int64_t n = 2) { return tensorOn(kCPU, n); }

/// A library whose registrations end with the scope; fragments may share a namespace.
inline Library fragment(const char* ns) { return Library(Library::Kind::kFragment, ns); }
inline Library implBlock(const char* ns, DispatchKey key) { return Library(Library::Kind::kImpl, ns, key); }

inline OperatorHandle findOp(const char* name, const char* overload = "") {
  return Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

/// Kernels that tell which of them ran.
template <int N>
int64_t answer(const Tensor&) {
  return N;
}

}  // namespace shunt::test
