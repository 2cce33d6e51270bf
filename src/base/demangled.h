// The C++ name of a symbol. Any thread.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace shunt::detail {

/// The name itself where it isn't a mangled one.
inline std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

}  // namespace shunt::detail
