#include "kernels/linalg/lapack.h"

#include "kernels/linalg/blas.h"

#include <shunt/core/error.h>

#include <limits>

namespace shunt::linalg {
namespace {

// Fortran's calls: everything by address. The lengths of strings, which gfortran's own callers append, are not read for
// strings of one letter that are declared as such; they are passed so that the call has the form the callee may expect.
using Letter = const char*;
using Int = const LapackInt*;
using Length = size_t;

template <class T>
struct Functions {
  void (*getrf)(Int m, Int n, T* a, Int lda, LapackInt* pivots, LapackInt* info);
  void (*getrs)(Letter trans, Int n, Int k, const T* a, Int lda, Int pivots, T* b, Int ldb, LapackInt* info, Length);
  void (*potrf)(Letter uplo, Int n, T* a, Int lda, LapackInt* info, Length);
  void (*trsm)(Letter side, Letter uplo, Letter trans, Letter diag, Int m, Int n, const T* alpha, const T* a, Int lda,
               T* b, Int ldb, Length, Length, Length, Length);
};

template <class F>
void find(const char* name, F& function) {
  function = reinterpret_cast<F>(symbolOfBlas(name));
}

template <class T>
Functions<T> load() {
  constexpr bool kFloat32 = std::is_same_v<T, float>;
  Functions<T> f;
  find(kFloat32 ? "sgetrf_" : "dgetrf_", f.getrf);
  find(kFloat32 ? "sgetrs_" : "dgetrs_", f.getrs);
  find(kFloat32 ? "spotrf_" : "dpotrf_", f.potrf);
  find(kFloat32 ? "strsm_" : "dtrsm_", f.trsm);
  return f;
}

/// The functions, with one thread.
template <class T>
const Functions<T>& serialLapack() {
  serialBlas();
  static const Functions<T> functions = load<T>();
  return functions;
}

LapackInt narrow(int64_t n) { return static_cast<LapackInt>(n); }

/// A negative info is a mistake in the call.
LapackInt checked(LapackInt info) {
  SHUNT_INTERNAL_ASSERT(info >= 0, "LAPACK refuses argument ", -info);
  return info;
}

}  // namespace

template <class T>
LapackInt luFactor(int64_t n, T* a, LapackInt* pivots) {
  const LapackInt size = narrow(n);
  LapackInt info = 0;
  serialLapack<T>().getrf(&size, &size, a, &size, pivots, &info);
  return checked(info);
}

template <class T>
void luSolve(bool transposed, int64_t n, int64_t k, const T* lu, const LapackInt* pivots, T* b) {
  const LapackInt size = narrow(n), columns = narrow(k);
  LapackInt info = 0;
  serialLapack<T>().getrs(transposed ? "T" : "N", &size, &columns, lu, &size, pivots, b, &size, &info, 1);
  checked(info);
}

template <class T>
LapackInt choleskyFactor(bool upper, int64_t n, T* a) {
  const LapackInt size = narrow(n);
  LapackInt info = 0;
  serialLapack<T>().potrf(upper ? "U" : "L", &size, a, &size, &info, 1);
  // OpenBLAS's own takes NaN for a positive pivot.
  for (int64_t i = 0; i < n && info == 0; ++i)
    if (const T pivot = a[i * (n + 1)]; pivot != pivot) info = narrow(i + 1);
  return checked(info);
}

template <class T>
void triangularSolve(const Triangle& triangle, int64_t rows, int64_t columns, const T* a, T* b) {
  const LapackInt m = narrow(rows), n = narrow(columns), lda = triangle.left ? m : n;
  const T one = 1;
  serialLapack<T>().trsm(triangle.left ? "L" : "R", triangle.upper ? "U" : "L", triangle.transposed ? "T" : "N",
                         triangle.unit ? "U" : "N", &m, &n, &one, a, &lda, b, &m, 1, 1, 1, 1);
}

void checkLapackSize(const char* name, int64_t n) {
  SHUNT_CHECK(n <= std::numeric_limits<LapackInt>::max(), name, ": expected matrices of at most ",
              std::numeric_limits<LapackInt>::max(), " rows and columns, got ", n);
}

template LapackInt luFactor(int64_t, float*, LapackInt*);
template LapackInt luFactor(int64_t, double*, LapackInt*);
template void luSolve(bool, int64_t, int64_t, const float*, const LapackInt*, float*);
template void luSolve(bool, int64_t, int64_t, const double*, const LapackInt*, double*);
template LapackInt choleskyFactor(bool, int64_t, float*);
template LapackInt choleskyFactor(bool, int64_t, double*);
template void triangularSolve(const Triangle&, int64_t, int64_t, const float*, float*);
template void triangularSolve(const Triangle&, int64_t, int64_t, const double*, double*);

}  // namespace shunt::linalg
