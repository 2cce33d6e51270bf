#include "src/trace/recorded_results.h"

#include "src/base/errors_heard.h"
#include "src/dispatch/own_kernels.h"
#include "src/trace/writes.h"

#include <shunt/core/dispatch_key_set.h>

#include <algorithm>
#include <set>

namespace shunt::trace_detail {
namespace {

using History = Compared::History;

bool isOrdinary(const Tensor& t) {
  constexpr DispatchKeySet kOfAll = (kAutogradAndViewKeys | kAutocastKeys).functionalities();
  return (t.key_set() - kOfAll).functionalities() == DispatchKeySet::of(Functionality::Dense);
}

bool isElsewhere(const Device& a, const Device& b) {
  return a.type() != b.type() || (a.has_index() && b.has_index() && a.index() != b.index());
}

bool hasOtherHistory(const Tensor& t, const Graph::Spec& spec, History compared) {
  return compared != History::kNo && t.requires_grad() != spec.requires_grad &&
         (compared == History::kSame || t.requires_grad());
}

/// `v`: null of what was undefined.
bool isAsRecorded(const Tensor& t, const Graph::Value* v, const Compared& compared) {
  if (v == nullptr || !t.defined()) return v == nullptr && !t.defined();
  const Graph::Spec& spec = v->spec;
  if (t.dtype() != spec.dtype || !t.sizes().equals(spec.sizes) || isElsewhere(t.device(), spec.device)) return false;
  if (!isOrdinary(t)) return true;
  return (!compared.strides || t.strides().equals(spec.strides)) &&
         (!compared.offset || t.storage_offset() == spec.offset) && !hasOtherHistory(t, spec, compared.history);
}

struct Shown {
  bool device = false, offset = false, history = false;
};

std::string describe(const Graph::Spec& spec, const Shown& shown) {
  std::string text =
      detail::str(dtypeName(spec.dtype), IntArrayRef(spec.sizes), " with strides ", IntArrayRef(spec.strides));
  if (shown.offset) text += detail::str(" at offset ", spec.offset);
  if (shown.device) text += detail::str(" on ", spec.device);
  if (shown.history) text += spec.requires_grad ? " that requires grad" : " that requires no grad";
  return text;
}

std::string textOfOther(const Graph::Node& node, const std::string& place, const std::string& got,
                        const std::string& recorded, const Device& on) {
  return detail::str("operator ", node.name(), " gives ", got, place, ", and ", recorded, " was recorded. ",
                     whatHasToAgree(on, "give the same dtypes, sizes and strides"));
}

std::string textOfOther(const Graph::Node& node, const std::string& place, const Tensor& t, const Graph::Value* v,
                        const Compared& compared) {
  const char* const kNone = "an undefined tensor";
  const Device on = t.defined() ? t.device() : v->spec.device;
  if (v == nullptr) return textOfOther(node, place, describe(specOf(t), {}), kNone, on);
  if (!t.defined()) return textOfOther(node, place, kNone, describe(v->spec, {}), on);
  const Shown shown{isElsewhere(t.device(), v->spec.device), compared.offset,
                    hasOtherHistory(t, v->spec, compared.history)};
  return textOfOther(node, place, describe(specOf(t), shown), describe(v->spec, shown), on);
}

Device deviceOf(const Graph::Node& node) {
  Device on = kCPU;
  forArguments(node, [&](const Graph::Value* v) { on = v->spec.device; });
  return on;
}

}  // namespace

void throwOtherResults(const std::string& what, bool may_run_again) {
  const detail::ErrorsHeard aside;
  throw OtherResults(what, may_run_again);
}

std::string whatHasToAgree(const Device& on, const char* what) {
  return detail::str("Its kernel for ", toString(backendOf(on.type())), " and its Meta kernel have to ", what);
}

std::string otherResult(const Graph::Node& node, const Stack& returns, const Compared& compared) {
  if (returns.size() != node.outputs.size()) return "";
  static const Tensor kUndefined;
  for (size_t i = 0; i < returns.size(); ++i) {
    const Graph::Output& out = node.outputs[i];
    const auto place = [&] { return returns.size() > 1 ? detail::str(" as result ", i) : ""; };
    if (!out.is_list) {
      const Tensor& t = returns[i].isTensor() ? returns[i].toTensor() : kUndefined;
      if (!isAsRecorded(t, out.values[0], compared)) [[unlikely]]
        return textOfOther(node, place(), t, out.values[0], compared);
      continue;
    }
    if (!returns[i].isTensorList()) continue;  // of optional ones, which no operator returns
    const std::vector<Tensor>& list = returns[i].toTensorVector();
    const auto textOf = [](size_t n) { return detail::str("a list of ", n, n == 1 ? " tensor" : " tensors"); };
    if (list.size() != out.values.size()) [[unlikely]]
      return textOfOther(node, place(), textOf(list.size()), textOf(out.values.size()), deviceOf(node));
    for (size_t j = 0; j < list.size(); ++j)
      if (!isAsRecorded(list[j], out.values[j], compared)) [[unlikely]]
        return textOfOther(node,
                           detail::str(" as element ", j, " of", place().empty() ? " its result" : place().substr(3)),
                           list[j], out.values[j], compared);
  }
  return "";
}

void compareResults(const Graph& graph, const Graph::Node& node, const Stack& returns, Compared compared, bool strict,
                    const char* before, const char* after) {
  std::string other = otherResult(node, returns, compared);
  if (other.empty() || !mayGiveOtherResults(node)) [[likely]]
    return;
  if (!strict && !reliesOnStrides(graph)) {
    compared.strides = false;
    other = otherResult(node, returns, compared);
    if (other.empty()) return;
  }
  bool has_effects = false;
  for (const Graph::Node* n : graph.nodes()) {
    has_effects = has_effects || writesAny(*n) || drawsRandomNumbers(n->op);
    if (n == &node) break;
  }
  throwOtherResults(before + other + after, !has_effects);
}

bool hasPlaces(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Graph::Node* node) {
    return node->op.op().name().find("as_strided") != std::string_view::npos;
  });
}

bool reliesOnStrides(const Graph& graph) {
  return hasPlaces(graph) || std::ranges::any_of(graph.nodes(), [](const Graph::Node* node) {
           return node->op.op().name() == "aten::_reshape_alias";
         });
}

bool hasProgramKernel(const Graph::Node& node) {
  const Operator& op = node.op.op();
  {
    const detail::CallFrame frame(op);
    const OpState& state = frame.state(op);
    const auto isAt = [&](DispatchKey key) { return detail::isOfProgram(state.lookup(DispatchKeySet(key))); };
    if (isAt(DispatchKey::Meta) || isAt(DispatchKey::Fake)) return true;
  }
  std::set<BackendComponent> backends;
  const auto note = [&](const Graph::Value* v) { backends.insert(backendOf(v->spec.device.type())); };
  forArguments(node, note);
  forResults(node, note);
  if (backends.empty()) backends.insert(BackendComponent::CPU);
  return std::ranges::any_of(backends, [&](BackendComponent b) { return detail::mayRunProgramKernel(op, b); });
}

bool mayGiveOtherResults(const Graph::Node& node) {
  return !node.op.op().name().starts_with("trace::") && hasProgramKernel(node);
}

}  // namespace shunt::trace_detail
