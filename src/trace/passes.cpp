// Passes over a graph that need nothing but its nodes: eliminate_dead_code, common_subexpressions.
#include "src/trace/uses.h"
#include "src/trace/writes.h"

#include <shunt/core/dispatcher.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace shunt {
namespace {

/// Operators that draw without taking a generator, in any overload.
constexpr std::string_view kDraw[] = {
    "rand",           "randn",         "randint",         "randperm",    "rand_like", "randn_like",   "randint_like",
    "bernoulli",      "bernoulli_",    "normal",          "normal_",     "uniform",   "uniform_",     "random",
    "random_",        "dropout",       "dropout_",        "multinomial", "poisson",   "exponential_", "geometric_",
    "native_dropout", "alpha_dropout", "feature_dropout", "rrelu"};

bool takesGenerator(const FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(), [](const Argument& a) { return a.type.kind == TypeKind::Generator; });
}

bool isOfLibrary(const Graph::Node& node) {
  const std::string name = node.op.operator_name().name;
  return name.starts_with("aten::") || name == "trace::grad" || name.starts_with("functional::");
}

/// Whether leaving the node out, where its results aren't used, changes nothing.
bool isPure(const Graph::Node& node) {
  return isOfLibrary(node) && !trace_detail::writesAny(node) && !drawsRandomNumbers(node.op);
}

// ---- what makes two nodes the same --------------------------------------------------------------------------------
std::string keyOf(const IValue& v) {
  if (v.isDouble()) {
    const double d = v.toDouble();
    uint64_t bits;
    std::memcpy(&bits, &d, sizeof bits);
    return "double " + std::to_string(bits);  // 0.0 and -0.0 print alike, as do many others
  }
  if (v.tag() == IValue::Tag::DoubleList || v.tag() == IValue::Tag::GenericList) {
    std::string out = "list";
    if (v.tag() == IValue::Tag::DoubleList)
      for (const double d : v.toDoubleVector()) out += " " + keyOf(IValue(d));
    else
      for (const IValue& e : v.toGenericVector()) out += " " + keyOf(e);
    return out;
  }
  return detail::str(v.tagName(), ' ', v);
}

std::string keyOf(const Graph::Node& node) {
  std::string out = node.name();
  for (const Graph::Argument& a : node.arguments) {
    out += a.kind == Graph::Argument::Kind::kList ? " [" : " (";
    if (a.kind == Graph::Argument::Kind::kLiteral) out += keyOf(a.literal);
    for (const Graph::Value* v : a.values) out += v != nullptr ? "%" + std::to_string(v->id) + " " : "None ";
  }
  const Graph::Modes& m = node.modes;
  out += detail::str(" m", m.grad, m.inference, m.cast_cache, m.in_autocast, m.excluded);
  for (const auto& [device, dtype] : m.autocast) out += detail::str(' ', device, dtype);
  return out;
}

/// Whether a result may share memory with an argument. dropout returns its argument where it drops nothing.
bool mayAlias(const Graph::Node& node) {
  return node.op.schema().hasAnyAliasInfo() || drawsRandomNumbers(node.op) || trace_detail::sharesUnsaid(node) ||
         !node.name().starts_with("aten::");
}

bool anyMayBeWritten(const trace_detail::Uses& uses, const Graph::Node& made);

/// Through any chain of views, or as an output, by the caller.
bool mayBeWritten(const trace_detail::Uses& uses, const Graph::Value* value) {
  if (uses.isOutput(value)) return true;
  return std::ranges::any_of(uses.of(value), [&](const Graph::Node* user) {
    bool is_written = false;
    trace_detail::forWritten(*user, [&](const Graph::Value* v) { is_written |= v == value; });
    return is_written || (mayAlias(*user) && anyMayBeWritten(uses, *user));
  });
}

bool anyMayBeWritten(const trace_detail::Uses& uses, const Graph::Node& made) {
  bool out = false;
  trace_detail::forResults(made, [&](const Graph::Value* v) { out = out || mayBeWritten(uses, v); });
  return out;
}

}  // namespace

bool drawsRandomNumbers(const OperatorHandle& op) {
  const OperatorName name = op.operator_name();
  return takesGenerator(op.schema()) || std::ranges::find(kDraw, name.baseName()) != std::end(kDraw);
}

int64_t Graph::eliminate_dead_code() {
  std::unordered_set<const Value*> used(outputs_.begin(), outputs_.end());
  std::unordered_set<const Node*> dead;
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    bool is_used = false;
    trace_detail::forResults(**node, [&](const Value* v) { is_used |= used.contains(v); });
    if (isPure(**node) && !is_used)
      dead.insert(node->get());
    else
      trace_detail::forArguments(**node, [&](const Value* v) { used.insert(v); });
  }
  erase(dead);
  dropUnusedConstants();
  return static_cast<int64_t>(dead.size());
}

void Graph::dropUnusedConstants() {
  std::unordered_set<const Value*> used(outputs_.begin(), outputs_.end());
  for (const auto& node : nodes_) trace_detail::forArguments(*node, [&](const Value* v) { used.insert(v); });
  // One that others name as the first in their storage stays.
  for (const Value* v : constants_)
    if (used.contains(v))
      if (const Value* first = value(v->storage)) used.insert(first);
  std::erase_if(constants_, [&](const Value* v) { return !used.contains(v); });
  std::erase_if(values_, [&](const auto& v) { return v->kind == Value::Kind::kConstant && !used.contains(v.get()); });
}

int64_t Graph::common_subexpressions() {
  std::unordered_map<std::string, Node*> known;
  std::unordered_set<const Node*> gone;
  trace_detail::Uses uses(*this);
  for (const auto& node : nodes_) {
    if (trace_detail::writesAny(*node) || !isOfLibrary(*node)) {
      known.clear();  // what was computed before may be something else now
      continue;
    }
    if (!isPure(*node) || mayAlias(*node)) continue;
    const auto [first, is_new] = known.try_emplace(keyOf(*node), node.get());
    // Two outputs are two tensors; so are two of which one is written later.
    if (is_new || anyMayBeWritten(uses, *node) || anyMayBeWritten(uses, *first->second)) continue;
    for (size_t i = 0; i < node->outputs.size(); ++i)
      for (size_t j = 0; j < node->outputs[i].values.size(); ++j)
        if (const Value* v = node->outputs[i].values[j]; v != nullptr)
          uses.replace(v, first->second->outputs[i].values[j]);
    gone.insert(node.get());
  }
  erase(gone);
  return static_cast<int64_t>(gone.size());
}

}  // namespace shunt
