#include "tools/opgen/model/batching.h"

#include "tools/opgen/model/near.h"
#include "tools/opgen/model/yaml_util.h"

#include <algorithm>
#include <map>

namespace opgen {
namespace {

struct Entry {
  BatchKind kind;
  std::vector<std::string> arguments;
  std::string text;
  SourcePlace place;
};
using Entries = std::map<const OperatorDef*, Entry>;

bool isRandom(const OperatorDef& op) {
  return std::find(op.tags.begin(), op.tags.end(), "nondeterministic_seeded") != op.tags.end();
}

bool isElementwise(const OperatorDef& op) {
  return std::any_of(op.kernels.begin(), op.kernels.end(), [](const Kernel& k) {
    return k.kind == KernelKind::kElementwise || k.kind == KernelKind::kTensorForm;
  });
}

/// Operators that need an entry: those whose rule doesn't follow from what the dictionary says.
bool needsEntry(const OperatorDef& op) {
  return op.form != Form::kOut && op.hasTensorArgument() && !op.isCompositeImplicit() && !isRandom(op) &&
         !isElementwise(op);
}

class Reader {
 public:
  Reader(const std::string& path, const Dictionary& dictionary) : file_(path), dictionary_(dictionary) {
    if (!file_.root().IsMap()) fail(file_.place(), "expected operators by kind of rule (pointwise: [...])");
    file_.checkKeys(file_.root(), {"pointwise", "dims", "reductions", "rules", "unsupported"});
    readPointwise();
    readMap("dims", BatchKind::kDims, true);
    readMap("reductions", BatchKind::kReduction, true);
    readMap("rules", BatchKind::kRule, false);
    readMap("unsupported", BatchKind::kUnsupported, false);
  }

  BatchRules rules() const {
    BatchRules out;
    for (const OperatorDef& op : dictionary_.operators) {
      if (op.form == Form::kOut || op.isCompositeImplicit()) continue;
      if (isRandom(op))
        out.push_back({&op, BatchKind::kRandom});
      else if (op.hasTensorArgument())
        out.push_back(ruleOf(op));
    }
    return out;
  }

 private:
  void readPointwise() {
    const YAML::Node list = file_.root()["pointwise"];
    if (!list) return;
    for (const std::string& name : file_.list(list, "pointwise"))
      add(name, {BatchKind::kPointwise, {}, "", file_.placeOf(list)});
  }

  void readMap(const char* key, BatchKind kind, bool lists) {
    const YAML::Node map = file_.root()[key];
    if (!map) return;
    if (!map.IsMap()) fail(file_.placeOf(map), std::string("'") + key + "' is a map by operator");
    for (const auto& pair : map) {
      Entry entry{kind, {}, "", file_.placeOf(pair.first)};
      if (lists)
        entry.arguments = file_.list(pair.second, key);
      else
        entry.text = file_.text(pair.second, key);
      add(file_.text(pair.first, key), entry);
    }
  }

  void add(const std::string& name, const Entry& entry) {
    const size_t dot = name.find('.');
    const OperatorDef* op = dictionary_.find(name.substr(0, dot), dot == name.npos ? "" : name.substr(dot + 1));
    if (op == nullptr || !needsEntry(*op))
      fail(entry.place, "no operator '" + name + "' needs a rule for vmap" +
                            (op == nullptr ? nearOperators(dictionary_, name) : ""));
    if (!entries_.emplace(op, entry).second) fail(entry.place, op->qualifiedName() + " is listed twice");
  }

  BatchRule ruleOf(const OperatorDef& op) const {
    auto entry = entries_.find(&op);
    const bool shares = entry == entries_.end() && op.form == Form::kInplace && op.functional != nullptr;
    if (shares) entry = entries_.find(op.functional);
    if (entry == entries_.end()) {
      if (needsEntry(op)) fail(op.place, op.qualifiedName() + " has no rule in batching.yaml: vmap can't run it");
      return {&op, BatchKind::kPointwise};
    }
    BatchRule rule{&op, entry->second.kind, {}, entry->second.text, shares ? op.functional : nullptr};
    for (const std::string& text : entry->second.arguments)
      rule.arguments.push_back(argumentOf(op, text, entry->second));
    return rule;
  }

  BatchArgument argumentOf(const OperatorDef& op, const std::string& text, const Entry& entry) const {
    const size_t plus = text.find('+');
    const std::string suffix = plus == std::string::npos ? "" : text.substr(plus + 1);
    const auto position = op.schema.argumentIndexWithName(text.substr(0, plus));
    if (!position)
      fail(entry.place, op.qualifiedName() + " has no argument '" + text.substr(0, plus) + "'" +
                            nearArguments(op.schema, text.substr(0, plus)));
    constexpr std::pair<const char*, char> kRoles[] = {{"", 'd'}, {"1", 'e'}, {"all", 'a'}, {"batch", 's'}};
    for (const auto& [written, role] : kRoles)
      if (suffix == written) return {*position, role};
    fail(entry.place, "'" + text + "': expected an argument's name, with +1, +all or +batch at most");
  }

  YamlFile file_;
  const Dictionary& dictionary_;
  Entries entries_;
};

}  // namespace

BatchRules readBatching(const std::string& path, const Dictionary& dictionary) {
  return Reader(path, dictionary).rules();
}

std::string batchingOf(const BatchRules& rules, const OperatorDef& op) {
  if (op.isCompositeImplicit()) return op.hasTensorArgument() && op.form != Form::kOut ? "composite" : "";
  for (const BatchRule& rule : rules) {
    if (rule.op != &op) continue;
    return rule.kind == BatchKind::kRandom ? "random" : rule.kind == BatchKind::kUnsupported ? "refused" : "rule";
  }
  return op.form == Form::kOut ? "refused" : "";
}

}  // namespace opgen
