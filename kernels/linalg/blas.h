// OpenBLAS as libshunt uses it: loaded with libshunt by dlopen, so that its kernels can be chosen first.
//
// Note [OpenBLAS's kernels]
// OpenBLAS chooses its kernels by CPU model once, when it is loaded. A version older than the CPU takes kernels for
// SSE3: five times slower on a CPU with AVX-512. So libshunt doesn't link it; it loads it, looks which kernels were
// chosen, and if the CPU can do better, loads it anew with OPENBLAS_CORETYPE set meanwhile. The user's own
// OPENBLAS_CORETYPE is respected, and so is an OpenBLAS that another library had loaded before: it stays as it is, and
// the first product warns if it is slow.
//
// Note [Threads of the BLAS]
// OpenBLAS's number of threads is a setting of the process. It is set to 1 before a product whenever it is not 1;
// another user of the same OpenBLAS in the process who wants threads has to set it again.
//
// Any thread.
#pragma once

#include <shunt/core/macros.h>

#include <cblas.h>
#include <atomic>
#include <cstdint>
#include <string>

namespace shunt::linalg {

/// What instructions OpenBLAS's kernels use, where they are ones that were measured (one_row_table.h).
enum class BlasKernels : uint8_t { kOther, kSse, kAvx2, kAvx512 };

struct BlasFunctions {
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
  decltype(&cblas_sgemv) sgemv;
  decltype(&cblas_dgemv) dgemv;
  decltype(&cblas_sdot) sdot;
  decltype(&cblas_ddot) ddot;
  decltype(&openblas_get_num_threads) get_num_threads;
  decltype(&openblas_set_num_threads) set_num_threads;
  decltype(&openblas_get_corename) get_corename;
  /// See Note [Small products with a transposed right operand] in gemm.cpp.
  bool small_nt_is_slow;
  BlasKernels kernels;
};

/// Null until the first product; set with release order, the table behind it never changes.
extern std::atomic<const BlasFunctions*> blas_in_use;

/// Loads the library if need be, and publishes blas_in_use. Throws if there is no OpenBLAS.
SHUNT_COLD const BlasFunctions& firstUseOfBlas();

/// The functions, with one thread.
inline const BlasFunctions& serialBlas() {
  const BlasFunctions* found = blas_in_use.load(std::memory_order_acquire);
  const BlasFunctions& blas = found != nullptr ? *found : firstUseOfBlas();
  if (blas.get_num_threads() != 1) [[unlikely]]
    blas.set_num_threads(1);
  return blas;
}

/// For people: which library was loaded. Where none can be, `problem` says why and the rest is empty. Never throws.
struct BlasIdentity {
  std::string version, file, core, problem;
};
SHUNT_COLD BlasIdentity identityOfBlas();

/// A function of the same library by its name, LAPACK's among them (lapack.h). Throws where there is none.
SHUNT_COLD void* symbolOfBlas(const char* name);

/// kOther without an OpenBLAS.
SHUNT_API BlasKernels kernelsOfBlas();

/// The kernels that OpenBLAS chose, e.g. "SkylakeX".
SHUNT_API std::string blasCoreName();

}  // namespace shunt::linalg
