#include "src/compile/backward/sums.h"

#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/guards/own_calls.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/steps/prepared_step.h"
#include "src/dispatch/changes.h"
#include "src/dispatch/own_kernels.h"

#include <shunt/core/dispatcher.h>
#include <shunt/ops.h>

#include <algorithm>
#include <span>
#include <utility>

namespace shunt::compiled {
namespace {

/// A kernel of somebody else's may register one for additions, which the next one has to call.
bool isOwn(const Graph::Node& node) {
  const detail::CallFrame frame(node.op.op());
  return isOfDictionary(node) && detail::isOfThisLibrary(frame.state(node.op.op()).lookup(kPlainCpu));
}

bool isOwnAddition(const char* name) {
  return callsOwn(Dispatcher::singleton().findSchemaOrThrow(name, "Tensor").op(), EntryReason::kKernel, false);
}

}  // namespace

std::vector<Sum> sumsOf(const Joint& joint) {
  const std::vector<Graph::Node*> nodes = joint.graph.nodes();
  const auto backward = std::span(nodes).subspan(joint.forward_nodes);
  if (!std::ranges::all_of(backward, [](const Graph::Node* node) { return isOwn(*node); })) return {};
  const std::vector<size_t> homes = homesOf(givenOf(joint.graph));
  const auto& all = joint.contributions;
  const auto mayShareTarget = [&](size_t a, size_t b) {
    return a != b && a < homes.size() && b < homes.size() && homes[a] == homes[b];
  };
  std::vector<Sum> out;
  for (size_t k = 0; k < all.size(); ++k) {
    const auto isOfIt = [&](const JointContribution& c) { return c.given == all[k].given; };
    if (std::any_of(all.begin(), all.begin() + static_cast<ptrdiff_t>(k), isOfIt)) continue;
    Sum sum;
    bool is_simple = true, any_row_major = false;  // then the sum is, too: addAlike (joint.cpp)
    for (size_t j = 0; j < all.size(); ++j) {      // what may be the same tensor's may come before, too
      if (mayShareTarget(all[j].given, all[k].given)) is_simple = false;
      if (!isOfIt(all[j]) || !all[j].arrives) continue;
      is_simple &= joint.contributed[j]->spec.device == kCPU;
      any_row_major |= liesAsNew(joint.contributed[j]->spec);
      sum.parts.push_back(j);
    }
    if (!is_simple || !any_row_major || sum.parts.size() < 2) continue;
    sum.version = joint.versions[all[k].given];
    out.push_back(std::move(sum));
  }
  return out;
}

void giveSums(Graph& pass, const std::vector<Sum>& sums) {
  std::vector<Graph::Value*> outputs = pass.outputs();
  for (const Sum& sum : sums)
    for (size_t i = 1; i < sum.parts.size(); ++i) {
      Graph::Value*& total = outputs[sum.parts[0]];
      Graph::Node* node =
          pass.insert(nullptr, "aten::add.Tensor", {total, std::exchange(outputs[sum.parts[i]], nullptr)});
      node->modes.grad = false;
      total = node->result();
    }
  pass.setOutputs(std::move(outputs));
}

void addUp(autograd::variable_list& contributed, const std::vector<Sum>& sums) {
  for (const Sum& sum : sums)
    for (size_t i = 1; i < sum.parts.size(); ++i)
      contributed[sum.parts[0]] =
          ops::add_Tensor::call(contributed[sum.parts[0]], std::exchange(contributed[sum.parts[i]], {}), 1);
}

std::vector<JointContribution> withSums(const Joint& joint, const std::vector<Sum>& sums) {
  std::vector<JointContribution> out = joint.contributions;
  // The engine holds the first part until the others come: whoever else gets that one isn't alone with it.
  for (const Sum& sum : sums)
    for (size_t k = 0; k < out.size(); ++k) out[k].is_held |= joint.contributed[k] == joint.contributed[sum.parts[0]];
  for (const Sum& sum : sums)
    for (const size_t part : sum.parts) out[part].is_view = out[part].is_held = false;
  return out;
}

bool OwnAdditions::now() const {
  const uint64_t changes = detail::table_changes.load(std::memory_order_acquire);
  if (checked_at_.load(std::memory_order_relaxed) == changes) return true;
  if (!isOwnAddition("aten::add") || !isOwnAddition("aten::add_")) return false;
  checked_at_.store(changes, std::memory_order_relaxed);
  return true;
}

}  // namespace shunt::compiled
