// CompileCheck::kAlways for backward passes: the compiled pass beside one through the operators' own history.
//
// The function's graph runs once more with its history, as for create_graph (Note [Compiled backward passes]), and what
// comes by each edge is compared: sums that the engine makes by their parts, those that the pass has made (sums.h) as
// such. Where the graph can't be run again as it was (something that it reads was changed since, another thread drew
// random numbers from its generator, an operator is registered in another way), or throws, nothing is compared.
#include "src/compile/backward/backward_node.h"
#include "src/compile/checks/first_difference.h"
#include "src/compile/guards/keys_that_matter.h"

#include <shunt/autograd/variable_utils.h>
#include <shunt/core/interrupt.h>

#include <algorithm>
#include <cstring>

namespace shunt::compiled {
namespace {

/// The same elements that lie in the same way, in memory of its own: a pass may write into its gradient's.
Tensor copyOf(const Tensor& t) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  const auto bytes = static_cast<int64_t>(impl.storage()->nbytes());
  const Tensor copy(detail::makeCpuTensor({bytes / impl.itemsize()}, {}, t.dtype()));
  TensorImpl& its = *copy.unsafeGetTensorImpl();
  std::memcpy(its.data(), impl.storage()->data(), static_cast<size_t>(copy.nbytes()));
  its.set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
  return copy;
}

}  // namespace

/// What the graph was given, as it was when the function was called.
void CompiledBackward::BackwardNode::noteGiven(std::span<const Tensor* const> inputs) {
  const size_t n = inputs.size() + of_->constants_.size();
  for (size_t i = 0; i < n; ++i) {
    const Tensor& t = of_->given(i, inputs, nullptr);
    hashes_.push_back(hasPlainKeys(t) ? hashOfElements(t) : 0);
  }
}

/// What the operators' history gives for each edge; nothing where that can't be known.
std::optional<autograd::variable_list> CompiledBackward::BackwardNode::expected(const Pass& pass,
                                                                                const Tensor& gradient) const try {
  if (std::ranges::any_of(pass.graph.nodes(), [](const auto* node) { return drawsRandomNumbers(node->op); })) return {};
  const std::vector<Tensor> given = givenAgain();
  for (size_t i = 0; i < hashes_.size(); ++i)
    if (of_->read_again_[i] && (!hasPlainKeys(given[i]) || hashOfElements(given[i]) != hashes_[i])) return {};
  return contributionsAgain(given, copyOf(gradient));
} catch (const Interrupt&) {
  throw;
} catch (...) {
  return {};
}

void CompiledBackward::BackwardNode::compare(const Pass& pass, const autograd::variable_list& got,
                                             const autograd::variable_list& expected) const {
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].defined() && expected[i].defined() && (!hasPlainKeys(got[i]) || !hasPlainKeys(expected[i]))) continue;
    const std::string found = firstDifference(got[i], expected[i]);
    if (found.empty()) continue;
    const size_t given = pass.contributions[i].given;
    const auto isOfIt = [&](const JointContribution& c) { return c.given == given; };
    const auto parts = std::ranges::count_if(pass.contributions, isOfIt);
    const auto part =
        std::count_if(pass.contributions.begin(), pass.contributions.begin() + static_cast<ptrdiff_t>(i), isOfIt);
    SHUNT_CHECK(false, of_->name_,
                ": SHUNT_COMPILE_CHECK: the compiled backward pass and the operators' own differ in ",
                parts > 1 ? detail::str("part ", part + 1, " of ", parts, " of ") : "", "the gradient of ",
                of_->nameOf(given), ": ", found);
  }
}

}  // namespace shunt::compiled
