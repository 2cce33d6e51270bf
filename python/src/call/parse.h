// Which overload a call means.
#pragma once

#include "python/src/call/entry.h"

#include <shunt/core/inline_vector.h>

namespace shunt::python {

inline constexpr size_t kMaxParameters = 32;

/// How a call's arguments fit a signature.
enum class Match : uint8_t {
  kNo,
  kYes,
  kOverridden,  // yes, and one is of a class that may have a __torch_function__ of its own
};

/// The arguments put in the signature's order.
struct Slots {
  PyObject* at[kMaxParameters];
  PyObject* requires_grad;  // of factories
  /// Tuples that stand for lists, which another thread, or an argument's __index__, may change during the call; and
  /// what Python's separate ints were packed to.
  InlineVector<Ref, 2> kept;
  PyObject* keep(Ref object) { return kept.emplace_back(std::move(object)).get(); }
};

/// Fills `slots` where the call fits.
Match matchCall(const Signature& signature, const Call& call, Slots& slots);

/// What an object is as an argument: kNo where the parameter can't take it.
Match fits(const Parameter& parameter, PyObject* object);

/// Raises TypeError: what was given, and what each overload takes.
[[noreturn]] SHUNT_COLD void raiseNoMatch(const Entry& entry, const std::vector<Overload>& overloads, const Call& call);

}  // namespace shunt::python
