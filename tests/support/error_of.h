// What the tests share to read errors. Any thread.
#pragma once

#include <shunt/core/error.h>

#include <string>

namespace shunt::test {

/// The message of the error that `f` throws, or "no error".
template <class E = Error, class F>
std::string errorOf(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace shunt::test
