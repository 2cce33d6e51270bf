// Convolutions of floats by oneDNN. Its kernels want memory in formats of their own, which depend on the shape and the
// CPU: what isn't in such a format is reordered into scratch memory first, and the result back.
#include "kernels/linalg/onednn.h"
#include "kernels/nn/convolution_parts.h"

#include <shunt/core/error.h>

#include <string_view>
#include <vector>

namespace shunt::nn::onednn {
namespace {

using dnnl::memory;
using shunt::onednn::engine;
using shunt::onednn::OneOmpThread;

enum Kind : int64_t { kForward, kForwardWithBias, kData, kWeights };

/// The kind, then the shape's numbers in their order.
using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;

Key keyOf(Kind kind, const ConvShape& s) {
  return {kind,        s.samples,    s.groups,     s.in,          s.height,     s.width,
          s.out,       s.out_height, s.out_width,  s.kernel[0],   s.kernel[1],  s.stride[0],
          s.stride[1], s.padding[0], s.padding[1], s.dilation[0], s.dilation[1]};
}

/// The operands' dimensions and the arguments of oneDNN's constructors.
struct Geometry {
  Kind kind;
  memory::dims image, weight, bias, result, stride, dilation, before, after;

  explicit Geometry(const Key& key) {
    const auto [k, n, groups, in, height, width, out, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw] = key;
    kind = static_cast<Kind>(k);
    image = {n, in, height, width};
    result = {n, out, oh, ow};
    bias = {out};
    weight = groups == 1 ? memory::dims{out, in, kh, kw} : memory::dims{groups, out / groups, in / groups, kh, kw};
    stride = {sh, sw};
    dilation = {dh - 1, dw - 1};
    before = {ph, pw};
    // So that the last window ends where the padding does: it may reach less far than the padding before.
    after = {(oh - 1) * sh + dh * (kh - 1) + 1 - height - ph, (ow - 1) * sw + dw * (kw - 1) + 1 - width - pw};
  }
};

memory::desc plain(const memory::dims& sizes) {
  memory::dims strides(sizes.size(), 1);
  for (size_t d = sizes.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * sizes[d];
  return {sizes, memory::data_type::f32, strides};
}

memory::desc any(const memory::dims& sizes) { return {sizes, memory::data_type::f32, memory::format_tag::any}; }

/// A primitive with the formats of its two inputs (the bias is plain) and its output.
struct Kernel {
  dnnl::primitive run;
  memory::desc first, second, output, scratch;
  std::string implementation;
};

template <class Description>
Kernel kernelOf(const Description& d, const memory::desc& first, const memory::desc& second,
                const memory::desc& output) {
  return {dnnl::primitive(d), first, second, output, d.scratchpad_desc(), d.impl_info_str()};
}

constexpr auto kTraining = dnnl::prop_kind::forward_training;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// What differs between the versions of oneDNN: 2 has a description of the operation apart from the primitive's.
#if DNNL_VERSION_MAJOR >= 3
dnnl::convolution_forward::primitive_desc describeForward(const Geometry& g, bool biased,
                                                          const dnnl::primitive_attr& attributes) {
  if (biased)
    return {engine(), kTraining,  kDirect,  any(g.image), any(g.weight), plain(g.bias), any(g.result),
            g.stride, g.dilation, g.before, g.after,      attributes,    true};
  return {engine(), kTraining,  kDirect,  any(g.image), any(g.weight), any(g.result),
          g.stride, g.dilation, g.before, g.after,      attributes,    true};
}
dnnl::convolution_backward_data::primitive_desc describeData(const Geometry& g,
                                                             const dnnl::convolution_forward::primitive_desc& forward,
                                                             const dnnl::primitive_attr& attributes) {
  return {engine(),   kDirect,  any(g.image), any(g.weight), any(g.result), g.stride,
          g.dilation, g.before, g.after,      forward,       attributes,    true};
}
dnnl::convolution_backward_weights::primitive_desc describeWeights(
    const Geometry& g, const dnnl::convolution_forward::primitive_desc& forward,
    const dnnl::primitive_attr& attributes) {
  return {engine(),   kDirect,  any(g.image), any(g.weight), any(g.result), g.stride,
          g.dilation, g.before, g.after,      forward,       attributes,    true};
}
#else
dnnl::convolution_forward::primitive_desc describeForward(const Geometry& g, bool biased,
                                                          const dnnl::primitive_attr& attributes) {
  using Operation = dnnl::convolution_forward::desc;
  const Operation operation = biased ? Operation(kTraining, kDirect, any(g.image), any(g.weight), plain(g.bias),
                                                 any(g.result), g.stride, g.dilation, g.before, g.after)
                                     : Operation(kTraining, kDirect, any(g.image), any(g.weight), any(g.result),
                                                 g.stride, g.dilation, g.before, g.after);
  return {operation, attributes, engine(), true};
}
dnnl::convolution_backward_data::primitive_desc describeData(const Geometry& g,
                                                             const dnnl::convolution_forward::primitive_desc& forward,
                                                             const dnnl::primitive_attr& attributes) {
  const dnnl::convolution_backward_data::desc operation(kDirect, any(g.image), any(g.weight), any(g.result), g.stride,
                                                        g.dilation, g.before, g.after);
  return {operation, attributes, engine(), forward, true};
}
dnnl::convolution_backward_weights::primitive_desc describeWeights(
    const Geometry& g, const dnnl::convolution_forward::primitive_desc& forward,
    const dnnl::primitive_attr& attributes) {
  const dnnl::convolution_backward_weights::desc operation(kDirect, any(g.image), any(g.weight), any(g.result),
                                                           g.stride, g.dilation, g.before, g.after);
  return {operation, attributes, engine(), forward, true};
}
#endif

/// Null where oneDNN has no code for the shape, or none but its reference loops.
std::shared_ptr<const Kernel> makeKernel(const Key& key) {
  const Geometry g(key);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::convolution_forward::primitive_desc forward;
  try {
    forward = describeForward(g, g.kind == kForwardWithBias, attributes);
  } catch (const dnnl::error&) {
    // It refuses the padding that a transposed convolution with much output_padding has.
    return nullptr;
  }
  if (!forward) return nullptr;
  Kernel kernel;
  if (g.kind == kData) {
    const auto d = describeData(g, forward, attributes);
    if (!d) return nullptr;
    kernel = kernelOf(d, d.diff_dst_desc(), d.weights_desc(), d.diff_src_desc());
  } else if (g.kind == kWeights) {
    const auto d = describeWeights(g, forward, attributes);
    if (!d) return nullptr;
    kernel = kernelOf(d, d.diff_dst_desc(), d.src_desc(), d.diff_weights_desc());
  } else {
    kernel = kernelOf(forward, forward.src_desc(), forward.weights_desc(), forward.dst_desc());
  }
  if (std::string_view(kernel.implementation).starts_with("ref")) return nullptr;
  return std::make_shared<const Kernel>(std::move(kernel));
}

using KernelTable = shunt::onednn::KernelTable<Key, Kernel, &makeKernel>;
[[maybe_unused]] const KernelTable& made_at_load = KernelTable::get();

/// Scratch memory of a thread: kept up to a size, so that small convolutions don't ask for memory each time.
class Scratch {
 public:
  explicit Scratch(size_t bytes) {
    constexpr size_t kKept = size_t{1} << 20;
    static thread_local std::unique_ptr<std::byte[]> kept;
    static thread_local size_t size = 0;
    if (bytes > kKept) {
      own_ = std::make_unique_for_overwrite<std::byte[]>(bytes + kAlignment);
      next_ = aligned(own_.get());
      return;
    }
    if (size < bytes) {
      kept = std::make_unique_for_overwrite<std::byte[]>(bytes + kAlignment);
      size = bytes;
    }
    next_ = aligned(kept.get());
  }
  std::byte* take(size_t bytes) { return std::exchange(next_, next_ + roundUp(bytes)); }
  static size_t roundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  static constexpr size_t kAlignment = 64;
  static std::byte* aligned(std::byte* p) {
    return p + (kAlignment - reinterpret_cast<uintptr_t>(p) % kAlignment) % kAlignment;
  }
  std::unique_ptr<std::byte[]> own_;
  std::byte* next_ = nullptr;
};

/// An operand: the caller's memory, and the kernel's where its format is another one.
struct Operand {
  memory plain, inner;
  dnnl::reorder reorder;
  size_t bytes = 0;  // of the inner memory; 0: the caller's is used as it is

  Operand() = default;
  Operand(const memory::desc& given, const memory::desc& wanted, bool is_output)
      : plain(given, engine(), nullptr), inner(wanted, engine(), nullptr) {
    if (given == wanted) return;
    bytes = Scratch::roundUp(wanted.get_size());
    reorder = is_output ? dnnl::reorder(inner, plain) : dnnl::reorder(plain, inner);
  }
  void place(const float* data, Scratch& scratch) {
    plain.set_data_handle(const_cast<float*>(data));
    inner.set_data_handle(bytes == 0 ? const_cast<float*>(data) : static_cast<void*>(scratch.take(bytes)));
  }
};

class Execution {
 public:
  explicit Execution(const Key& key) : key_(key), kernel_(KernelTable::get().find(key)) {
    if (kernel_ == nullptr) return;
    const Geometry g(key);
    const bool forward = g.kind == kForward || g.kind == kForwardWithBias;
    first_ = Operand(plain(forward ? g.image : g.result), kernel_->first, false);
    second_ = Operand(plain(g.kind == kWeights ? g.image : g.weight), kernel_->second, false);
    output_ = Operand(plain(forward ? g.result : g.kind == kData ? g.image : g.weight), kernel_->output, true);
    scratch_ = memory(kernel_->scratch, engine(), nullptr);
    scratch_bytes_ = Scratch::roundUp(kernel_->scratch.get_size());
    arguments_[DNNL_ARG_SCRATCHPAD] = scratch_;
    arguments_[forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST] = first_.inner;
    arguments_[g.kind == kWeights ? DNNL_ARG_SRC : DNNL_ARG_WEIGHTS] = second_.inner;
    arguments_[forward ? DNNL_ARG_DST : g.kind == kData ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DIFF_WEIGHTS] = output_.inner;
    if (g.kind != kForwardWithBias) return;
    bias_ = memory(plain(g.bias), engine(), nullptr);
    arguments_[DNNL_ARG_BIAS] = bias_;
  }

  const Key& key() const { return key_; }
  bool hasKernel() const { return kernel_ != nullptr; }
  /// With a kernel only.
  void run(dnnl::stream& stream, const float* first, const float* second, const float* bias, float* output) {
    Scratch scratch(first_.bytes + second_.bytes + output_.bytes + scratch_bytes_);
    first_.place(first, scratch);
    second_.place(second, scratch);
    output_.place(output, scratch);
    scratch_.set_data_handle(scratch.take(scratch_bytes_));
    if (bias != nullptr) bias_.set_data_handle(const_cast<float*>(bias));
    if (first_.bytes != 0) first_.reorder.execute(stream, first_.plain, first_.inner);
    if (second_.bytes != 0) second_.reorder.execute(stream, second_.plain, second_.inner);
    kernel_->run.execute(stream, arguments_);
    if (output_.bytes != 0) output_.reorder.execute(stream, output_.inner, output_.plain);
    stream.wait();
  }

 private:
  Key key_;
  std::shared_ptr<const Kernel> kernel_;  // null where oneDNN has none for this shape
  Operand first_, second_, output_;
  memory bias_, scratch_;
  size_t scratch_bytes_ = 0;
  std::unordered_map<int, memory> arguments_;  // shares the memory objects
};

using ThreadExecutions = shunt::onednn::ThreadExecutions<Key, Execution>;

/// oneDNN's kernels count in 32 bits.
bool isOf32Bits(const Key& key) {
  return std::apply([](auto... v) { return ((v >= 0 && v < (int64_t{1} << 30)) && ...); }, key);
}

/// Whether there are kernels for all parts.
bool hasKernels(Kind kind, const ConvShape& shape) {
  if (!isOf32Bits(keyOf(kind, shape))) return false;
  const OneOmpThread one_thread;
  ConvShape part = shape;
  part.samples = std::min(shape.samples, samplesOfPart(shape));
  if (!ThreadExecutions::get().find(keyOf(kind, part)).hasKernel()) return false;
  part.samples = shape.samples % part.samples;
  return part.samples == 0 || ThreadExecutions::get().find(keyOf(kind, part)).hasKernel();
}

void runPart(Kind kind, const ConvShape& part, const float* first, const float* second, const float* bias,
             float* output) {
  const OneOmpThread one_thread;
  ThreadExecutions& executions = ThreadExecutions::get();
  executions.find(keyOf(kind, part)).run(executions.stream(), first, second, bias, output);
}

[[noreturn]] SHUNT_COLD void throwFailure(const dnnl::error& e) {
  throw Error(detail::str("convolution failed in oneDNN: ", e.what()));
}

}  // namespace

bool convolve(const ConvShape& shape, const float* image, const float* weight, const float* bias, float* result) try {
  const Kind kind = bias != nullptr ? kForwardWithBias : kForward;
  if (!hasKernels(kind, shape)) return false;
  forEachPart(shape, [&](const ConvShape& part, int64_t n) {
    runPart(kind, part, image + n * shape.imageSize(), weight, bias, result + n * shape.resultSize());
  });
  return true;
} catch (const dnnl::error& e) {
  throwFailure(e);
}

bool convolveBack(const ConvShape& shape, const float* grad, const float* weight, float* image) try {
  if (!hasKernels(kData, shape)) return false;
  forEachPart(shape, [&](const ConvShape& part, int64_t n) {
    runPart(kData, part, grad + n * shape.resultSize(), weight, nullptr, image + n * shape.imageSize());
  });
  return true;
} catch (const dnnl::error& e) {
  throwFailure(e);
}

bool convolveWeight(const ConvShape& shape, const float* grad, const float* image, float* weight) try {
  if (!hasKernels(kWeights, shape)) return false;
  sumOverParts(shape, weight, [&](const ConvShape& part, int64_t n, float* sum) {
    runPart(kWeights, part, grad + n * shape.resultSize(), image + n * shape.imageSize(), nullptr, sum);
  });
  return true;
} catch (const dnnl::error& e) {
  throwFailure(e);
}

}  // namespace shunt::nn::onednn
