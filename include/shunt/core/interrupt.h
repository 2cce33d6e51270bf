// Interrupt: marks exceptions that end more than the call that they come out of: a key that was pressed, an exit.
//
// Note [Foreign exceptions]
// Kernels, modes, subclasses, hooks and functions of programs throw what they like, std::exception or not. Shunt lets
// it pass, on every thread and through compiled code: the caller catches the very object that was thrown, with nothing
// around it. Where Shunt runs something of a program's only to find out whether it may do so in another way (recording
// a function for compile(), running its graph, comparing the two, trying an operator on stand-ins without elements),
// what that throws is an answer: Shunt then runs what the program wrote, and the caller gets what that throws. An
// exception that also derives from Interrupt is never taken for an answer, and passes there too.
#pragma once

#include <shunt/core/macros.h>

namespace shunt {

/// To derive from besides the exception's own class. Holds nothing.
class SHUNT_API Interrupt {
 public:
  virtual ~Interrupt();

 protected:
  Interrupt() = default;
  Interrupt(const Interrupt&) = default;
  Interrupt& operator=(const Interrupt&) = default;
};

}  // namespace shunt
