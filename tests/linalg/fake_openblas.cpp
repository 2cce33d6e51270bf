// A library in OpenBLAS's place that has the core of FAKE_CORE, computes products by plain loops and prints each call:
// "sgemm NT 32 64 128 lda 128".
#pragma GCC visibility push(default)
#include <cblas.h>
#pragma GCC visibility pop

#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void notFaked(const char* name) {
  std::fprintf(stderr, "the fake OpenBLAS has no %s\n", name);
  std::_Exit(3);
}

char letter(CBLAS_TRANSPOSE t) { return t == CblasNoTrans ? 'N' : 'T'; }

template <class T>
T at(const T* matrix, CBLAS_TRANSPOSE t, blasint ld, blasint row, blasint column) {
  return t == CblasNoTrans ? matrix[row * ld + column] : matrix[column * ld + row];
}

}  // namespace

extern "C" {

char* openblas_get_corename() {
  static char unset[] = "unset";
  char* core = std::getenv("FAKE_CORE");
  return core != nullptr ? core : unset;
}
int openblas_get_num_threads() { return 1; }
void openblas_set_num_threads(int) {}

void cblas_sgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
                 float alpha, const float* a, blasint lda, const float* b, blasint ldb, float beta, float* c,
                 blasint ldc) {
  if (order != CblasRowMajor) notFaked("cblas_sgemm by columns");
  std::printf("sgemm %c%c %d %d %d lda %d\n", letter(ta), letter(tb), int(m), int(n), int(k), int(lda));
  for (blasint i = 0; i < m; ++i)
    for (blasint j = 0; j < n; ++j) {
      float sum = 0;
      for (blasint l = 0; l < k; ++l) sum += at(a, ta, lda, i, l) * at(b, tb, ldb, l, j);
      c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
    }
}

void cblas_dgemm(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, blasint, blasint, blasint, double, const double*,
                 blasint, const double*, blasint, double, double*, blasint) {
  notFaked("cblas_dgemm");
}
void cblas_sgemv(CBLAS_ORDER, CBLAS_TRANSPOSE, blasint, blasint, float, const float*, blasint, const float*, blasint,
                 float, float*, blasint) {
  notFaked("cblas_sgemv");
}
void cblas_dgemv(CBLAS_ORDER, CBLAS_TRANSPOSE, blasint, blasint, double, const double*, blasint, const double*, blasint,
                 double, double*, blasint) {
  notFaked("cblas_dgemv");
}
float cblas_sdot(blasint, const float*, blasint, const float*, blasint) { notFaked("cblas_sdot"); }
double cblas_ddot(blasint, const double*, blasint, const double*, blasint) { notFaked("cblas_ddot"); }

}  // extern "C"
