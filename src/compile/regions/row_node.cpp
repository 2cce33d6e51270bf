#include "src/compile/regions/row_node.h"

#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/guards/own_calls.h"
#include "src/compile/passes/casts.h"

#include <shunt/core/dispatcher.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace shunt::compiled {
namespace {

using elementwise::RowOperator;

struct Known {
  std::string_view name;
  const char* below;
  RowOperator op;
};
constexpr Known kKnown[] = {{"aten::softmax.int", "aten::_softmax", RowOperator::kSoftmax},
                            {"aten::log_softmax.int", "aten::_log_softmax", RowOperator::kLogSoftmax},
                            // As a graph has them whose backward it has, too.
                            {"aten::_softmax", "aten::_softmax", RowOperator::kSoftmax},
                            {"aten::_log_softmax", "aten::_log_softmax", RowOperator::kLogSoftmax},
                            {"aten::layer_norm", "aten::native_layer_norm", RowOperator::kLayerNorm}};

const Known* knownOf(const Graph::Node& node) {
  const std::string name = node.name();
  const auto found = std::ranges::find(kKnown, name, &Known::name);
  return found != std::end(kKnown) ? &*found : nullptr;
}

bool isDenseLike(const Tensor& t, ScalarType dtype) {
  return t.defined() && t.dtype() == dtype && t.is_contiguous() && hasPlainKeys(t) && t.numel() > 0 &&
         !t.is_inference() && !t.unsafeGetTensorImpl()->is_wrapped_number();
}

/// The tensor argument i of the step; null: it is none.
const RecordedArgument* argumentAt(const Step& step, size_t i, std::span<const RecordedArgument> arguments) {
  if (step.operands[i].kind != Operand::Kind::kTensor) return nullptr;
  const auto before = std::count_if(step.operands.begin(), step.operands.begin() + static_cast<ptrdiff_t>(i),
                                    [](const Operand& o) { return o.kind == Operand::Kind::kTensor; });
  return &arguments[static_cast<size_t>(before)];
}

/// Of layer_norm. False: it is no plain row of n elements. Without one `out` stays empty.
bool addParameter(const RecordedArgument* given, ScalarType dtype, int64_t n,
                  std::optional<PointwiseNode::Input>& out) {
  if (given == nullptr || !given->tensor.defined()) return true;
  if (!isDenseLike(given->tensor, dtype) || given->tensor.numel() != n) return false;
  out = inputOf(given->value, Fit::kRow, given->tensor);
  return true;
}

/// Elements of a row; 0: it goes along other dimensions than the last ones.
int64_t rowLength(const Step& step, RowOperator op, IntArrayRef sizes) {
  if (sizes.empty() || step.operands[1].kind != Operand::Kind::kLiteral) return 0;
  const IValue& along = step.operands[1].literal;
  const auto dim = static_cast<int64_t>(sizes.size());
  if (op != RowOperator::kLayerNorm) {
    const int64_t d = along.toInt();
    return d == -1 || d == dim - 1 ? sizes.back() : 0;
  }
  int64_t n = 1;
  for (const int64_t size : along.toIntVector()) n *= size;
  return n;
}

bool givesSameBits(const RowNode& p, const std::byte* in, const std::byte* weight, const std::byte* bias,
                   const Tensor& result) {
  const Tensor again(detail::makeCpuTensor(result.sizes(), {}, result.dtype()));
  std::byte* out = again.unsafeGetTensorImpl()->data();
  p.run({out, in, weight, bias, p.rows, p.n, p.eps});
  return std::memcmp(out, result.unsafeGetTensorImpl()->data(), static_cast<size_t>(result.nbytes())) == 0;
}

}  // namespace

const Operator* rowOperatorBelow(const Graph::Node& node) {
  const Known* known = knownOf(node);
  if (known == nullptr) return nullptr;
  const bool is_composite = known->name != known->below;
  const bool may_autocast = mayAutocast(node);
  if (is_composite && !callsOwn(node.op.op(), EntryReason::kCompositeImplicit, may_autocast)) return nullptr;
  const Operator& below = Dispatcher::singleton().findSchemaOrThrow(known->below).op();
  return callsOwn(below, EntryReason::kKernel, may_autocast) ? &below : nullptr;
}

std::optional<RowNode> describeRows(const Step& step, std::span<const RecordedArgument> arguments,
                                    const Tensor& result) {
  const Known& known = *knownOf(*step.node);
  const RecordedArgument* given = argumentAt(step, 0, arguments);
  if (given == nullptr) return std::nullopt;
  const Tensor& in = given->tensor;
  if (!isDenseLike(in, result.dtype()) || !isDenseLike(result, in.dtype()) || !in.sizes().equals(result.sizes()))
    return std::nullopt;
  RowNode out;
  out.node = step.node;
  out.result = step.node->result();
  out.op = known.op;
  out.run = elementwise::rowLoop(known.op, in.dtype());
  out.n = rowLength(step, known.op, in.sizes());
  if (out.run == nullptr || out.n == 0 || in.numel() % out.n != 0) return std::nullopt;
  out.rows = in.numel() / out.n;
  out.in = inputOf(given->value, Fit::kFull, in);
  const std::byte* parameters[2] = {};
  if (known.op == RowOperator::kLayerNorm) {
    const RecordedArgument *weight = argumentAt(step, 2, arguments), *bias = argumentAt(step, 3, arguments);
    if (!addParameter(weight, in.dtype(), out.n, out.weight) || !addParameter(bias, in.dtype(), out.n, out.bias) ||
        step.operands[4].kind != Operand::Kind::kLiteral)
      return std::nullopt;
    out.eps = step.operands[4].literal.toDouble();
    if (out.weight) parameters[0] = weight->tensor.unsafeGetTensorImpl()->data();
    if (out.bias) parameters[1] = bias->tensor.unsafeGetTensorImpl()->data();
  }
  const std::byte* elements = in.unsafeGetTensorImpl()->data();
  if (!givesSameBits(out, elements, parameters[0], parameters[1], result)) return std::nullopt;
  return out;
}

}  // namespace shunt::compiled
