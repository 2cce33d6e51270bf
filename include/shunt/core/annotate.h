// SHUNT_ANNOTATE: what the compiler (jit/) has to know about a function of the library, written where the function is
// declared or defined. No state.
//
// Note [Annotated functions]
// clang puts annotations into the bitcode. When the library is linked, tools/host_symbols reads them there and stores
// them next to the functions' names, so the compiler knows a function's role before it opens any bitcode
// (HostSymbols::annotation). Only functions that aren't inline may be annotated: an annotation keeps an inline function
// in every object that includes it, whether it is called or not.
//   kernel           a handwritten kernel of an operator
//   wrapper          a generated function around kernels
//   runtime          called by wrappers and kernels on every call: inlined into thunks where it is small
//   call:<operator>  the operator's entry point, with its dispatch name; as also redispatch, and what takes their place
//                    inside thunks: call_planned, redispatch_planned
#pragma once

#include <shunt/core/macros.h>

#if defined(__clang__)
#define SHUNT_ANNOTATE(what) [[clang::annotate("shunt." what)]]
#else
#define SHUNT_ANNOTATE(what)
#endif
