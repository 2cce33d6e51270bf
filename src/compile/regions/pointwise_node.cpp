#include "src/compile/regions/pointwise_node.h"
#include "src/compile/guards/keys_that_matter.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

namespace signature = ::shunt::detail::signature;

std::optional<Fit> fitOf(const Tensor& t, const Tensor& result) {
  const IntArrayRef x = result.sizes(), y = t.sizes();
  const bool one = t.numel() == 1;
  if (!one && !isRowMajor(t)) return std::nullopt;
  if (x == y) return Fit::kFull;
  if (one) return result.numel() == 1 ? Fit::kFull : Fit::kOne;
  size_t ones = 0;
  while (ones < y.size() && y[ones] == 1) ++ones;
  if (y.size() <= x.size() &&
      std::equal(y.begin() + static_cast<ptrdiff_t>(ones), y.end(), x.end() - static_cast<ptrdiff_t>(y.size() - ones)))
    return Fit::kRow;
  if (x.size() == y.size() && y.back() == 1 && std::equal(x.begin(), x.end() - 1, y.begin())) return Fit::kColumn;
  return std::nullopt;
}

bool ranOneLoop(const elementwise::RecordedLoop& loop) {
  return loop.loops == 1 && !loop.inner_loops && !loop.may_refuse && loop.run != nullptr;
}

/// False where rows of two lengths meet.
bool addRowLength(int64_t columns, int64_t& all) {
  if (all != 0 && all != columns) return false;
  all = columns;
  return true;
}

bool castInput(ScalarType to, PointwiseNode::Input& in) {
  if (in.fit != Fit::kFull) return false;
  in.cast = elementwise::castLoopOf(in.dtype, to);
  in.loop_dtype = to;
  return in.isCast();
}

bool addInput(const elementwise::RecordedLoop& loop, int i, std::span<const RecordedArgument> arguments,
              const Tensor& result, PointwiseNode& out) {
  PointwiseNode::Input in;
  if (loop.inputs[i] == nullptr) {
    in.number = loop.numbers[i];
    in.dtype = loop.input_dtypes[i];
    out.inputs.push_back(std::move(in));
    return true;
  }
  const auto given = std::ranges::find_if(
      arguments, [&](const RecordedArgument& a) { return a.tensor.unsafeGetTensorImpl() == loop.inputs[i]; });
  if (given == arguments.end()) return false;  // one that the operator has made
  const Tensor& t = given->tensor;
  if (!hasPlainKeys(t)) return false;
  const std::optional<Fit> fit = fitOf(t, result);
  if (!fit) return false;
  if (*fit == Fit::kRow && !addRowLength(t.numel(), out.columns)) return false;
  if (*fit == Fit::kColumn && !addRowLength(result.sizes().back(), out.columns)) return false;
  out.inputs.push_back(inputOf(given->value, *fit, t));
  return t.dtype() == loop.input_dtypes[i] || castInput(loop.input_dtypes[i], out.inputs.back());
}

}  // namespace

bool isRowMajor(const Tensor& t) {
  int64_t step = 1;
  for (size_t d = t.sizes().size(); d-- > 0;) {
    if (t.strides()[d] != step) return false;
    step *= t.sizes()[d];
  }
  return true;
}

bool mayBeOfRegion(const Tensor& result) {
  return result.defined() && result.numel() != 0 && hasPlainKeys(result) && isRowMajor(result) &&
         !result.unsafeGetTensorImpl()->is_wrapped_number() && !result.is_inference();
}

PointwiseNode::Input inputOf(const Graph::Value* value, Fit fit, const Tensor& t) {
  PointwiseNode::Input in;
  in.value = value;
  in.fit = fit;
  in.signature = t.unsafeGetTensorImpl()->signature();
  in.keys = keysThatMatter(t);
  in.sizes = t.sizes().vec();
  in.dtype = t.dtype();
  return in;
}

std::optional<PointwiseNode> describe(const Graph::Node& node, const elementwise::RecordedLoop& loop,
                                      std::span<const RecordedArgument> arguments, const Tensor& result,
                                      const Graph::Value* written) {
  if (!ranOneLoop(loop) || (written == nullptr) != (loop.form == detail::LoopRecord::kFunctional) ||
      !mayBeOfRegion(result) || result.dtype() != loop.output_dtype)
    return std::nullopt;
  // An operator that writes may copy for itself only, and write what it makes of the copy.
  if (written != nullptr && loop.written != result.unsafeGetTensorImpl()) return std::nullopt;
  if (loop.only_copies && loop.form == detail::LoopRecord::kOut && !node.is("aten::copy_")) return std::nullopt;
  PointwiseNode out;
  out.node = &node;
  out.result = written != nullptr ? written : node.result();
  if (written != nullptr) out.written = inputOf(written, Fit::kFull, result);
  out.run = loop.run;
  out.generic = reinterpret_cast<elementwise::GenericLoopFn>(const_cast<void*>(loop.places.loop));
  out.common = loop.common;
  out.num_scalars = loop.num_scalars;
  std::ranges::copy(loop.scalars, out.scalars);
  out.dtype = result.dtype();
  out.sizes = result.sizes().vec();
  for (int i = 0; i < loop.num_inputs; ++i)
    if (!addInput(loop, i, arguments, result, out)) return std::nullopt;
  return out;
}

}  // namespace shunt::compiled
