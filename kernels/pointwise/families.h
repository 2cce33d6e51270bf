// The families of functors: each has one source file of loops per instruction set (loops_<family>.cpp), so that compile
// time is spread, and one table per instruction set. Macros only.
#pragma once

// X(name): shunt::functors::<name>Functors is the family's TypeList (functors/*.h).
// clang-format off
#define SHUNT_FORALL_FUNCTOR_FAMILIES(X)                                                                       \
  X(Arithmetic) X(Ternary) X(Division) X(Comparison) X(Logic) X(Select) X(Mask) X(Rounding) X(Transcendental)  \
  X(Trig) X(Activation) X(ActivationBackward)
// clang-format on
