// The process's kernels for small products, which LIBXSMM's generator makes: each once, for all threads.
//
// Note [Small kernels]
// State: `entries` is an open-addressed table. An entry is empty (its kernel null), or it is complete and never changes
// again. Making one, under the mutex: (1) look once more; (2) generate the code; (3) copy it to memory that is writable
// and not executable; (4) make that executable and no longer writable; (5) write the entry's key; (6) store its kernel
// (release). Looking: load the kernel (acquire); null ends the search, otherwise the key is there to be compared, and
// the code to be run. So a look takes no lock and writes nothing, and the mutex is taken once for a shape. Code: one
// range of memory made at load, [executable | writable]. New code is made at the border, which moves over it, and so
// the number of mappings never changes: not with shapes, not with threads. That matters near the system's bound of
// mappings, where mprotect fails if it would have to split one; a product that went to OpenBLAS for that would get
// other bits. When the range or the table is full, further shapes share one more place, with guard pages around it,
// which is made anew for each and whose kernel runs under the mutex: slow, with the same bits. What makes a shape's
// kernel is the shape and the instruction set alone. If the system allows no code of ours at load, there are no kernels
// in this process, from the first product to the last. fork: the memory is private, so both sides go on alone; the
// mutex is held across it. A child's border can't move over what it has from its parent, so a generation that makes
// kernels has one mapping more than the one before.
//
// Any thread.
#pragma once

#include <shunt/core/macros.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace shunt::linalg {

using SmallKernel = void (*)(const void* b, const void* a, void* c);

struct SmallProblem {
  int64_t m, n, k, lda, ldb, ldc;
  bool a_transposed, accumulates, is_double;
};

/// What a kernel is made for. Sides have 11 bits, leading dimensions 21.
struct SmallKey {
  uint64_t shape = 0, rows = 0;
  SmallKey() = default;
  explicit SmallKey(const SmallProblem& p)
      : shape(u(p.m) | u(p.n) << 11 | u(p.k) << 22 | u(p.a_transposed) << 33 | u(p.accumulates) << 34 |
              u(p.is_double) << 35),
        rows(u(p.lda) | u(p.ldb) << 21 | u(p.ldc) << 42) {}
  bool operator==(const SmallKey&) const = default;
  size_t hash() const { return ((shape ^ (rows * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu) >> 40; }

 private:
  template <class T>
  static uint64_t u(T v) {
    return static_cast<uint64_t>(v);
  }
};

/// A kernel to be run while this lives; null where the product is OpenBLAS's.
class UsedKernel {
 public:
  SHUNT_ALWAYS_INLINE explicit UsedKernel(const SmallProblem& problem) {
    const SmallKey key(problem);
    kernel_ = find(key);
    if (kernel_ == nullptr) [[unlikely]]
      make(problem, key);
    if (kernel_ == &none) [[unlikely]]
      kernel_ = nullptr;
  }
  SHUNT_ALWAYS_INLINE ~UsedKernel() {
    if (locked_) [[unlikely]]
      unlock();
  }
  UsedKernel(const UsedKernel&) = delete;
  UsedKernel& operator=(const UsedKernel&) = delete;
  SmallKernel get() const { return kernel_; }
  /// Whether it may be run afterwards, too.
  bool isKept() const { return !locked_; }

 private:
  friend class SmallKernels;
  struct alignas(32) Entry {
    std::atomic<SmallKernel> kernel = nullptr;
    SmallKey key;
  };
  static constexpr size_t kEntries = size_t{1} << 14;
  static constinit std::array<Entry, kEntries> entries;
  /// Stands for kernels that LIBXSMM has not, or not small enough.
  static void none(const void* b, const void* a, void* c);

  SHUNT_ALWAYS_INLINE static SmallKernel find(const SmallKey& key) {
    for (size_t i = key.hash() % kEntries;; i = (i + 1) % kEntries) {
      const Entry& entry = entries[i];
      const SmallKernel kernel = entry.kernel.load(std::memory_order_acquire);
      if (kernel == nullptr || entry.key == key) return kernel;
    }
  }
  SHUNT_NOINLINE void make(const SmallProblem& problem, const SmallKey& key);
  static void unlock();

  SmallKernel kernel_;
  bool locked_ = false;
};

/// Kernels that the process has made, and how many of them it keeps: for tests.
uint64_t smallKernelCount();
inline constexpr size_t kMostSmallKernels = size_t{1} << 13;

}  // namespace shunt::linalg
