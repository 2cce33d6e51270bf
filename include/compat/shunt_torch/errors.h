// The functions with which the macros of PyTorch's checks (macros.h) throw.
#pragma once

#include <shunt/core/error.h>
#include <shunt/core/log.h>

#include <string>

namespace shunt {

namespace detail {

template <class E>
[[noreturn]] SHUNT_COLD void throwAs(std::string message,
                                     std::source_location where = std::source_location::current()) {
  throw E(std::move(message), where);
}

/// The streamed `parts`, concatenated; `text` if there are none.
template <class... Parts>
SHUNT_COLD std::string messageOr(const char* text, const Parts&... parts) {
  if constexpr (sizeof...(Parts) == 0)
    return text;
  else
    return detail::str(parts...);
}

}  // namespace detail
}  // namespace shunt
