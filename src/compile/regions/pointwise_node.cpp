#include "src/compile/regions/pointwise_node.h"
#include "src/compile/guards/keys_that_matter.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

namespace signature = ::shunt::detail::signature;

struct Fitting {
  Fit fit;
  int64_t columns = 0;  // of a row or column
};

/// Elements from one element to the next in each of the result's dimensions: 0 where it is the same one. Dimensions of
/// one element are left out, of the sizes too.
bool stridesUnder(const Tensor& t, IntArrayRef result, std::vector<int64_t>& sizes, std::vector<int64_t>& strides) {
  if (t.sizes().size() > result.size()) return false;
  const size_t first = result.size() - t.sizes().size();
  for (size_t d = 0; d < result.size(); ++d) {
    const int64_t size = d < first ? 1 : t.sizes()[d - first];
    if (size != 1 && size != result[d]) return false;
    if (result[d] == 1) continue;
    sizes.push_back(result[d]);
    strides.push_back(size == 1 ? 0 : t.strides()[d - first]);
  }
  return true;
}

std::optional<Fitting> fittingOf(const Tensor& t, const Tensor& result) {
  std::vector<int64_t> sizes, strides;
  if (!stridesUnder(t, result.sizes(), sizes, strides)) return std::nullopt;
  size_t d = sizes.size();
  // The elements of the dimensions before `d` that lie one after the other, or are one.
  const auto pass = [&](bool is_one) {
    int64_t n = 1;
    for (; d > 0 && strides[d - 1] == (is_one ? 0 : n); --d) n *= sizes[d - 1];
    return n;
  };
  const int64_t row = pass(false);
  // A row under a single row is one all the same: as such it may be a parameter of an operator along rows.
  if (d == 0) return t.sizes() == result.sizes() || row == 1 ? Fitting{Fit::kFull} : Fitting{Fit::kRow, row};
  const int64_t same = pass(true);
  if (d == 0) return row == 1 ? Fitting{Fit::kOne} : Fitting{Fit::kRow, row};
  if (row != 1) return std::nullopt;
  pass(false);
  return d == 0 ? std::optional(Fitting{Fit::kColumn, same}) : std::nullopt;
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
  const std::optional<Fitting> found = fittingOf(t, result);
  if (!found || (found->columns != 0 && !addRowLength(found->columns, out.columns))) return false;
  out.inputs.push_back(inputOf(given->value, found->fit, t));
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
  const LayoutClass layout = signature::layoutOf(in.signature);
  if (layout != LayoutClass::kContiguous && layout != LayoutClass::kOneElement) in.strides = t.strides().vec();
  in.dtype = t.dtype();
  return in;
}

std::optional<PointwiseNode> describe(const Graph::Node& node, const elementwise::RecordedLoop& loop,
                                      std::span<const RecordedArgument> arguments, const Tensor& result,
                                      const Graph::Value* written) {
  // A functional operator may have made its result itself, and let the loop write it.
  const bool is_functional = loop.form == detail::LoopRecord::kFunctional ||
                             (written == nullptr && loop.written == result.unsafeGetTensorImpl());
  if (!ranOneLoop(loop) || (written == nullptr) != is_functional || !mayBeOfRegion(result) ||
      result.dtype() != loop.output_dtype)
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
