#include "src/compile/host/operator_call.h"

#include "src/dispatch/default_value.h"
#include "src/dispatch/unknown_operator.h"
#include "src/trace/interpreter.h"
#include "src/trace/modes.h"
#include "src/trace/values_of.h"
#include "src/transforms/fake/fake_impl.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/core/tls.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

using Kind = Graph::Argument::Kind;

OperatorHandle operatorOf(std::string_view name) {
  const OperatorName full = parseName(name);
  const OperatorHandle op = Dispatcher::singleton().findSchemaOrThrow(full.name.c_str(), full.overload_name.c_str());
  for (const std::string_view own : {"trace::", "functional::", "shunt_host::"})
    SHUNT_CHECK(!op.op().name().starts_with(own), "HostPlanBuilder::call: ", name,
                " stands in graphs that Shunt records, and isn't for other programs");
  return op;
}

/// The same operator for a number: "add.Scalar" of "add.Tensor". Loops hold a number; a tensor of one element, of
/// another dtype than what is computed, is none of a loop's operands. Null where the arguments are others.
std::optional<OperatorHandle> forNumbers(const Graph::Node& node) {
  static constexpr std::string_view kTensor = "Tensor", kScalar = "Scalar";
  OperatorName name = node.op.operator_name();
  const size_t at = name.overload_name.find(kTensor);
  if (at == std::string::npos) return std::nullopt;
  name.overload_name.replace(at, kTensor.size(), kScalar);
  const std::optional<OperatorHandle> other = Dispatcher::singleton().findSchema(name);
  if (!other) return std::nullopt;
  const auto &tensors = node.op.schema().arguments(), &numbers = other->schema().arguments();
  if (tensors.size() != numbers.size()) return std::nullopt;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool fits = isNumberForTensor(node, i) ? numbers[i].type.kind == TypeKind::Scalar && !numbers[i].type.list
                                                 : numbers[i].type == tensors[i].type;
    if (!fits || tensors[i].name != numbers[i].name) return std::nullopt;
  }
  return other;
}

void checkKind(const Graph::Node& node, const Argument& wanted, const Graph::Argument& given) {
  const Type& type = wanted.type;
  const bool is_tensor = type.kind == TypeKind::Tensor;
  const auto refuse = [&](const char* got) {
    SHUNT_CHECK(false, "HostPlanBuilder::call: ", node.name(), ": argument '", wanted.name, "': expected ", type,
                ", got ", got);
  };
  if (given.kind == Kind::kValue && (!is_tensor || type.list)) refuse("a value");
  if (given.kind == Kind::kValue && given.values[0] == nullptr && !type.optional) refuse("None");
  if (given.kind != Kind::kList) return;
  if (!is_tensor || !type.list) refuse("a list of values");
  if (!type.element_optional && std::ranges::find(given.values, nullptr) != given.values.end())
    refuse("a list with None");
}

void addDefaults(Graph::Node& node, std::vector<bool>& is_given) {
  const auto& wanted = node.op.schema().arguments();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (is_given[i]) continue;
    SHUNT_CHECK(wanted[i].default_value || wanted[i].type.optional, "HostPlanBuilder::call: ", node.name(),
                ": argument '", wanted[i].name, "' is missing");
    node.arguments[i] =
        wanted[i].default_value ? Graph::Argument(defaultValueOf(wanted[i])) : Graph::Argument(IValue());
  }
}

/// The arguments' sizes and strides, which a plan relies on.
class Shapes {
 public:
  Shapes(const Graph::Node& node, const std::vector<Tensor>& fakes) {
    trace_detail::forArguments(node, [&](const Graph::Value* v) {
      const Tensor& t = fakes[static_cast<size_t>(v->id)];
      before_.emplace_back(t, specOf(t));
    });
  }
  bool restore() const {
    bool any = false;
    for (const auto& [t, spec] : before_) {
      const Graph::Spec now = specOf(t);
      if (now.dtype == spec.dtype && now.sizes == spec.sizes && now.strides == spec.strides &&
          now.offset == spec.offset)
        continue;
      t.unsafeGetTensorImpl()->set_sizes_and_strides(spec.sizes, spec.strides, spec.offset);
      any = true;
    }
    return any;
  }

 private:
  std::vector<std::pair<Tensor, Graph::Spec>> before_;
};

}  // namespace

bool isNumberForTensor(const Graph::Node& node, size_t argument) {
  const Type& type = node.op.schema().arguments()[argument].type;
  const Graph::Argument& a = node.arguments[argument];
  return type.kind == TypeKind::Tensor && !type.list && a.kind == Kind::kLiteral && a.literal.isScalar();
}

Tensor tensorOfNumber(const IValue& number) {
  trace_detail::ModesScope modes;
  modes.set(hostModes());
  const Tensor out = scalar_to_tensor(number.toScalar());
  out.unsafeGetTensorImpl()->set_wrapped_number(true);
  return out;
}

Graph::Modes hostModes() {
  Graph::Modes modes;
  modes.grad = false;
  return modes;
}

Graph::Node nodeOf(std::string_view name, std::vector<Graph::Argument> arguments, NamedArguments named) {
  Graph::Node node(operatorOf(name));
  node.modes = hostModes();
  const auto& wanted = node.op.schema().arguments();
  SHUNT_CHECK(arguments.size() <= wanted.size(), "HostPlanBuilder::call: ", node.name(), " has ", wanted.size(),
              " arguments, got ", arguments.size());
  std::vector<bool> is_given(wanted.size());
  std::fill_n(is_given.begin(), arguments.size(), true);
  node.arguments = std::move(arguments);
  node.arguments.resize(wanted.size());
  for (auto& [key, value] : named) {
    const auto found = std::ranges::find(wanted, key, &Argument::name);
    SHUNT_CHECK(found != wanted.end(), "HostPlanBuilder::call: ", node.name(), " has no argument '", key, "'",
                nearArguments(node.op.schema(), key));
    const auto i = static_cast<size_t>(found - wanted.begin());
    SHUNT_CHECK(!is_given[i], "HostPlanBuilder::call: ", node.name(), ": argument '", key, "' is given twice");
    is_given[i] = true;
    node.arguments[i] = std::move(value);
  }
  addDefaults(node, is_given);
  bool has_number = false;
  for (size_t i = 0; i < node.arguments.size(); ++i) has_number |= isNumberForTensor(node, i);
  if (has_number)
    if (const auto other = forNumbers(node)) node.op = *other;
  for (size_t i = 0; i < wanted.size(); ++i) {
    // No values are as good a list of tensors as of anything else.
    Graph::Argument& a = node.arguments[i];
    const Type& type = node.op.schema().arguments()[i].type;
    if (a.kind == Kind::kList && a.values.empty() && type.list && type.kind != TypeKind::Tensor)
      a = Graph::Argument(IValue(std::vector<int64_t>()));
    checkKind(node, node.op.schema().arguments()[i], a);
  }
  return node;
}

FakeResults callOnFakes(const Graph::Node& node, const std::vector<Tensor>& fakes) {
  Stack stack = trace_detail::stackOf(node, fakes);
  const Shapes shapes(node, fakes);
  {
    trace_detail::ModesScope modes;
    modes.set(node.modes);
    const ExcludeDispatchKeyGuard below(fake::kModesAndWrappers);
    const IncludeDispatchKeyGuard fake(DispatchKey::Fake);  // factories' results, too
    try {
      node.op.callBoxed(stack);
    } catch (...) {
      shapes.restore();
      throw;
    }
  }
  SHUNT_CHECK(!shapes.restore(), "HostPlanBuilder::call: ", node.name(),
              " changes sizes or strides of its argument in place, which a host plan can't; make a new tensor or view");
  FakeResults out;
  for (const IValue& v : stack) {
    SHUNT_CHECK(v.isNone() || v.isTensor() || v.isTensorList(), "HostPlanBuilder::call: ", node.name(), " returns ",
                v.tagName(), ", and the values of a plan are tensors");
    std::vector<Tensor>& tensors = out.emplace_back(v.isTensorList(), std::vector<Tensor>()).second;
    if (v.isTensorList())
      tensors = v.toTensorVector();
    else
      tensors.push_back(v.isTensor() ? v.toTensor() : Tensor());
  }
  return out;
}

}  // namespace shunt::compiled
