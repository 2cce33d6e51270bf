#include "kernels/linalg/small_gemm.h"

#include <shunt/core/isa.h>
#include <shunt/core/log.h>

#include <algorithm>
#include <array>
#include <immintrin.h>
#include <libxsmm_cpuid.h>
#include <libxsmm_generator.h>
#include <memory>
#include <pthread.h>
#include <sys/mman.h>

namespace shunt::linalg {

namespace {

using ::shunt::Isa;

constexpr int64_t kMostProducts = 64 * 64 * 64;
constexpr int64_t kLongestSide = 1024;
constexpr int64_t kLongestRow = int64_t{1} << 20;  // leading dimensions, which a key has 21 bits for
constexpr int64_t kMostCopied = 16 * 1024;         // bytes of B, on the stack

template <class T>
constexpr bool isDouble = sizeof(T) == sizeof(double);

/// What is faster than OpenBLAS's way, as measured: few columns of a long sum are not, nor is a copy of B that few rows use.
bool isClass(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed, size_t element_size) {
  if (m > kLongestSide || n > kLongestSide || k > kLongestSide || m * n * k > kMostProducts) return false;
  if (n < (m == 1 ? 16 : 8) && k > 16) return false;
  if (a_transposed && n < 16 && m > 8) return false;
  if (!b_transposed) return true;
  if (n * k * static_cast<int64_t>(element_size) > kMostCopied) return false;
  return k <= 16 || (n >= 16 && m >= 24 && (n * k <= 2048 || m >= 48));
}

// What a kernel is made for.
struct Key {
  uint64_t shape = 0;  // 0: none
  uint64_t rows = 0;
  bool operator==(const Key&) const = default;
  size_t hash() const { return ((shape ^ (rows * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu) >> 40; }
};

struct Problem {
  int64_t m, n, k, lda, ldb, ldc;
  bool a_transposed, accumulates, is_double;

  Key key() const {
    const auto u = [](int64_t v) { return static_cast<uint64_t>(v); };
    return {u(m) | u(n) << 11 | u(k) << 22 | u(a_transposed) << 33 | u(accumulates) << 34 | u(is_double) << 35,
            u(lda) | u(ldb) << 21 | u(ldc) << 42};
  }
};

/// As LIBXSMM's own: its generator must not run out of room.
using Buffer = std::array<std::byte, size_t{128} << 10>;

/// Machine code for the problem; 0 bytes where LIBXSMM has none. Depends on the problem and the instruction set alone.
size_t generate(const Problem& p, Buffer& out) {
  const auto i = [](int64_t v) { return static_cast<libxsmm_blasint>(v); };
  const int flags = (p.a_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : 0) | (p.accumulates ? 0 : LIBXSMM_GEMM_FLAG_BETA_0);
  libxsmm_descriptor_blob blob;
  const libxsmm_gemm_descriptor* descriptor =
      libxsmm_gemm_descriptor_init(&blob, p.is_double ? LIBXSMM_GEMM_PRECISION_F64 : LIBXSMM_GEMM_PRECISION_F32, i(p.n), i(p.m),
                                   i(p.k), i(p.ldb), i(p.lda), i(p.ldc), nullptr, nullptr, flags, LIBXSMM_GEMM_PREFETCH_NONE);
  if (descriptor == nullptr) return 0;
  libxsmm_generated_code code{};
  code.generated_code = out.data();
  code.buffer_size = static_cast<unsigned>(out.size());
  code.code_type = 2;  // bytes
  code.arch = detail::activeIsa() == Isa::kV4 ? LIBXSMM_X86_AVX512_CORE : LIBXSMM_X86_AVX2;
  libxsmm_generator_gemm_kernel(&code, descriptor);
  return code.last_error == 0 ? code.code_size : 0;
}

using Kernel = void (*)(const void* b, const void* a, void* c);

/// LIBXSMM's code leaves the vectors' upper halves dirty, after which each instruction of older sets waits for them.
[[gnu::target("avx")]] inline void cleanVectors() { __builtin_ia32_vzeroupper(); }

/// The calling thread's kernels: kSets sets of kWays, the one used last in front.
class Kernels {
 public:
  static constexpr size_t kSets = 64, kWays = 4, kCodeBytes = 8192;

  Kernels() {
    void* memory = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) code_ = static_cast<std::byte*>(memory);
    for (size_t i = 0; i < kSets * kWays; ++i) sets_[i / kWays][i % kWays].place = static_cast<uint16_t>(i);
  }
  ~Kernels() {
    if (code_ != nullptr) munmap(code_, kBytes);
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  Kernel find(const Problem& p) {
    const Key key = p.key();
    Set& set = sets_[key.hash() % kSets];
    if (set[0].key == key) [[likely]] return set[0].kernel;
    for (size_t i = 1; i < kWays; ++i) {
      if (set[i].key != key) continue;
      std::rotate(set.begin(), set.begin() + static_cast<ptrdiff_t>(i), set.begin() + static_cast<ptrdiff_t>(i) + 1);
      return set[0].kernel;
    }
    return make(p, key, set);
  }
  uint64_t made() const { return made_; }

 private:
  struct Way {
    Key key;
    Kernel kernel = nullptr;
    uint16_t place = 0;
  };
  using Set = std::array<Way, kWays>;
  static constexpr size_t kBytes = kSets * kWays * kCodeBytes;

  SHUNT_NOINLINE Kernel make(const Problem& p, const Key& key, Set& set) {
    if (code_ == nullptr) return nullptr;
    std::rotate(set.begin(), set.end() - 1, set.end());
    Way& way = set[0];
    way.key = {};
    std::byte* code = code_ + way.place * kCodeBytes;
    if (mprotect(code, kCodeBytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
    const auto buffer = std::make_unique_for_overwrite<Buffer>();
    size_t size = generate(p, *buffer);
    if (size > kCodeBytes) size = 0;
    std::copy_n(buffer->data(), size, code);
    if (mprotect(code, kCodeBytes, PROT_READ | PROT_EXEC) != 0) return giveUp();
    ++made_;
    way.kernel = size != 0 ? reinterpret_cast<Kernel>(code) : nullptr;
    way.key = key;
    return way.kernel;
  }

  /// The system allows no code of ours, and never will.
  Kernel giveUp() {
    munmap(code_, kBytes);
    code_ = nullptr;
    sets_ = {};
    return nullptr;
  }

  std::byte* code_ = nullptr;
  std::array<Set, kSets> sets_{};
  uint64_t made_ = 0;
};

constinit thread_local Kernels* mine SHUNT_TLS_MODEL = nullptr;

void detach(void* kernels) {
  mine = nullptr;
  delete static_cast<Kernels*>(kernels);
}

/// A product in the destructor of a thread's object, after the key's, attaches again, and the key's destructor runs again.
SHUNT_NOINLINE SHUNT_COLD Kernels& attach() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    SHUNT_CHECK(pthread_key_create(&made, &detach) == 0, "small products: the process has no pthread key left");
    return made;
  }();
  auto kernels = std::make_unique<Kernels>();
  pthread_setspecific(key, kernels.get());
  mine = kernels.release();
  return *mine;
}

SHUNT_ALWAYS_INLINE Kernels& kernels() { return mine != nullptr ? *mine : attach(); }

/// The transpose of a square block; two rows of four floats, or of two doubles, in each register.
[[gnu::target("avx")]] inline void transposeBlock(const float* in, int64_t ld, float* out, int64_t out_ld) {
  for (int half = 0; half < 2; ++half, in += 4, out += 4 * out_ld) {
    const auto rows = [&](int i) __attribute__((target("avx"))) {
      return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + i * ld)), _mm_loadu_ps(in + (i + 4) * ld), 1);
    };
    const __m256 r0 = rows(0), r1 = rows(1), r2 = rows(2), r3 = rows(3);
    const __m256 a = _mm256_unpacklo_ps(r0, r1), b = _mm256_unpackhi_ps(r0, r1);
    const __m256 c = _mm256_unpacklo_ps(r2, r3), d = _mm256_unpackhi_ps(r2, r3);
    _mm256_storeu_ps(out, _mm256_shuffle_ps(a, c, 0x44));
    _mm256_storeu_ps(out + out_ld, _mm256_shuffle_ps(a, c, 0xee));
    _mm256_storeu_ps(out + 2 * out_ld, _mm256_shuffle_ps(b, d, 0x44));
    _mm256_storeu_ps(out + 3 * out_ld, _mm256_shuffle_ps(b, d, 0xee));
  }
}
[[gnu::target("avx")]] inline void transposeBlock(const double* in, int64_t ld, double* out, int64_t out_ld) {
  for (int half = 0; half < 2; ++half, in += 2, out += 2 * out_ld) {
    const auto rows = [&](int i) __attribute__((target("avx"))) {
      return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(in + i * ld)), _mm_loadu_pd(in + (i + 2) * ld), 1);
    };
    const __m256d r0 = rows(0), r1 = rows(1);
    _mm256_storeu_pd(out, _mm256_unpacklo_pd(r0, r1));
    _mm256_storeu_pd(out + out_ld, _mm256_unpackhi_pd(r0, r1));
  }
}

/// out[j * rows + i] = in[i * ld + j].
template <class T>
[[gnu::target("avx")]] void transpose(const T* in, int64_t ld, int64_t rows, int64_t cols, T* out) {
  constexpr int64_t kBlock = 32 / sizeof(T);
  const int64_t whole_rows = rows - rows % kBlock, whole_cols = cols - cols % kBlock;
  for (int64_t i = 0; i < whole_rows; i += kBlock)
    for (int64_t j = 0; j < whole_cols; j += kBlock) transposeBlock(in + i * ld + j, ld, out + j * rows + i, rows);
  for (int64_t j = 0; j < cols; ++j)
    for (int64_t i = j < whole_cols ? whole_rows : 0; i < rows; ++i) out[j * rows + i] = in[i * ld + j];
}

// UBSan's check of indirect calls would read what stands before the code: nothing does.
#ifdef __clang__
[[clang::no_sanitize("function")]]
#endif
SHUNT_ALWAYS_INLINE void multiply(Kernel kernel, const void* a, const void* b, void* c) {
  kernel(b, a, c);
  cleanVectors();
}

template <class T>
SHUNT_NOINLINE bool transposingRight(Problem p, const T* a, const T* b, T* c) {
  const int64_t ldb = std::exchange(p.ldb, p.n);
  const Kernel kernel = kernels().find(p);
  if (kernel == nullptr) return false;
  alignas(64) T copy[kMostCopied / sizeof(T)];
  transpose(b, ldb, p.n, p.k, copy);
  multiply(kernel, a, copy, c);
  return true;
}

template <class T>
SHUNT_ALWAYS_INLINE bool run(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<T> a, MatrixView<T> b, T beta, T* c,
                             int64_t ldc) {
  if (alpha != 1 || (beta != 0 && beta != 1) || !isClass(m, n, k, a.transposed, b.transposed, sizeof(T))) return false;
  if (a.ld > kLongestRow || b.ld > kLongestRow || ldc > kLongestRow || detail::activeIsa() == Isa::kBaseline) return false;
  const Problem problem{m, n, k, a.ld, b.ld, ldc, a.transposed, beta == 1, isDouble<T>};
  if (b.transposed) return transposingRight(problem, a.data, b.data, c);
  const Kernel kernel = kernels().find(problem);
  if (kernel == nullptr) return false;
  multiply(kernel, a.data, b.data, c);
  return true;
}

}  // namespace

bool smallGemm(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<float> a, MatrixView<float> b, float beta, float* c,
               int64_t ldc) {
  return run(m, n, k, alpha, a, b, beta, c, ldc);
}
bool smallGemm(int64_t m, int64_t n, int64_t k, double alpha, MatrixView<double> a, MatrixView<double> b, double beta,
               double* c, int64_t ldc) {
  return run(m, n, k, alpha, a, b, beta, c, ldc);
}

bool isSmallProduct(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed, size_t element_size) {
  return isClass(m, n, k, a_transposed, b_transposed, element_size) && detail::activeIsa() != Isa::kBaseline;
}

uint64_t smallKernelsMade() { return mine != nullptr ? mine->made() : 0; }

}  // namespace shunt::linalg
