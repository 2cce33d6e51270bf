#include "src/compile/steps/row_step.h"

#include "src/compile/passes/casts.h"
#include "src/compile/steps/quick_counts.h"

#include <shunt/core/parallel.h>
#include <shunt/elementwise/row_loop.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

namespace shunt::compiled {
namespace {

using elementwise::RowOperator;

struct Known {
  std::string_view name;
  RowOperator op;
  bool is_backward;
};
constexpr Known kKnown[] = {{"aten::_softmax", RowOperator::kSoftmax, false},
                            {"aten::_log_softmax", RowOperator::kLogSoftmax, false},
                            {"aten::_softmax_backward_data", RowOperator::kSoftmaxBackward, true},
                            {"aten::_log_softmax_backward_data", RowOperator::kLogSoftmaxBackward, true}};

const Known* knownOf(const Graph::Node& node) { return entryOf(node, kKnown); }

class PreparedRows : public PreparedStep {
 public:
  PreparedRows(elementwise::RowLoopFn loop, int64_t rows, int64_t n, const Place& in, const Place* given,
               const Graph::Spec& result)
      : PreparedStep(result), loop_(loop), rows_(rows), n_(n), in_(in) {
    if (given != nullptr) given_ = *given;
  }

  bool run(const Frame& frame, std::byte* const* out) const override {
    const std::byte* in = elementsAt(in_, frame);
    const std::byte* given = given_ ? elementsAt(*given_, frame) : in;
    if (in == nullptr || given == nullptr) return false;
    loop_({.out = out[0], .in = in, .rows = rows_, .n = n_, .result = given});
    ++quick_counts.rows;
    return true;
  }

 private:
  const elementwise::RowLoopFn loop_;
  const int64_t rows_, n_;
  const Place in_;
  std::optional<Place> given_;
};

/// Whether both are of the result's dtype and sizes, and all are row-major on the CPU.
bool isLike(const Graph::Value* v, const Graph::Spec& result) {
  return v != nullptr && v->spec.device == kCPU && v->spec.dtype == result.dtype && v->spec.sizes == result.sizes &&
         isRowMajor(v->spec);
}

}  // namespace

bool isRowOperator(const Graph::Node& node) { return knownOf(node) != nullptr; }

std::shared_ptr<const PreparedStep> rowsOf(const Graph::Node& node, const PreparedStep::Place& in,
                                           const PreparedStep::Place& result) {
  const Known& known = *knownOf(node);
  const Graph::Value* made = node.result();
  if (made == nullptr || node.modes.inference || mayAutocast(node) || !liesAsNew(made->spec) ||
      !isLike(node.arguments[0].value(), made->spec) ||
      (known.is_backward && !isLike(node.arguments[1].value(), made->spec)) || !callsOwnKernel(node))
    return nullptr;
  const std::vector<int64_t>& sizes = made->spec.sizes;
  const auto dim = static_cast<int64_t>(sizes.size());
  const int64_t numel = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  // Larger ones are shared among threads.
  if (dim == 0 || numel == 0 || numel > kDefaultGrain) return nullptr;
  const int64_t along = node.arguments[known.is_backward ? 2 : 1].literal.toInt();
  if (along != -1 && along != dim - 1) return nullptr;
  if (!known.is_backward && node.arguments[2].literal.toBool()) return nullptr;  // half_to_float
  const elementwise::RowLoopFn loop = elementwise::rowLoop(known.op, made->spec.dtype);
  if (loop == nullptr) return nullptr;
  return std::make_shared<const PreparedRows>(loop, numel / sizes.back(), sizes.back(), in,
                                              known.is_backward ? &result : nullptr, made->spec);
}

}  // namespace shunt::compiled
