#include "src/compile/backward/joint.h"

#include "src/autograd/storage_and_grad.h"
#include "src/autograd/unshared.h"
#include "src/compile/backward/contributions.h"
#include "src/compile/backward/draws.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/steps/prepared_step.h"
#include "src/dispatch/changes.h"
#include "src/trace/modes.h"
#include "src/trace/retrace.h"
#include "src/trace/writes.h"

#include <shunt/autograd/graph_tensor.h>

#include <algorithm>
#include <unordered_set>

namespace shunt::compiled {
namespace {

using trace_detail::Retrace;

/// What a backward pass runs with: the caller's settings, without autocast.
Graph::Modes backwardModes() {
  Graph::Modes modes;
  modes.grad = false;
  return modes;
}

/// What a backward pass writes, as sums of gradients, it has made itself, and nobody reads it as it was before.
void checkWrites(const Joint& joint, const std::vector<size_t>& contributed_at) {
  const Aliases aliases(joint.graph);
  const std::vector<Graph::Node*> nodes = joint.graph.nodes();
  std::vector<bool> is_forwards(static_cast<size_t>(joint.graph.idBound()));
  const auto mark = [&](const Graph::Value* v) { is_forwards[aliases.of(v)] = true; };
  std::ranges::for_each(joint.graph.inputs(), mark);
  std::ranges::for_each(joint.graph.constants(), mark);
  for (size_t i = 0; i < joint.forward_nodes; ++i) trace_detail::forResults(*nodes[i], mark);
  for (size_t i = joint.forward_nodes; i < nodes.size(); ++i)
    trace_detail::forWritten(*nodes[i], [&](const Graph::Value* v) {
      if (is_forwards[aliases.of(v)]) refuse("its backward pass writes into what the function has made");
      for (size_t k = 0; k < contributed_at.size(); ++k) {
        const Graph::Value* got = joint.contributed[k];
        if (got != nullptr && contributed_at[k] <= i && aliases.of(got) == aliases.of(v))
          refuse("its backward pass writes into a gradient that a leaf has got");
      }
    });
}

/// Whether some elements are one in memory, so that nothing is added in place.
bool isExpanded(const Graph::Spec& spec) {
  for (size_t d = 0; d < spec.sizes.size(); ++d)
    if (spec.strides[d] == 0 && spec.sizes[d] > 1) return true;
  return false;
}

/// Runs the engine through the history, and takes what that adds to the graph out again. A caller's gradient is held by
/// the caller; one that nobody holds comes from a node behind, and gets a version that is seen in what counts on.
void noteVersions(Joint& joint, const Tensor& result, const Tensor& gradient, const std::vector<Tensor>& leaves,
                  const std::vector<size_t>& given_of_leaf, detail::Recording& recording) {
  constexpr uint32_t kBegun = 1 << 20;
  const auto adds = [&](const JointContribution& c) {
    return std::ranges::count(joint.contributions, c.given, &JointContribution::given) > 1;
  };
  if (std::ranges::none_of(joint.contributions, adds)) return;
  const size_t nodes = recording.graph.nodeCount();
  joint.versions.resize(std::ranges::max(given_of_leaf) + 1);
  const auto run = [&](const Tensor& root, const auto& note) {
    gradientsOf(root, gradient, leaves, [&](size_t leaf, Tensor&& sum) {
      if (sum.defined()) note(joint.versions[given_of_leaf[leaf]], static_cast<uint32_t>(sum._version()));
    });
  };
  run(result, [](SumVersion& v, uint32_t version) { v.of_held = version; });
  Tensor behind;
  {
    const AutoGradMode with_history(true);
    behind = result * 1;
  }
  const auto begin = [nr = size_t{autograd::outputNrOf(result)}](const autograd::variable_list& grads) {
    autograd::graph_tensor(grads[nr]).unsafeGetTensorImpl()->version().set(kBegun);
    return grads;
  };
  result.grad_fn()->add_pre_hook(begin);
  run(behind, [](SumVersion& v, uint32_t version) {
    v.counts_on = version >= kBegun;
    v.of_free = v.counts_on ? version - kBegun : version;
  });
  const std::vector<Graph::Node*> all = recording.graph.nodes();
  recording.graph.erase(std::unordered_set<const Graph::Node*>(all.begin() + static_cast<ptrdiff_t>(nodes), all.end()));
}

/// Where a leaf gets several gradients, the way in which their sum lies depends on which of them the engine adds in
/// place, and that on who holds them when the next one comes.
void noteSums(Joint& joint, const std::vector<Graph::Value*>& given) {
  const std::vector<size_t> homes = homesOf(given);
  const auto targetOf = [&](size_t k) {
    const size_t i = joint.contributions[k].given;
    return i < homes.size() ? homes[i] : i;
  };
  for (size_t k = 0; k < joint.contributions.size(); ++k)
    for (size_t j = 0; j < k; ++j) {
      if (targetOf(j) != targetOf(k)) continue;
      joint.adds = true;
      const Graph::Value *a = joint.contributed[j], *b = joint.contributed[k];
      if (a != nullptr && b != nullptr && !addAlike(a->spec, b->spec))
        refuse("gradients that its backward pass adds lie in different ways");
    }
}

/// What a leaf may do with the caller's gradient depends on who holds that.
void forgetCallers(Joint& joint) {
  const Aliases aliases(joint.graph);
  for (size_t k = 0; k < joint.contributions.size(); ++k) {
    JointContribution& c = joint.contributions[k];
    const bool is_gradient = c.arrives && aliases.of(joint.contributed[k]) == aliases.of(joint.gradient);
    if (is_gradient) c.is_view = c.is_held = false;
  }
}

}  // namespace

bool addAlike(const Graph::Spec& a, const Graph::Spec& b) {
  return a.strides == b.strides || (liesAsNew(a) && isExpanded(b)) || (liesAsNew(b) && isExpanded(a));
}

void refuse(const char* why) { throw Error(why); }

std::vector<Graph::Value*> givenOf(const Graph& graph) {
  std::vector<Graph::Value*> out = graph.inputs();
  out.insert(out.end(), graph.constants().begin(), graph.constants().end());
  return out;
}

std::vector<size_t> homesOf(const std::vector<Graph::Value*>& given) {
  std::vector<size_t> out;
  for (const Graph::Value* v : given) {
    const auto first = std::ranges::find(given, v->storage, &Graph::Value::storage);
    out.push_back(static_cast<size_t>(first - given.begin()));
  }
  return out;
}

Joint jointOf(const Graph& graph, size_t output, const std::vector<size_t>& others, IntArrayRef strides) {
  const ExcludeDispatchKeyGuard above({DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::Batched});
  Retrace retrace(graph);
  Joint out;
  std::vector<Tensor> leaves;
  std::vector<size_t> given_of_leaf, contributed_at;
  const std::vector<Graph::Value*> given = givenOf(graph);
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor& t = autograd::graph_tensor(retrace.wrapper(*given[i]));
    if (!t.requires_grad()) continue;
    SHUNT_INTERNAL_ASSERT(t.strides().equals(given[i]->spec.strides),
                          "a fake argument lies otherwise than the real one");
    leaves.push_back(t);
    given_of_leaf.push_back(i);
  }
  detail::Recording& recording = retrace.recording();
  const auto addBackward = [&](const trace_detail::Interpreter& interpreter) {
    out.forward_nodes = recording.graph.nodeCount();
    const auto resultOf = [&](size_t i) { return autograd::graph_tensor(interpreter.output(graph.outputs()[i])); };
    const Tensor result = resultOf(output);
    for (size_t i = 0; i < others.size(); ++i) {
      leaves.push_back(resultOf(others[i]));
      given_of_leaf.push_back(given.size() + i);
    }
    const Graph::Spec& of = graph.outputs()[output]->spec;
    const Graph::Spec spec{.dtype = of.dtype, .device = of.device, .sizes = of.sizes, .strides = strides.vec()};
    const Tensor gradient = recording.addInput(trace_detail::fakeOf(spec), spec);
    out.gradient = recording.graph.inputs().back();
    trace_detail::ModesScope modes;
    modes.set(backwardModes());
    contributionsOf(result, gradient, leaves, false, [&](size_t leaf, Tensor&& t) {
      JointContribution c{.given = given_of_leaf[leaf], .arrives = t.defined()};
      out.contributed.push_back(t.defined() ? recording.valueOf(t) : nullptr);
      if (t.defined()) {
        c.is_view = autograd::get_view_autograd_meta(t) != nullptr;
        c.is_held = !autograd::isUnshared(t);
        c.strides = t.strides().vec();
      }
      out.contributions.push_back(c);
      contributed_at.push_back(recording.graph.nodeCount());
    });
    noteVersions(out, result, gradient, leaves, given_of_leaf, recording);
  };
  out.graph = retrace.run([&](const Graph::Value& v) { return retrace.wrapper(v); }, addBackward,
                          [](const Tensor& t) { return t; });
  for (const auto& [op, fingerprint] : recording.seen()) out.seen.emplace_back(op, fingerprint);
  for (const Operator* op : drawnBy(graph)) out.seen.emplace_back(op, detail::fingerprintOf(*op));
  if (givenOf(out.graph).size() != given.size() + 1)
    refuse("its backward pass reads a tensor that the function doesn't");
  if (out.contributions.empty()) refuse("no gradient comes from its result to what it was given");
  noteSums(out, given);
  checkWrites(out, contributed_at);
  forgetCallers(out);
  return out;
}

}  // namespace shunt::compiled
