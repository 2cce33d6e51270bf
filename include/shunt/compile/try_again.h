// TryAgain: for bindings of other languages that record a function by compile().
#pragma once

#include <shunt/core/error.h>

namespace shunt::detail {

/// Thrown while a function is recorded: a later call will be recorded in another way. The call runs the function, and
/// explain() has the reason, but there is no warning, and the attempt doesn't count as a failure. Thrown by any thread.
struct SHUNT_API TryAgain : Error {
  using Error::Error;
};

}  // namespace shunt::detail
