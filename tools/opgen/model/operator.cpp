#include "tools/opgen/model/operator.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <set>

namespace opgen {

using shunt::Argument;
using shunt::TypeKind;

void fail(const SourcePlace& place, const std::string& message) {
  std::string text = place.file;
  if (place.line > 0) text += ":" + std::to_string(place.line);
  throw shunt::Error(text + ": error: " + message);
}

bool isTensor(const Argument& a) { return a.type.kind == TypeKind::Tensor; }
bool isTensorList(const Argument& a) { return isTensor(a) && a.type.list; }

bool OperatorDef::hasKernelFor(const std::string& key) const {
  return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.key == key; });
}

bool OperatorDef::isCompositeImplicit() const { return hasKernelFor("CompositeImplicitAutograd"); }

bool OperatorDef::hasTensorForm() const {
  return std::any_of(kernels.begin(), kernels.end(), [](const Kernel& k) { return k.kind == KernelKind::kTensorForm; });
}

bool OperatorDef::isView() const {
  if (form != Form::kFunctional || isCompositeImplicit()) return false;
  return std::any_of(returns().begin(), returns().end(),
                     [](const Argument& r) { return isTensor(r) && r.hasAlias() && !r.is_write(); });
}

const Argument& OperatorDef::viewBase() const {
  for (const Argument& a : arguments())
    if (isTensor(a) && a.hasAlias()) return a;
  fail(place, qualifiedName() + " returns a view, but no argument has an alias annotation");
}

bool OperatorDef::hasTensorOptions(size_t* first) const {
  static constexpr const char* kNames[] = {"dtype", "layout", "device", "pin_memory"};
  const auto& args = arguments();
  for (size_t i = 0; i + 4 <= args.size(); ++i) {
    bool all = true;
    for (size_t k = 0; k < 4; ++k) all = all && args[i + k].name == kNames[k] && args[i + k].type.optional;
    if (!all) continue;
    if (first != nullptr) *first = i;
    return true;
  }
  return false;
}

bool OperatorDef::hasTensorArgument() const { return std::any_of(arguments().begin(), arguments().end(), isTensor); }
bool OperatorDef::returnsTensors() const { return std::any_of(returns().begin(), returns().end(), isTensor); }

OperatorDef* Dictionary::find(const std::string& name, const std::string& overload) {
  for (OperatorDef& op : operators)
    if (op.name() == name && op.overload() == overload) return &op;
  return nullptr;
}

namespace {

/// The names of kernels of that kind, and of those that handwritten kernels run.
std::vector<std::string> namesOf(const Dictionary& dictionary, KernelKind kind,
                                 std::vector<std::string> OperatorDef::* listed) {
  std::set<std::string> names;
  for (const OperatorDef& op : dictionary.operators) {
    names.insert((op.*listed).begin(), (op.*listed).end());
    for (const Kernel& kernel : op.kernels)
      if (kernel.kind == kind) names.insert(kernel.name);
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<std::string> functorsOf(const Dictionary& dictionary) {
  return namesOf(dictionary, KernelKind::kElementwise, &OperatorDef::functors);
}
std::vector<std::string> accumulatorsOf(const Dictionary& dictionary) {
  return namesOf(dictionary, KernelKind::kReduction, &OperatorDef::accumulators);
}

}  // namespace opgen
