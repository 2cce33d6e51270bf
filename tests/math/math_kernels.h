// The functions under test, compiled once per instruction set from math_kernels.cpp: each as a loop that clang
// vectorises and as a call for one element. Test code; constant tables, any thread.
#pragma once

#include <shunt/elementwise/cast.h>

#include <cstdint>
#include <span>

namespace shunt::math_test {

template <class T>
struct Unary {
  void (*loop)(T* out, const T* in, int64_t n);
  T (*one)(T x);
};

struct UnaryKernel {
  const char* name;
  Unary<float> of_float;
  Unary<double> of_double;
  template <class T>
  const Unary<T>& as() const {
    if constexpr (std::is_same_v<T, float>)
      return of_float;
    else
      return of_double;
  }
};

template <class T>
struct Binary {
  void (*loop)(T* out, const T* a, const T* b, int64_t n);
  T (*one)(T a, T b);
};

struct PairKernel {
  const char* name;
  Binary<float> of_float;
  Binary<double> of_double;
  template <class T>
  const Binary<T>& as() const {
    if constexpr (std::is_same_v<T, float>)
      return of_float;
    else
      return of_double;
  }
};

/// A cast between two dtypes; the pointers are to arrays of them.
struct CastKernel {
  const char* to;
  const char* from;
  int64_t to_size, from_size;
  void (*loop)(void* out, const void* in, int64_t n);
  void (*one)(void* out, const void* in);
};

struct Kernels {
  const char* isa;
  std::span<const UnaryKernel> unary;
  Binary<float> pow_float;
  Binary<double> pow_double;
  std::span<const PairKernel> pairs;
  std::span<const CastKernel> casts;

  const UnaryKernel& find(const char* name) const;
};

const Kernels& kernelsBaseline();
const Kernels& kernelsV3();
const Kernels& kernelsV4();

/// The tables that this CPU can run; the baseline first, the widest last.
std::span<const Kernels* const> supportedKernels();

}  // namespace shunt::math_test
