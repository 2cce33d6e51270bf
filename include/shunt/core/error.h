// The library's exceptions, Error and its subclasses, and the checks that throw them.
//
// There are two kinds of failure: a user's mistake (SHUNT_CHECK) and a bug in Shunt (SHUNT_INTERNAL_ASSERT). Each
// message says what went wrong, for which operator if there is one, and what to do. Any thread may throw. Nothing here
// prints or aborts.
#pragma once

#include <shunt/core/macros.h>

#include <source_location>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace shunt {

namespace detail {
/// The message, followed by the operators that the thread is running unless the message names the outermost one.
SHUNT_API SHUNT_COLD std::string inContext(std::string message);
}  // namespace detail

/// The base of all errors that Shunt reports. `what()` is the message; `where()` is the place that threw it.
class SHUNT_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::source_location where = std::source_location::current())
      : std::runtime_error(detail::inContext(message)), where_(where) {}
  /// The place in Shunt's or the program's sources that threw. The message doesn't contain it.
  const std::source_location& where() const noexcept { return where_; }
  /// what(), by c10::Error's name. Messages contain no backtrace.
  const char* what_without_backtrace() const noexcept { return what(); }

 private:
  std::source_location where_;
};

/// An index or dimension is out of range (PyTorch's IndexError).
class SHUNT_API IndexError : public Error {
 public:
  using Error::Error;
};

/// An argument has a type that isn't accepted (PyTorch's TypeError).
class SHUNT_API TypeError : public Error {
 public:
  using Error::Error;
};

/// An argument has the right type and a value that isn't accepted (PyTorch's ValueError).
class SHUNT_API ValueError : public Error {
 public:
  using Error::Error;
};

/// A matrix has no result: it is singular, or its factorisation doesn't converge (PyTorch's LinAlgError).
class SHUNT_API LinAlgError : public Error {
 public:
  using Error::Error;
};

/// The operator has no kernel for the call's keys, or Shunt doesn't implement a feature.
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

/// Concatenates the arguments as streams print them. Slow; for messages only.
template <class... Args>
SHUNT_COLD std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return std::move(out).str();
}

}  // namespace detail
}  // namespace shunt

/// Throws shunt::Error unless `condition` holds. The further arguments are streamed into the message.
#define SHUNT_CHECK(condition, ...)                                                                      \
  do {                                                                                                   \
    if (!(condition)) [[unlikely]]                                                                       \
      ::shunt::detail::throwError(::shunt::detail::str(__VA_ARGS__), ::std::source_location::current()); \
  } while (false)

/// As SHUNT_CHECK, with the class of the name: IndexError, TypeError, ValueError.
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

/// Checks an invariant of Shunt. The message asks for a bug report.
#define SHUNT_INTERNAL_ASSERT(condition, ...)                                       \
  do {                                                                              \
    if (!(condition)) [[unlikely]]                                                  \
      ::shunt::detail::throwInternal(#condition, ::shunt::detail::str(__VA_ARGS__), \
                                     ::std::source_location::current());            \
  } while (false)
