// The reductions of operators, as others run them (reduction.h).
#include "kernels/rows/descriptor.h"

#include <shunt/elementwise/reduction.h>

#include <algorithm>

namespace shunt::elementwise {
namespace {

class Prepared : public Reduction {
 public:
  Prepared(const rows::Descriptor& op, const TensorImpl& like, const reduce::DimSet& dims)
      : op_(op),
        type_(rows::computeTypeOf(like.dtype())),
        dtype_(like.dtype()),
        loop_(rows::loopWithoutPlan(op, type_, like, dims, shape_)),
        plan_(like, dims, false) {}

  bool hasLoop() const { return loop_ != nullptr; }
  void run(const std::byte* in, std::byte* out) const override {
    if (loop_ == nullptr) return reduce::reduceAsPlanned(op_, type_, {dtype_, dtype_, in, out}, plan_);
    rows::Call call;
    static_cast<rows::Shape&>(call) = shape_;
    call.dtype = call.result = dtype_;
    call.in[0] = in;
    call.out[0] = out;
    loop_(call);
  }

 private:
  const rows::Descriptor& op_;
  const rows::ComputeType type_;
  const ScalarType dtype_;
  rows::Shape shape_;
  const rows::LoopFn loop_;
  const reduce::Plan plan_;
};

/// Without the elements.
Tensor tensorLike(ScalarType dtype, IntArrayRef sizes, IntArrayRef strides) {
  Tensor out(::shunt::detail::makeCpuTensor({0}, {}, dtype));
  out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, 0);
  return out;
}

}  // namespace

std::unique_ptr<const Reduction> reduction(ReductionOperator op, ScalarType dtype, IntArrayRef sizes,
                                           IntArrayRef strides, OptionalIntArrayRef dims) {
  const bool is_known = dtype == ScalarType::Float || dtype == ScalarType::Double;
  if (!is_known || sizes.empty() || std::ranges::find(sizes, 0) != sizes.end() ||
      static_cast<int64_t>(sizes.size()) >= reduce::kMaxDims)
    return nullptr;
  const Tensor like = tensorLike(dtype, sizes, strides);
  const rows::Descriptor& descriptor =
      op == ReductionOperator::kSum ? reduce::kDescriptor<accumulators::Sum> : reduce::kDescriptor<accumulators::Mean>;
  auto out =
      std::make_unique<const Prepared>(descriptor, *like.unsafeGetTensorImpl(), reduce::dimSet(dims, like.dim()));
  // A block of all elements the engine adds up without a plan.
  const bool one_block = reduce::dimSet(dims, like.dim()).all() && like.numel() <= reduce::kBlock;
  return one_block && !out->hasLoop() ? nullptr : std::move(out);
}

}  // namespace shunt::elementwise
