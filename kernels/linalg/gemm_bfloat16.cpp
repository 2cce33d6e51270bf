// bfloat16 products by oneDNN's matmul, which accumulates in float and rounds once.
//
// Making a kernel costs far more than running a small one, so the last kMaxKernels shapes are kept. The table is shared
// by all threads under a mutex; a kernel is run outside it, with scratch memory of the call's own.
#include "kernels/linalg/gemm.h"

#include <shunt/core/error.h>

#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <unordered_map>

// oneDNN runs its loops by OpenMP and has no setting of its own for their number of threads.
extern "C" int omp_get_max_threads(void);
extern "C" void omp_set_num_threads(int);

namespace shunt::linalg {

namespace {

constexpr size_t kMaxKernels = 512;

/// m, n, k, each operand's leading dimension and whether it is transposed, C's leading dimension, alpha, beta.
using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, bool, int64_t, bool, int64_t, float, float>;

struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t h = 0;
    const auto mix = [&h](auto... v) { ((h = (h ^ std::hash<decltype(v)>()(v)) * 0x9e3779b97f4a7c15u, h ^= h >> 29), ...); };
    std::apply(mix, key);
    return h;
  }
};

struct Kernel {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul run;
};

/// One OpenMP thread for the calling thread's regions while it lives; the setting is per calling thread.
class OneOmpThread {
 public:
  OneOmpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOmpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOmpThread(const OneOmpThread&) = delete;
  OneOmpThread& operator=(const OneOmpThread&) = delete;

 private:
  int before_;
};

dnnl::engine& engine() {
  static dnnl::engine& cpu = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::memory::desc describe(int64_t rows, int64_t cols, int64_t ld, bool transposed) {
  const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, ld} : dnnl::memory::dims{ld, 1};
  return {{rows, cols}, dnnl::memory::data_type::bf16, strides};
}

std::shared_ptr<const Kernel> makeKernel(const Key& key) {
  const auto [m, n, k, lda, trans_a, ldb, trans_b, ldc, alpha, beta] = key;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (alpha != 1) attributes.set_output_scales(0, {alpha});
  if (beta != 0) {
    dnnl::post_ops add;
    add.append_sum(beta);
    attributes.set_post_ops(add);
  }
  const dnnl::matmul::desc wanted(describe(m, k, lda, trans_a), describe(k, n, ldb, trans_b), describe(m, n, ldc, false));
  const dnnl::matmul::primitive_desc description(wanted, attributes, engine());
  return std::make_shared<const Kernel>(Kernel{description, dnnl::matmul(description)});
}

/// Never destroyed: kernels may run while the process exits.
class KernelTable {
 public:
  static KernelTable& get() {
    static KernelTable& table = *new KernelTable;
    return table;
  }

  std::shared_ptr<const Kernel> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    if (const auto it = kernels_.find(key); it != kernels_.end()) return it->second;
    // A program with ever new shapes starts over; one with few never gets here.
    if (kernels_.size() >= kMaxKernels) kernels_.clear();
    return kernels_.emplace(key, makeKernel(key)).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Kernel>, KeyHash> kernels_;  // guarded by mutex_
};

}  // namespace

void gemmBFloat16(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<BFloat16> a, MatrixView<BFloat16> b, float beta,
                  BFloat16* c, int64_t ldc) try {
  const OneOmpThread one_thread;
  const auto kernel = KernelTable::get().find({m, n, k, a.ld, a.transposed, b.ld, b.transposed, ldc, alpha, beta});
  const auto memory = [](const dnnl::memory::desc& description, const void* data) {
    return dnnl::memory(description, engine(), const_cast<void*>(data));
  };
  const dnnl::memory::desc scratch = kernel->description.scratchpad_desc();
  const auto scratch_bytes = std::make_unique_for_overwrite<std::byte[]>(scratch.get_size());
  dnnl::stream stream(engine());
  kernel->run.execute(stream, {{DNNL_ARG_SRC, memory(kernel->description.src_desc(), a.data)},
                               {DNNL_ARG_WEIGHTS, memory(kernel->description.weights_desc(), b.data)},
                               {DNNL_ARG_DST, memory(kernel->description.dst_desc(), c)},
                               {DNNL_ARG_SCRATCHPAD, memory(scratch, scratch_bytes.get())}});
  stream.wait();
} catch (const dnnl::error& e) {
  throw Error(detail::str("bfloat16 matrix product of ", m, "x", k, " and ", k, "x", n, " failed in oneDNN: ", e.what()));
}

}  // namespace shunt::linalg
