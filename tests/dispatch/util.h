// Shared by the dispatcher's tests.
#pragma once

#include <shunt/core/library.h>

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

/// The message of the Error that `f` throws; a test failure when it throws none.
template <class F>
std::string errorOf(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "expected a shunt::Error";
  return "";
}

}  // namespace shunt::test
