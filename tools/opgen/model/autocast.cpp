#include "tools/opgen/model/autocast.h"

#include "tools/opgen/model/yaml_util.h"

#include <set>

namespace opgen {

namespace {

constexpr struct {
  const char* key;
  CastPolicy policy;
} kPolicies[] = {{"lower_precision_fp", CastPolicy::kLowerPrecision},
                 {"fp32", CastPolicy::kFloat32},
                 {"promote", CastPolicy::kPromote}};

/// The functional operators that `name` or `name.overload` means.
std::vector<const OperatorDef*> operatorsNamed(const Dictionary& dictionary, const std::string& text) {
  const size_t dot = text.find('.');
  std::vector<const OperatorDef*> out;
  for (const OperatorDef& op : dictionary.operators) {
    if (op.form != Form::kFunctional || op.name() != text.substr(0, dot)) continue;
    if (dot == std::string::npos || op.overload() == text.substr(dot + 1)) out.push_back(&op);
  }
  return out;
}

}  // namespace

std::vector<AutocastRule> readAutocast(const std::string& path, const Dictionary& dictionary) {
  const YamlFile file(path);
  if (!file.root().IsMap()) fail(file.place(), "expected lists of operators by policy (lower_precision_fp: [...])");
  file.checkKeys(file.root(), {kPolicies[0].key, kPolicies[1].key, kPolicies[2].key});
  std::vector<AutocastRule> rules;
  std::set<const OperatorDef*> seen;
  for (const auto& [key, policy] : kPolicies) {
    const YAML::Node list = file.root()[key];
    if (!list) continue;
    for (const std::string& name : file.list(list, key)) {
      const auto ops = operatorsNamed(dictionary, name);
      if (ops.empty()) fail(file.placeOf(list), "the dictionary has no functional operator '" + name + "'");
      for (const OperatorDef* op : ops) {
        if (!op->hasTensorArgument()) fail(file.placeOf(list), op->qualifiedName() + " has no tensors to cast");
        if (!seen.insert(op).second) fail(file.placeOf(list), op->qualifiedName() + " is listed twice");
        rules.push_back({op, policy});
      }
    }
  }
  return rules;
}

}  // namespace opgen
