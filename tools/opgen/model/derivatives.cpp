#include "tools/opgen/model/derivatives.h"

#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/near.h"
#include "tools/opgen/model/yaml_util.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace opgen {

using shunt::Argument;

namespace {

/// nll_loss_forward -> NllLossBackward, as PyTorch names its nodes: a letter is a capital after anything but a letter.
std::string nodePrefix(const std::string& op) {
  std::string camel;
  bool after_letter = false;
  for (char c : op) {
    const auto u = static_cast<unsigned char>(c);
    if (c != '_') camel += static_cast<char>(after_letter ? std::tolower(u) : std::toupper(u));
    after_letter = std::isalpha(u) != 0;
  }
  camel += "Backward";
  const std::string doubled = "ForwardBackward";
  const size_t at = camel.find(doubled);
  return at == std::string::npos ? camel : camel.replace(at, doubled.size(), "Backward");
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

class Reader {
 public:
  Reader(const std::string& path, Dictionary& dictionary, std::map<std::string, int>& numbers)
      : file_(path), dictionary_(dictionary), numbers_(numbers) {}

  void read(Derivatives& out) {
    for (const YAML::Node& entry : file_.entries()) {
      out.push_back(readEntry(entry));
      OperatorDef* op = dictionary_.find(out.back()->op->name(), out.back()->op->overload());
      if (op->derivative != nullptr)
        fail(out.back()->place,
             op->qualifiedName() + " has two entries; the other is at " + op->derivative->place.str());
      op->derivative = out.back().get();
    }
  }

 private:
  std::unique_ptr<Derivative> readEntry(const YAML::Node& entry) {
    auto d = std::make_unique<Derivative>();
    if (!entry["name"]) fail(file_.placeOf(entry), "entry without 'name'");
    d->place = file_.placeOf(entry["name"]);
    d->op = findOperator(entry["name"]);
    checkUniqueKeys(entry);
    readOutputs(entry, *d);
    for (const auto& pair : entry) {
      const std::string key = file_.text(pair.first, "key");
      if (key == "name" || key == "node" || key == "output_differentiability" || key == "non_differentiable") continue;
      readFormula(key, pair.second, *d);
    }
    for (size_t i = 0; i < d->formulas.size(); ++i)
      d->formulas[i].expression = rewriteFormula(d->formulas[i].expression, i, *d);
    finishInputs(*d);
    nameNode(entry, *d);
    return d;
  }

  void checkUniqueKeys(const YAML::Node& entry) const {
    std::set<std::string> seen;
    for (const auto& pair : entry)
      if (const std::string key = file_.text(pair.first, "key"); !seen.insert(key).second)
        fail(file_.placeOf(pair.first), "the key '" + key + "' stands twice in one entry");
  }

  const OperatorDef* findOperator(const YAML::Node& node) {
    const std::string text = file_.text(node, "name");
    try {
      shunt::FunctionSchema schema = shunt::parseSchema(text);
      schema.setNamespaceIfNotSet("aten");
      const OperatorDef* op = dictionary_.find(std::string(schema.operator_name().baseName()), schema.overload_name());
      if (op == nullptr) fail(file_.placeOf(node), schema.operator_name().str() + " is not in the dictionary");
      if (!(op->schema == schema))
        fail(file_.placeOf(node), "the schema differs from the one in the dictionary:\n  here:  " + schema.str() +
                                      "\n  there: " + op->schema.str());
      if (op->form == Form::kOut) fail(file_.placeOf(node), "out= forms have no derivative");
      if (op->isCompositeImplicit())
        fail(file_.placeOf(node),
             op->qualifiedName() + " is CompositeImplicitAutograd: what it calls has the derivatives");
      return op;
    } catch (const shunt::Error& e) {
      if (std::string(e.what()).find(": error: ") != std::string::npos) throw;
      fail(file_.placeOf(node), e.what());
    }
  }

  void readOutputs(const YAML::Node& entry, Derivative& d) {
    d.output_differentiability.assign(d.op->returns().size(), true);
    if (const YAML::Node node = entry["output_differentiability"]) {
      const std::vector<std::string> values = file_.list(node, "output_differentiability");
      if (values.size() != d.op->returns().size())
        fail(file_.placeOf(node), "one value per return: " + std::to_string(d.op->returns().size()));
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] != "True" && values[i] != "False")
          fail(file_.placeOf(node), "expected True or False, got " + values[i]);
        d.output_differentiability[i] = values[i] == "True";
      }
    }
    if (const YAML::Node node = entry["non_differentiable"])
      for (const std::string& name : file_.list(node, "non_differentiable")) {
        checkInput(file_.placeOf(node), name, d);
        d.non_differentiable.push_back(name);
      }
  }

  void checkInput(const SourcePlace& place, const std::string& name, const Derivative& d) const {
    const Argument* a = d.op->schema.findArgument(name);
    if (a == nullptr)
      fail(place, d.op->qualifiedName() + " has no argument '" + name + "'" + nearArguments(d.op->schema, name));
    if (!isTensor(*a)) fail(place, "'" + name + "' is no tensor");
    for (const GradientFormula& f : d.formulas)
      if (contains(f.inputs, name)) fail(place, "'" + name + "' has two formulas");
    if (contains(d.non_differentiable, name)) fail(place, "'" + name + "' is marked non_differentiable already");
  }

  void readFormula(const std::string& key, const YAML::Node& node, Derivative& d) {
    GradientFormula f;
    f.place = file_.placeOf(node);
    f.inputs = splitList(key);
    f.expression = file_.text(node, key.c_str());
    for (const std::string& input : f.inputs) checkInput(f.place, input, d);
    if (f.expression == "non_differentiable") {
      d.non_differentiable.insert(d.non_differentiable.end(), f.inputs.begin(), f.inputs.end());
    } else if (f.expression == "not_implemented") {
      d.not_implemented = true;
    } else {
      d.formulas.push_back(std::move(f));
    }
    if (d.not_implemented && !(d.formulas.empty() && d.non_differentiable.empty()))
      fail(f.place, "not_implemented stands for all arguments: " + d.op->qualifiedName() + " has other formulas too");
  }

  void finishInputs(Derivative& d) {
    for (const Argument& a : d.op->arguments())
      for (const GradientFormula& f : d.formulas)
        if (contains(f.inputs, a.name)) d.inputs.push_back(a.name);
    if (d.formulas.empty()) return;
    const auto& outputs = d.output_differentiability;
    if (std::none_of(outputs.begin(), outputs.end(), [](bool b) { return b; }))
      fail(d.place, d.op->qualifiedName() + " has formulas, but no differentiable output");
  }

  void nameNode(const YAML::Node& entry, Derivative& d) {
    if (const YAML::Node node = entry["node"]) {
      d.node_name = file_.text(node, "node");
      if (d.formulas.empty()) fail(file_.placeOf(node), d.op->qualifiedName() + " has no formula, so no node");
    }
    if (d.formulas.empty() || !d.node_name.empty()) return;
    const std::string prefix =
        nodePrefix(d.op->form == Form::kInplace ? d.op->name().substr(0, d.op->name().size() - 1) : d.op->name());
    d.node_name = prefix + std::to_string(numbers_[prefix]++);
  }

  YamlFile file_;
  Dictionary& dictionary_;
  std::map<std::string, int>& numbers_;
};

/// Whether leaving the operator out of the derivatives would lose gradients.
bool needsEntry(const OperatorDef& op) {
  return op.form != Form::kOut && !op.isCompositeImplicit() && op.hasTensorArgument() && op.returnsTensors() &&
         !op.hasKernelFor("Autograd");
}

void checkComplete(const Dictionary& dictionary) {
  std::string missing;
  const OperatorDef* first = nullptr;
  for (const OperatorDef& op : dictionary.operators) {
    if (!needsEntry(op) || op.derivative != nullptr) continue;
    if (first == nullptr) first = &op;
    missing += "\n  " + op.place.str() + ": " + op.qualifiedName();
  }
  if (first == nullptr) return;
  fail(first->place,
       "these operators have no entry among the derivatives; give each a formula, or output_differentiability: "
       "[False], or not_implemented, "
       "or make it CompositeImplicitAutograd:" +
           missing);
}

}  // namespace

Derivatives readDerivatives(const std::vector<std::string>& paths, Dictionary& dictionary) {
  Derivatives all;
  std::map<std::string, int> numbers;  // of nodes, by the operator's name
  for (const std::string& path : paths) Reader(path, dictionary, numbers).read(all);
  for (OperatorDef& op : dictionary.operators)
    if (op.form != Form::kFunctional && op.derivative == nullptr && op.functional != nullptr)
      op.derivative = op.functional->derivative;
  checkComplete(dictionary);
  return all;
}

}  // namespace opgen
