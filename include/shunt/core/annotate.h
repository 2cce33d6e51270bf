// SHUNT_ANNOTATE: marks a function of the library with its role for the compiler (jit/), where the function is declared
// or defined. No state.
//
// Note [Annotated functions]
// clang writes annotations into the bitcode. At link time tools/host_symbols stores them with the functions' names, so
// the compiler knows a function's role before it opens any bitcode (HostSymbols::annotation). Don't annotate inline
// functions: an annotation keeps an inline function in every object that includes it, called or not. The roles:
//   kernel           a handwritten kernel of an operator
//   wrapper          a generated function around kernels
//   runtime          called by wrappers and kernels on every call; inlined into thunks if it is small
//   call:<operator>  the operator's entry point, with the operator's dispatch name. Further roles of this form are
//                    redispatch, and the replacements inside thunks: call_planned and redispatch_planned.
#pragma once

#include <shunt/core/macros.h>

#if defined(__clang__)
#define SHUNT_ANNOTATE(what) [[clang::annotate("shunt." what)]]
#else
#define SHUNT_ANNOTATE(what)
#endif
