// Interrupt: a base class for exceptions that end more than the call that throws them, such as Ctrl-C or an exit.
//
// Note [Foreign exceptions]
// Kernels, modes, subclasses, hooks and functions of programs may throw anything, std::exception or not.
// - Shunt passes an exception on, on every thread and through compiled code. The caller catches the object that was
//   thrown, unwrapped.
// - Trials are different: Shunt runs some code only to find out whether the program can be run in another way. It
//   records a function for compile(), runs its graph, compares the two, or tries an operator on stand-ins without
//   elements. An exception in a trial means "no": Shunt then runs what the program wrote, and the caller gets what that
//   throws.
// - An exception that also derives from Interrupt is passed on from trials too.
#pragma once

#include <shunt/core/macros.h>

namespace shunt {

/// An additional base class for a program's exceptions. Has no state.
class SHUNT_API Interrupt {
 public:
  virtual ~Interrupt();

 protected:
  Interrupt() = default;
  Interrupt(const Interrupt&) = default;
  Interrupt& operator=(const Interrupt&) = default;
};

}  // namespace shunt
