// Emits docs/operators.md.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace opgen {

namespace {

constexpr const char* kHead = R"(# Operators

Every operator of the dictionary, by name. `opgen --docs docs/operators.md --yaml-dir kernels/operators` writes this
file, and a test compares it.

- *Forms*: in-place and out= forms that share the entry; `method` if the operator is also a method of Tensor.
- *Kernels*: an elementwise functor (CPU and Meta), kernels in `shunt::native` by key, or `composite`. A composite is
  made of other operators, whose gradients it has. `else by` names an operator that takes the number as a tensor. It is
  called if it has another kernel than the built-in one ([precedence.md](precedence.md)).
- *Gradient*: the node that backward runs; `none` if results have no gradient, `backward throws` if nobody has written
  it.
- *vmap*: `rule` if one call serves the batch, `composite` if the parts do, `random` by the randomness that vmap was
  given, `refused` with an error. Operators that are not in this table are called once for each sample
  ([vmap.md](vmap.md)).

| operator | forms | kernels | gradient | autocast | vmap |
|---|---|---|---|---|---|
)";

std::string kernelsOf(const OperatorDef& op) {
  std::map<std::string, std::vector<std::string>> keys_by_kernel;
  std::vector<std::string> order;
  for (const Kernel& k : op.kernels) {
    if (k.key == "CompositeImplicitAutograd") return "composite";
    const std::string text = k.kind == KernelKind::kTensorForm
                                 ? "else by `" + op.tensor_form.op->qualifiedName().substr(6) + "`"
                             : k.kind == KernelKind::kElementwise ? "functor `" + k.name + "`"
                             : k.kind == KernelKind::kCopy        ? "copy of the functional form"
                             : k.kind == KernelKind::kStructured  ? "structured `" + k.name + "`"
                                                                  : "`" + k.name + "`";
    if (keys_by_kernel[text].empty()) order.push_back(text);
    if (k.kind == KernelKind::kNative)
      keys_by_kernel[text].push_back(k.key);
    else
      keys_by_kernel[text] = {""};
  }
  std::vector<std::string> parts;
  for (const std::string& text : order) {
    const std::string keys = join(keys_by_kernel[text], ", ");
    parts.push_back(keys.empty() ? text : keys + ": " + text);
  }
  return join(parts, "; ");
}

std::string gradientOf(const OperatorDef& op) {
  if (op.isCompositeImplicit()) return "by parts";
  if (op.derivative != nullptr && op.derivative->not_implemented) return "backward throws";
  if (op.derivative == nullptr || op.derivative->nothingDifferentiable()) return "none";
  return op.derivative->node_name;
}

/// In-place and out= forms that have no row of their own.
std::vector<std::string> formsOf(const Dictionary& dictionary, const OperatorDef& op) {
  std::vector<std::string> forms;
  if (op.method) forms.push_back("method");
  for (const OperatorDef& other : dictionary.operators)
    if (other.functional == &op && other.derived) forms.push_back("`" + other.qualifiedName().substr(6) + "`");
  return forms;
}

const char* policyOf(const std::vector<AutocastRule>& rules, const OperatorDef& op) {
  static constexpr const char* kNames[] = {"lower precision", "float32", "widest type"};
  for (const AutocastRule& r : rules)
    if (r.op == &op) return kNames[static_cast<int>(r.policy)];
  return "";
}

}  // namespace

std::string operatorTable(const Dictionary& dictionary, const std::vector<AutocastRule>& rules,
                          const BatchRules& batching) {
  std::vector<const OperatorDef*> rows;
  for (const OperatorDef& op : dictionary.operators)
    if (!op.derived) rows.push_back(&op);
  std::sort(rows.begin(), rows.end(), [](const OperatorDef* a, const OperatorDef* b) {
    return a->schema.operator_name() < b->schema.operator_name();
  });
  std::string text = kHead;
  for (const OperatorDef* op : rows)
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", op->schema.str().substr(6),
                        join(formsOf(dictionary, *op), ", "), kernelsOf(*op), gradientOf(*op), policyOf(rules, *op),
                        batchingOf(batching, *op));
  return text;
}

}  // namespace opgen
