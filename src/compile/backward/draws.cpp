#include "src/compile/backward/draws.h"

#include "src/compile/backward/joint.h"
#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/guards/own_calls.h"
#include "src/compile/steps/grad_step.h"
#include "src/compile/steps/prepared_step.h"
#include "src/dispatch/own_kernels.h"

#include <shunt/core/dispatcher.h>

#include <algorithm>
#include <string_view>

namespace shunt::compiled {
namespace {

/// How an operator that takes no generator draws what another one draws, which takes one.
struct Form {
  std::string_view name;
  const char *other, *overload;
  bool is_like;  // whose first argument gives sizes, strides, dtype and device
};
constexpr Form kForms[] = {{"aten::rand", "aten::rand", "generator", false},
                           {"aten::randn", "aten::randn", "generator", false},
                           {"aten::randint", "aten::randint", "generator", false},
                           {"aten::randint.low", "aten::randint", "low_generator", false},
                           {"aten::randperm", "aten::randperm", "generator", false},
                           {"aten::rand_like", "aten::rand", "generator", true},
                           {"aten::randn_like", "aten::randn", "generator", true},
                           {"aten::randint_like", "aten::randint", "generator", true},
                           {"aten::randint_like.low_dtype", "aten::randint", "low_generator", true}};

/// By which the library's operators draw that don't themselves.
constexpr const char* kParts[][2] = {{"aten::uniform_", ""},
                                     {"aten::normal_", ""},
                                     {"aten::random_", "from"},
                                     {"aten::bernoulli_", "float"},
                                     {"aten::bernoulli_", "Tensor"}};

bool isGenerator(const Argument& a) { return a.type.kind == TypeKind::Generator; }

/// Throws Error where calls come to a program's kernel, which needn't draw from the generator that it is given.
void checkIsOwn(const Operator& op) {
  const detail::CallFrame frame(op);
  const auto isOwn = [&](DispatchKeySet above) { return detail::isOfThisLibrary(entryWith(frame.state(op), above)); };
  if (!isOwn({}) ||
      !std::ranges::all_of(kPassedByQuickCalls, [&](DispatchKey key) { return isOwn(DispatchKeySet(key)); }))
    refuse("the function draws random numbers by a program's kernel");
}

/// What the other form is called with, by its arguments' names.
Graph::Argument argumentFor(const Graph::Node& node, const Argument& wanted, bool is_like) {
  const Graph::Spec& made = node.result()->spec;
  if (is_like && wanted.name == "size") return Graph::Argument(IValue(made.sizes));
  if (is_like && wanted.name == "dtype") return Graph::Argument(IValue(made.dtype));
  if (is_like && wanted.name == "device") return Graph::Argument(IValue(made.device));
  const auto& had = node.op.schema().arguments();
  const auto same = std::ranges::find(had, wanted.name, &Argument::name);
  if (same == had.end()) return Graph::Argument(IValue());
  return node.arguments[static_cast<size_t>(same - had.begin())];
}

void takeGenerator(Graph::Node& node) {
  const auto form = std::ranges::find(kForms, node.name(), &Form::name);
  if (form == std::end(kForms) || (form->is_like && !liesAsNew(node.result()->spec)))
    refuse("the function draws random numbers by an operator that takes no generator, or from one of its own");
  const OperatorHandle other = Dispatcher::singleton().findSchemaOrThrow(form->other, form->overload);
  checkIsOwn(other.op());
  std::vector<Graph::Argument> arguments;
  for (const Argument& wanted : other.schema().arguments())
    arguments.push_back(argumentFor(node, wanted, form->is_like));
  node.op = other;
  node.arguments = std::move(arguments);
}

}  // namespace

Graph::Argument* generatorOf(Graph::Node& node) {
  const auto& wanted = node.op.schema().arguments();
  const auto at = std::ranges::find_if(wanted, isGenerator);
  if (at == wanted.end()) return nullptr;
  Graph::Argument& given = node.arguments[static_cast<size_t>(at - wanted.begin())];
  return given.literal.isNone() ? &given : nullptr;
}

void takeGenerators(Graph& graph) {
  for (const Operator* op : drawnBy(graph)) checkIsOwn(*op);
  for (Graph::Node* node : graph.nodes())
    if (drawsRandomNumbers(node->op) && generatorOf(*node) == nullptr) takeGenerator(*node);
}

std::vector<const Operator*> drawnBy(const Graph& graph) {
  std::vector<const Operator*> out;
  for (const Graph::Node* node : graph.nodes())
    if (drawsRandomNumbers(node->op)) out.push_back(&node->op.op());
  if (out.empty()) return out;
  for (const auto& [name, overload] : kParts)
    out.push_back(&Dispatcher::singleton().findSchemaOrThrow(name, overload).op());
  return out;
}

}  // namespace shunt::compiled
