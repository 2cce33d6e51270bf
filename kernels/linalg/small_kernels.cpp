#include "kernels/linalg/small_kernels.h"

#include <shunt/core/error.h>
#include <shunt/core/fork.h>
#include <shunt/core/isa.h>

#include <libxsmm_cpuid.h>
#include <libxsmm_generator.h>
#include <sys/mman.h>
#include <algorithm>
#include <memory>

namespace shunt::linalg {

namespace {

using ::shunt::Isa;

constexpr size_t kPage = 4096;
constexpr size_t kMostCode = 2 * kPage;  // of a kernel
constexpr size_t kRange = kMostSmallKernels * kPage;

/// As LIBXSMM's own: its generator must not run out of room.
using Buffer = std::array<std::byte, size_t{128} << 10>;

/// Machine code for the problem; 0 bytes where LIBXSMM has none. Depends on the problem and the instruction set alone.
size_t generate(const SmallProblem& p, Buffer& out) {
  const auto i = [](int64_t v) { return static_cast<libxsmm_blasint>(v); };
  const int flags = (p.a_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : 0) | (p.accumulates ? 0 : LIBXSMM_GEMM_FLAG_BETA_0);
  libxsmm_descriptor_blob blob;
  const libxsmm_gemm_descriptor* descriptor = libxsmm_gemm_descriptor_init(
      &blob, p.is_double ? LIBXSMM_GEMM_PRECISION_F64 : LIBXSMM_GEMM_PRECISION_F32, i(p.n), i(p.m), i(p.k), i(p.ldb),
      i(p.lda), i(p.ldc), nullptr, nullptr, flags, LIBXSMM_GEMM_PREFETCH_NONE);
  if (descriptor == nullptr) return 0;
  libxsmm_generated_code code{};
  code.generated_code = out.data();
  code.buffer_size = static_cast<unsigned>(out.size());
  code.code_type = 2;  // bytes
  code.arch = detail::activeIsa() == Isa::kV4 ? LIBXSMM_X86_AVX512_CORE : LIBXSMM_X86_AVX2;
  libxsmm_generator_gemm_kernel(&code, descriptor);
  return code.last_error == 0 && code.code_size <= kMostCode ? code.code_size : 0;
}

std::byte* reserve(size_t bytes, int protection) {
  void* memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory != MAP_FAILED ? static_cast<std::byte*>(memory) : nullptr;
}

void protect(std::byte* memory, size_t bytes, int protection) {
  SHUNT_CHECK(mprotect(memory, bytes, protection) == 0,
              "small products: the system made memory for code at load, and doesn't change its protection now");
}

}  // namespace

/// What the mutex guards: the table's writing, and the memory. Made at load, and never destroyed.
class SmallKernels {
 public:
  static constinit SmallKernels instance;

  void prepare() {
    detail::holdAcrossFork(3, [] { instance.mutex.lock(); }, [] { instance.mutex.unlock(); });
    next_ = reserve(kRange, PROT_READ | PROT_WRITE);
    std::byte* guarded = reserve(kMostCode + 2 * kPage, PROT_NONE);
    if (next_ == nullptr || guarded == nullptr) return giveUp(guarded);
    apart_ = guarded + kPage;
    end_ = next_ + kRange;
    // Touched before it is split, so that the parts are of one kind for the system, and the border can move.
    madvise(next_, kRange, MADV_NOHUGEPAGE);
    *next_ = std::byte{0xcc};
    if (mprotect(next_, kPage, PROT_READ | PROT_EXEC) != 0 || mprotect(apart_, kMostCode, PROT_READ | PROT_EXEC) != 0)
      return giveUp(guarded);
    next_ += kPage;
  }

  /// With the mutex held. A kernel that isn't kept is to be run before it is given back: then `*kept` is false.
  SmallKernel make(const SmallProblem& problem, const SmallKey& key, bool* kept) {
    *kept = true;
    if (apart_ == nullptr) return &UsedKernel::none;
    if (const SmallKernel found = UsedKernel::find(key)) return found;
    if (apart_kernel_ != nullptr && apart_key_ == key) {
      *kept = false;
      return apart_kernel_;
    }
    const auto buffer = std::make_unique_for_overwrite<Buffer>();
    const size_t size = generate(problem, *buffer);
    made.fetch_add(1, std::memory_order_relaxed);
    const size_t pages = (size + kPage - 1) / kPage * kPage;
    *kept = count_ < kMostSmallKernels && pages <= static_cast<size_t>(end_ - next_);
    if (!*kept) return makeApart(*buffer, size, key);
    SmallKernel kernel = &UsedKernel::none;
    if (size != 0) {
      std::copy_n(buffer->data(), size, next_);
      protect(next_, pages, PROT_READ | PROT_EXEC);
      kernel = reinterpret_cast<SmallKernel>(next_);
      next_ += pages;
    }
    keep(key, kernel);
    return kernel;
  }

  std::mutex mutex;
  std::atomic<uint64_t> made = 0;

 private:
  void keep(const SmallKey& key, SmallKernel kernel) {
    size_t i = key.hash() % UsedKernel::kEntries;
    while (UsedKernel::entries[i].kernel.load(std::memory_order_relaxed) != nullptr) i = (i + 1) % UsedKernel::kEntries;
    UsedKernel::entries[i].key = key;
    UsedKernel::entries[i].kernel.store(kernel, std::memory_order_release);
    ++count_;
  }

  SmallKernel makeApart(const Buffer& code, size_t size, const SmallKey& key) {
    if (size == 0) return &UsedKernel::none;
    apart_kernel_ = nullptr;
    protect(apart_, kMostCode, PROT_READ | PROT_WRITE);
    std::copy_n(code.data(), size, apart_);
    protect(apart_, kMostCode, PROT_READ | PROT_EXEC);
    apart_key_ = key;
    return apart_kernel_ = reinterpret_cast<SmallKernel>(apart_);
  }

  void giveUp(std::byte* guarded) {
    if (next_ != nullptr) munmap(next_, kRange);
    if (guarded != nullptr) munmap(guarded, kMostCode + 2 * kPage);
    next_ = apart_ = nullptr;
  }

  std::byte *next_ = nullptr, *end_ = nullptr;  // writable
  std::byte* apart_ = nullptr;                  // null: there are no kernels
  SmallKernel apart_kernel_ = nullptr;
  SmallKey apart_key_;
  size_t count_ = 0;
};

constinit SmallKernels SmallKernels::instance;
constinit std::array<UsedKernel::Entry, UsedKernel::kEntries> UsedKernel::entries;

namespace {
[[maybe_unused]] const bool at_load = (SmallKernels::instance.prepare(), true);
}  // namespace

void UsedKernel::none(const void*, const void*, void*) {}

void UsedKernel::make(const SmallProblem& problem, const SmallKey& key) {
  SmallKernels& kernels = SmallKernels::instance;
  std::unique_lock lock(kernels.mutex);
  bool kept;
  kernel_ = kernels.make(problem, key, &kept);
  if (kept || kernel_ == &none) return;
  locked_ = true;
  lock.release();
}

void UsedKernel::unlock() { SmallKernels::instance.mutex.unlock(); }

uint64_t smallKernelCount() { return SmallKernels::instance.made.load(std::memory_order_relaxed); }

}  // namespace shunt::linalg
