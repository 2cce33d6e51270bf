// The library's exceptions, Error and what derives from it, and the checks that throw them.
//
// Two kinds of failure: a user's mistake (SHUNT_CHECK) and a bug of Shunt's own (SHUNT_INTERNAL_ASSERT). Both say what
// went wrong, for which operator where there is one, and what to do. Any thread may throw; nothing here prints or
// aborts.
#pragma once

#include <shunt/core/macros.h>

#include <source_location>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace shunt {

namespace detail {
/// The message with what the throwing thread is doing: the operators it runs, unless the message names them.
SHUNT_API SHUNT_COLD std::string inContext(std::string message);
}  // namespace detail

/// Every error that Shunt reports. `what()` is the whole message, without the place that threw it; `where()` is that
/// place.
class SHUNT_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::source_location where = std::source_location::current())
      : std::runtime_error(detail::inContext(message)), where_(where) {}
  /// Where it was thrown.
  const std::source_location& where() const noexcept { return where_; }
  /// As c10::Error's: messages hold no backtrace here.
  const char* what_without_backtrace() const noexcept { return what(); }

 private:
  std::source_location where_;
};

/// An index or dimension that is out of range (PyTorch's IndexError).
class SHUNT_API IndexError : public Error {
 public:
  using Error::Error;
};

/// An argument of a type that isn't accepted (PyTorch's TypeError).
class SHUNT_API TypeError : public Error {
 public:
  using Error::Error;
};

/// An argument of the right type with a value that isn't accepted, where PyTorch says ValueError.
class SHUNT_API ValueError : public Error {
 public:
  using Error::Error;
};

/// A matrix for which there is no result: it is singular, or no factorisation converges (PyTorch's LinAlgError).
class SHUNT_API LinAlgError : public Error {
 public:
  using Error::Error;
};

/// The operator exists but has no kernel for the call's keys, or a feature has no implementation here.
class SHUNT_API NotImplementedError : public Error {
 public:
  using Error::Error;
};

namespace detail {

[[noreturn]] SHUNT_API SHUNT_COLD void throwError(std::string message, std::source_location where);
[[noreturn]] SHUNT_API SHUNT_COLD void throwIndexError(std::string message, std::source_location where);
[[noreturn]] SHUNT_API SHUNT_COLD void throwTypeError(std::string message, std::source_location where);
[[noreturn]] SHUNT_API SHUNT_COLD void throwValueError(std::string message, std::source_location where);
[[noreturn]] SHUNT_API SHUNT_COLD void throwInternal(const char* condition, std::string message,
                                                     std::source_location where);

/// Concatenates the streamed forms of its arguments. For messages only.
template <class... Args>
SHUNT_COLD std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return std::move(out).str();
}

}  // namespace detail
}  // namespace shunt

/// Throws shunt::Error with the streamed message unless `condition` holds.
#define SHUNT_CHECK(condition, ...)                                                                      \
  do {                                                                                                   \
    if (!(condition)) [[unlikely]]                                                                       \
      ::shunt::detail::throwError(::shunt::detail::str(__VA_ARGS__), ::std::source_location::current()); \
  } while (false)

#define SHUNT_CHECK_INDEX(condition, ...)                                                                     \
  do {                                                                                                        \
    if (!(condition)) [[unlikely]]                                                                            \
      ::shunt::detail::throwIndexError(::shunt::detail::str(__VA_ARGS__), ::std::source_location::current()); \
  } while (false)

#define SHUNT_CHECK_TYPE(condition, ...)                                                                     \
  do {                                                                                                       \
    if (!(condition)) [[unlikely]]                                                                           \
      ::shunt::detail::throwTypeError(::shunt::detail::str(__VA_ARGS__), ::std::source_location::current()); \
  } while (false)

#define SHUNT_CHECK_VALUE(condition, ...)                                                                     \
  do {                                                                                                        \
    if (!(condition)) [[unlikely]]                                                                            \
      ::shunt::detail::throwValueError(::shunt::detail::str(__VA_ARGS__), ::std::source_location::current()); \
  } while (false)

/// A broken invariant of Shunt itself: the message asks for a bug report.
#define SHUNT_INTERNAL_ASSERT(condition, ...)                                       \
  do {                                                                              \
    if (!(condition)) [[unlikely]]                                                  \
      ::shunt::detail::throwInternal(#condition, ::shunt::detail::str(__VA_ARGS__), \
                                     ::std::source_location::current());            \
  } while (false)
