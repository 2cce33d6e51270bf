#include "src/compile/steps/expected_results.h"

#include "src/autograd/storage_and_grad.h"
#include "src/base/errors_heard.h"
#include "src/compile/guards/program_kernels.h"
#include "src/compile/passes/host_node.h"
#include "src/compile/steps/lies_as.h"
#include "src/trace/fakes.h"
#include "src/trace/interpreter.h"
#include "src/trace/writes.h"
#include "src/transforms/fake/fake_impl.h"

#include <shunt/core/interrupt.h>
#include <shunt/core/stack_tensors.h>

#include <algorithm>
#include <optional>

namespace shunt::compiled {
namespace {

using trace_detail::Compared;
using OfNode = ExpectedResults::OfNode;

/// Whether an operator that only other operators call has a kernel of the program. A composite's calls what was
/// recorded.
bool callsInside(const Graph& graph, const std::vector<const Operator*>& called) {
  std::unordered_set<const Operator*> nodes;
  for (const Graph::Node* node : graph.nodes()) nodes.insert(&node->op.op());
  const auto isComposite = [](const Operator* op) {
    const detail::CallFrame frame(*op);
    return frame.state(*op).lookup(kPlainCpu).reason == EntryReason::kCompositeImplicit;
  };
  std::vector<const Operator*> inside;
  std::ranges::copy_if(called, std::back_inserter(inside),
                       [&](const Operator* op) { return !nodes.contains(op) && !isComposite(op); });
  return callsProgramKernels(graph, inside);
}

bool sharesMemory(const Tensor& a, const Tensor& b) {
  const StorageImpl* storage = autograd::storageOf(a);
  return storage != nullptr && storage == autograd::storageOf(b);
}

/// A node alone, on fake tensors.
class FakeCall {
 public:
  explicit FakeCall(const Graph::Node& node) {
    Graph::Node copy(node);
    copy.outputs.clear();
    std::unordered_map<const Graph::Value*, Graph::Value*> inputs{{nullptr, nullptr}};
    for (Graph::Argument& a : copy.arguments)
      for (Graph::Value*& v : a.values) {
        if (!inputs.contains(v)) inputs[v] = single_.addInput(v->spec);
        if (v != nullptr) values.push_back(v);
        v = inputs[v];
        if (v != nullptr) given_.push_back(v);
      }
    single_.append(std::move(copy));
  }
  void run() {
    const trace_detail::Fakes fakes(single_);
    for (const Graph::Value* v : given_) arguments.push_back(fakes.of(*v));
    const ExcludeDispatchKeyGuard below(fake::kModesAndWrappers);
    const IncludeDispatchKeyGuard fake(DispatchKey::Fake);
    trace_detail::Interpreter call(single_, [&](const Graph::Value& v) { return fakes.of(v); });
    call.run([&](const Graph::Node&, Stack& returns) {
      forEachTensor(returns, [&](const Tensor& t) {
        results.push_back(t);
        recorded_.add(t);
      });
    });
  }
  std::vector<const Graph::Value*> values;  // of the node's defined arguments
  std::vector<Tensor> arguments, results;

 private:
  Graph single_;
  std::vector<const Graph::Value*> given_;
  trace_detail::RecordedForFakes recorded_;
};

/// Nothing where the operator throws for such tensors.
std::unique_ptr<const FakeCall> callOnFakes(const Graph::Node& node) {
  const detail::ErrorsHeard aside;
  try {
    auto out = std::make_unique<FakeCall>(node);
    out->run();
    return out;
  } catch (const Interrupt&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return nullptr;
  }
}

/// By the numbers of defined tensors among the node's arguments.
std::vector<size_t> writtenBy(const Graph::Node& node) {
  std::vector<size_t> out;
  size_t next = 0;
  for (size_t i = 0; i < node.arguments.size(); ++i)
    trace_detail::forValues(node.arguments[i], [&](const Graph::Value*) {
      if (trace_detail::writes(node, i)) out.push_back(next);
      ++next;
    });
  return out;
}

/// Whether it is seen that the value shares memory: it is written, or has a history.
bool mattersWhose(const Graph::Value* v, const Aliases& aliases) {
  return v->spec.requires_grad || aliases.isWritten(v);
}

bool mattersWhose(const Graph::Node& node, const Aliases& aliases) {
  bool matters = false;
  const auto note = [&](const Graph::Value* v) { matters |= mattersWhose(v, aliases); };
  trace_detail::forArguments(node, note);
  trace_detail::forResults(node, note);
  return matters;
}

/// `all`: those too that nobody sees. `reshaped`: groups of memory of which earlier nodes give tensors other sizes or
/// strides than their values have.
void addAliases(const Graph::Node& node, const Aliases& aliases, bool all, std::unordered_set<size_t>& reshaped,
                OfNode& out) {
  const auto call = callOnFakes(node);
  if (call == nullptr) return;
  const bool matters = all || mattersWhose(node, aliases);
  for (size_t r = 0; r < call->results.size(); ++r)
    for (size_t a = 0; a < call->arguments.size(); ++a)
      if (const bool is_same = call->results[r].is_same(call->arguments[a]);
          is_same || (matters && sharesMemory(call->results[r], call->arguments[a])))
        out.aliases.push_back({r, a, is_same});
  for (const size_t a : writtenBy(node)) {
    const Graph::Value* v = call->values[a];
    const auto isIt = [&](const ExpectedResults::Alias& alias) { return alias.argument == a && alias.is_same; };
    if (std::ranges::any_of(out.aliases, isIt)) continue;  // compared as a result
    if (!shows(*call->arguments[a].unsafeGetTensorImpl(), v->spec)) reshaped.insert(aliases.of(v));
    if (!reshaped.contains(aliases.of(v))) out.written.push_back({a, v});
  }
}

Compared::History historyOf(const Graph::Node& node) {
  const bool is_recorded = node.modes.grad && !node.modes.inference && !isOfDictionary(node);
  return is_recorded ? Compared::History::kSame : Compared::History::kNoneNew;
}

}  // namespace

ExpectedResults::ExpectedResults(const Graph& graph, const Aliases& aliases, const std::vector<const Operator*>& called,
                                 const Options& options) {
  const bool offset = trace_detail::hasPlaces(graph), inside = callsInside(graph, called);
  std::unordered_set<size_t> reshaped;
  for (const Graph::Node* node : graph.nodes()) {
    if (isHostStep(*node) || node->op.op().name().starts_with("trace::")) continue;
    const bool is_own = !trace_detail::hasProgramKernel(*node);
    if (is_own && !inside) continue;
    OfNode of;
    of.compared = {.strides = options.strides, .offset = offset, .history = historyOf(*node)};
    const bool makes_new = isOfDictionary(*node) && !mayAlias(*node);
    of.are_new = !is_own && makes_new && (options.aliases || mattersWhose(*node, aliases));
    if (!is_own && !makes_new) addAliases(*node, aliases, options.aliases, reshaped, of);
    of_.emplace(node, std::make_unique<const OfNode>(std::move(of)));
  }
}

const OfNode* ExpectedResults::of(const Graph::Node& node) const {
  const auto found = of_.find(&node);
  return found != of_.end() ? found->second.get() : nullptr;
}

ComparedCall::ComparedCall(const Graph::Node& node, const OfNode* expected, const Stack& arguments)
    : node_(node), expected_(expected) {
  if (expected != nullptr && expected->needsArguments())
    forEachTensor(arguments, [&](const Tensor& t) { arguments_.push_back(t); });
}

void ComparedCall::compare(const Stack& returns, bool may_run_again) const {
  std::string other =
      trace_detail::otherResult(node_, returns, expected_ != nullptr ? expected_->compared : Compared());
  if (other.empty() && !arguments_.empty()) other = otherAlias(returns);
  if (other.empty() && !arguments_.empty()) other = otherArgument();
  if (other.empty()) [[likely]]
    return;
  if (expected_ != nullptr || trace_detail::mayGiveOtherResults(node_))
    trace_detail::throwOtherResults(other, may_run_again);
}

std::string ComparedCall::otherAlias(const Stack& returns) const {
  InlineVector<const Tensor*, 4> results;
  forEachTensor(returns, [&](const Tensor& t) { results.push_back(&t); });
  const auto textOf = [&](size_t result, const char* gives, const char* recorded) {
    const std::string place = results.size() > 1 ? detail::str("as result ", result, ' ') : "";
    return detail::str("operator ", node_.name(), " gives ", place, gives, ", and ", recorded, " was recorded. ",
                       trace_detail::whatHasToAgree(results[result]->device(), "return the same of their arguments"));
  };
  for (const ExpectedResults::Alias& alias : expected_->aliases) {
    if (alias.result >= results.size() || alias.argument >= arguments_.size()) continue;
    const Tensor &t = *results[alias.result], &argument = arguments_[alias.argument];
    if (alias.is_same ? t.is_same(argument) : sharesMemory(t, argument)) continue;
    return textOf(alias.result, "another tensor than its argument",
                  alias.is_same ? "the argument itself" : "a view of the argument");
  }
  for (size_t r = 0; r < results.size() && expected_->are_new; ++r)
    for (const Tensor& argument : arguments_)
      if (sharesMemory(*results[r], argument)) return textOf(r, "memory of its argument", "a new tensor");
  return "";
}

std::string ComparedCall::otherArgument() const {
  for (const ExpectedResults::Written& w : expected_->written) {
    if (w.argument >= arguments_.size()) continue;
    const Tensor& t = arguments_[w.argument];
    if (shows(*t.unsafeGetTensorImpl(), w.value->spec)) continue;
    return detail::str("operator ", node_.name(), " leaves an argument with sizes ", t.sizes(), " and strides ",
                       t.strides(), ", and sizes ", IntArrayRef(w.value->spec.sizes), " and strides ",
                       IntArrayRef(w.value->spec.strides), " were recorded. ",
                       trace_detail::whatHasToAgree(t.device(), "leave the same sizes and strides"));
  }
  return "";
}

}  // namespace shunt::compiled
