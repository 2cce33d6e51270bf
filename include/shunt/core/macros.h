// Compiler-dependent macros of the public headers, for clang and g++.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "Shunt's headers need C++20: compile with -std=c++20. In CMake, linking with shunt::shunt asks for it."
#endif

#define SHUNT_API __attribute__((visibility("default")))
#define SHUNT_ALWAYS_INLINE inline __attribute__((always_inline))
#define SHUNT_NOINLINE __attribute__((noinline))
#define SHUNT_COLD __attribute__((noinline, cold))
// One fs-relative load reads a thread-local of libshunt.so, also from other libraries.
#define SHUNT_TLS_MODEL __attribute__((tls_model("initial-exec")))

#define SHUNT_CONCAT_IMPL(a, b) a##b
#define SHUNT_CONCAT(a, b) SHUNT_CONCAT_IMPL(a, b)
