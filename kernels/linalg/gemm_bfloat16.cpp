// bfloat16 products by oneDNN's matmul, which accumulates in float and rounds once.
//
// oneDNN has code for CPUs with AVX-512 only. Whether it has some for a shape is found out when that shape's kernel is
// made and kept with it.
//
// Kernels are kept (onednn.h). What a run needs beside the kernel (memory descriptions, scratch memory) belongs to its
// thread.
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/onednn.h"

#include <shunt/core/error.h>

#include <string_view>
#include <tuple>

namespace shunt::linalg {

namespace {

/// m, n, k, each operand's leading dimension and whether it is transposed, C's leading dimension, alpha, beta.
using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, bool, int64_t, bool, int64_t, float, float>;
constexpr size_t kAlpha = 8;

struct Kernel {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul run;
};

using onednn::engine;
using onednn::OneOmpThread;

dnnl::memory::desc describe(int64_t rows, int64_t cols, int64_t ld, bool transposed) {
  const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, ld} : dnnl::memory::dims{ld, 1};
  return {{rows, cols}, dnnl::memory::data_type::bf16, strides};
}

// What differs between the versions of oneDNN: 2 takes alpha as an attribute, 3 as an argument of each run. Both
// multiply the sums by it, in float, before beta * C is added.
#if DNNL_VERSION_MAJOR >= 3
void setAlpha(dnnl::primitive_attr& attributes, float) { attributes.set_scales_mask(DNNL_ARG_SRC, 0); }

void passAlpha(std::unordered_map<int, dnnl::memory>& arguments, float alpha) {
  dnnl::memory scale({{1}, dnnl::memory::data_type::f32, dnnl::memory::dims{1}}, engine());
  *static_cast<float*>(scale.get_data_handle()) = alpha;
  arguments.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, std::move(scale));
}

dnnl::matmul::primitive_desc describeProduct(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                             const dnnl::memory::desc& c, const dnnl::primitive_attr& attributes) {
  return {engine(), a, b, c, attributes, /*allow_empty=*/true};
}

/// 3.7's kernels for CPUs with bfloat16 instructions take the elements of a row of A, and of a column of C, for
/// adjacent.
bool isMisread(const Key& key) {
  const auto [m, n, k, lda, trans_a, ldb, trans_b, ldc, alpha, beta] = key;
  return (m == 1 && trans_a && lda != 1) || (n == 1 && ldc != 1);
}
#else
void setAlpha(dnnl::primitive_attr& attributes, float alpha) { attributes.set_output_scales(0, {alpha}); }

void passAlpha(std::unordered_map<int, dnnl::memory>&, float) {}

dnnl::matmul::primitive_desc describeProduct(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                             const dnnl::memory::desc& c, const dnnl::primitive_attr& attributes) {
  return {dnnl::matmul::desc(a, b, c), attributes, engine(), /*allow_empty=*/true};
}

bool isMisread(const Key&) { return false; }
#endif

/// Null where oneDNN has no code for this CPU that is right, or none but its reference loops, which are far slower than
/// the detour by float.
std::shared_ptr<const Kernel> makeKernel(const Key& key) {
  if (isMisread(key)) return nullptr;
  const auto [m, n, k, lda, trans_a, ldb, trans_b, ldc, alpha, beta] = key;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (alpha != 1) setAlpha(attributes, alpha);
  if (beta != 0) {
    dnnl::post_ops add;
    add.append_sum(beta);
    attributes.set_post_ops(add);
  }
  const dnnl::matmul::primitive_desc description = describeProduct(
      describe(m, k, lda, trans_a), describe(k, n, ldb, trans_b), describe(m, n, ldc, false), attributes);
  if (!description || std::string_view(description.impl_info_str()).starts_with("ref")) return nullptr;
  return std::make_shared<const Kernel>(Kernel{description, dnnl::matmul(description)});
}

using KernelTable = onednn::KernelTable<Key, Kernel, &makeKernel>;
[[maybe_unused]] const KernelTable& made_at_load = KernelTable::get();

/// A kernel with oneDNN's descriptions of its operands and its scratch memory, for one thread: making them takes 1 us.
class Execution {
 public:
  explicit Execution(const Key& key) : key_(key), kernel_(KernelTable::get().find(key)) {
    if (kernel_ == nullptr) return;
    const dnnl::matmul::primitive_desc& description = kernel_->description;
    a_ = dnnl::memory(description.src_desc(), engine(), nullptr);
    b_ = dnnl::memory(description.weights_desc(), engine(), nullptr);
    c_ = dnnl::memory(description.dst_desc(), engine(), nullptr);
    scratch_ = dnnl::memory(description.scratchpad_desc(), engine());
    arguments_ = {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}, {DNNL_ARG_SCRATCHPAD, scratch_}};
    if (const float alpha = std::get<kAlpha>(key); alpha != 1) passAlpha(arguments_, alpha);
  }

  const Key& key() const { return key_; }
  bool hasKernel() const { return kernel_ != nullptr; }
  /// With a kernel only.
  void run(dnnl::stream& stream, const BFloat16* a, const BFloat16* b, BFloat16* c) {
    a_.set_data_handle(const_cast<BFloat16*>(a));
    b_.set_data_handle(const_cast<BFloat16*>(b));
    c_.set_data_handle(c);
    kernel_->run.execute(stream, arguments_);
    stream.wait();
  }

 private:
  Key key_;
  std::shared_ptr<const Kernel> kernel_;  // null where oneDNN has none for this shape
  dnnl::memory a_, b_, c_, scratch_;
  std::unordered_map<int, dnnl::memory> arguments_;  // shares the memory objects
};

using ThreadExecutions = onednn::ThreadExecutions<Key, Execution>;

}  // namespace

bool gemmBFloat16(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<BFloat16> a, MatrixView<BFloat16> b,
                  float beta, BFloat16* c, int64_t ldc) try {
  const OneOmpThread one_thread;
  ThreadExecutions& executions = ThreadExecutions::get();
  Execution& product = executions.find({m, n, k, a.ld, a.transposed, b.ld, b.transposed, ldc, alpha, beta});
  if (!product.hasKernel()) return false;
  product.run(executions.stream(), a.data, b.data, c);
  return true;
} catch (const dnnl::error& e) {
  throw Error(
      detail::str("bfloat16 matrix product of ", m, "x", k, " and ", k, "x", n, " failed in oneDNN: ", e.what()));
}

bool oneDnnMultipliesBFloat16() {
  const OneOmpThread one_thread;
  return KernelTable::get().find({16, 16, 16, 16, false, 16, false, 16, 1.f, 0.f}) != nullptr;
}

}  // namespace shunt::linalg
