#include "tools/opgen/model/dictionary.h"

#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/derive_forms.h"
#include "tools/opgen/model/tensor_form.h"
#include "tools/opgen/model/yaml_util.h"

#include <shunt/core/by_name.h>
#include <shunt/core/error.h>
#include <shunt/core/near_names.h>

#include <algorithm>
#include <set>

namespace opgen {
namespace {

const std::vector<std::string> kEntryKeys = {"func",
                                             "variants",
                                             "out_name",
                                             "out_args",
                                             "elementwise",
                                             "functors",
                                             "reduction",
                                             "accumulators",
                                             "structured_delegate",
                                             "dispatch",
                                             "direct_while",
                                             "inplace_direct_while",
                                             "inplace",
                                             "out",
                                             "device_check",
                                             "manual_cpp_binding",
                                             "python_module",
                                             "python_optional",
                                             "python_number",
                                             "cpp_no_default_args",
                                             "tags"};

shunt::FunctionSchema parseEntrySchema(const YamlFile& file, const YAML::Node& node) {
  try {
    shunt::FunctionSchema schema = shunt::parseSchema(file.text(node, "func"));
    schema.setNamespaceIfNotSet("aten");
    return schema;
  } catch (const shunt::Error& e) {
    fail(file.placeOf(node), e.what());
  }
}

Variants readVariants(const YamlFile& file, const YAML::Node& entry) {
  Variants v;
  if (!entry["variants"]) return v;
  v.function = false;
  for (const std::string& word : file.list(entry["variants"], "variants")) {
    if (word == "function")
      v.function = true;
    else if (word == "method")
      v.method = true;
    else if (word == "inplace")
      v.inplace = true;
    else if (word == "out")
      v.out = true;
    else
      fail(file.placeOf(entry["variants"]), "unknown variant '" + word + "'; known are function, method, inplace, out");
  }
  if (entry["out_name"]) v.out_name = file.text(entry["out_name"], "out_name");
  if (entry["out_args"]) v.out_args = file.list(entry["out_args"], "out_args");
  if (entry["inplace"]) v.inplace_kernel = file.text(entry["inplace"], "inplace");
  if (entry["out"]) v.out_kernel = file.text(entry["out"], "out");
  if (entry["inplace_direct_while"])
    v.inplace_tensor_form = file.text(entry["inplace_direct_while"], "inplace_direct_while");
  const auto needs = [&](const char* key, const char* variant, bool present) {
    if (entry[key] && !present)
      fail(file.placeOf(entry[key]), std::string("'") + key + "' needs the variant " + variant);
  };
  needs("inplace", "inplace", v.inplace);
  needs("inplace_direct_while", "inplace", v.inplace && entry["direct_while"]);
  needs("out", "out", v.out);
  needs("out_name", "out", v.out);
  needs("out_args", "out", v.out);
  return v;
}

void checkKernelName(const SourcePlace& place, const std::string& name) {
  const auto ok = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), ok))
    fail(place, "'" + name + "' is not the name of a function in shunt::native");
}

std::vector<Kernel> readDispatch(const YamlFile& file, const YAML::Node& node) {
  if (!node.IsMap()) fail(file.placeOf(node), "expected kernels by key: {CPU: name_cpu}");
  std::vector<Kernel> out;
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const std::string name = file.text(pair.second, "dispatch");
    checkKernelName(file.placeOf(pair.second), name);
    for (const std::string& key : splitList(file.text(pair.first, "dispatch"))) {
      if (!shunt::parseDispatchKey(key))
        fail(file.placeOf(pair.first),
             "unknown dispatch key '" + key + "'" + shunt::detail::didYouMean(key, shunt::detail::dispatchKeyNames()));
      if (!seen.insert(key).second) fail(file.placeOf(pair.first), "two kernels for the key " + key);
      out.push_back({key, KernelKind::kNative, name});
    }
  }
  return out;
}

/// The field by which an entry's kernels are generated from one struct; null where it has none.
const char* generatedBy(const YAML::Node& entry) {
  return entry["elementwise"] ? "elementwise" : entry["reduction"] ? "reduction" : nullptr;
}

/// What generated code can call: a tensor, and the arguments that reductions have.
void checkReduction(const YamlFile& file, const YAML::Node& entry, const OperatorDef& op) {
  const SourcePlace place = file.placeOf(entry["reduction"]);
  for (const shunt::Argument& a : op.arguments())
    if (a.name != "self" && a.name != "dim" && a.name != "keepdim" && a.name != "dtype")
      fail(place, "'reduction' takes the arguments self, dim, keepdim and dtype; " + op.qualifiedName() + " has '" +
                      a.name + "': write its kernel ('dispatch'), and name what it runs by 'accumulators'");
  if (op.returns().size() != 1) fail(place, "'reduction' returns one Tensor");
}

std::vector<Kernel> readKernels(const YamlFile& file, const YAML::Node& entry, const OperatorDef& op) {
  std::vector<Kernel> kernels;
  const char* field = generatedBy(entry);
  if (entry["elementwise"] && entry["reduction"])
    fail(file.placeOf(entry["reduction"]), "an operator is 'elementwise' or a 'reduction'");
  if (field != nullptr) {
    const std::string name = file.text(entry[field], field);
    checkKernelName(file.placeOf(entry[field]), name);
    if (entry["reduction"]) checkReduction(file, entry, op);
    const KernelKind kind = entry["reduction"] ? KernelKind::kReduction : KernelKind::kElementwise;
    kernels = {{"CPU", kind, name}, {"Meta", kind, name}};
  }
  if (entry["dispatch"]) {
    for (Kernel& k : readDispatch(file, entry["dispatch"])) {
      if (field != nullptr && (k.key == "CPU" || k.key == "Meta"))
        fail(file.placeOf(entry["dispatch"]), "the key " + k.key + " has its kernel by '" + field + "' already");
      kernels.push_back(std::move(k));
    }
  }
  if (kernels.empty())
    kernels = {{"CompositeImplicitAutograd", KernelKind::kNative, op.name() + (op.form == Form::kOut ? "_out" : "")}};
  const bool implicit =
      std::any_of(kernels.begin(), kernels.end(), [](const Kernel& k) { return k.key == "CompositeImplicitAutograd"; });
  if (implicit && kernels.size() > 1)
    fail(op.place, op.qualifiedName() +
                       " has a CompositeImplicitAutograd kernel and others: it can't both have a gradient "
                       "of its own and that of its parts");
  return kernels;
}

/// The forms share their kernels: what `dispatch` names is a pair <name>_meta, <name>_impl.
void readStructured(const YamlFile& file, const YAML::Node& entry, OperatorDef& op) {
  const YAML::Node node = entry["structured_delegate"];
  if (!node) return;
  const auto place = file.placeOf(node);
  if (!entry["dispatch"] || entry["elementwise"] || op.form != Form::kFunctional)
    fail(place, "'structured_delegate' needs a functional operator with 'dispatch' and without 'elementwise'");
  if (entry["out"] || entry["inplace"])
    fail(place, "a structured operator's forms have no kernels of their own: 'out' and 'inplace' can't stand here");
  for (Kernel& k : op.kernels) {
    if (k.key != "CPU" && k.key != "Meta") fail(place, "structured kernels exist for CPU and Meta, not for " + k.key);
    k.kind = KernelKind::kStructured;
  }
  if (op.kernels.size() != 2 || op.kernels[0].name != op.kernels[1].name)
    fail(place, "a structured operator has one kernel for CPU and Meta: {\"CPU, Meta\": name}");
  for (const shunt::Argument& a : op.arguments())
    if (isTensor(a) && !a.type.isPlain(shunt::TypeKind::Tensor))
      fail(place, "a structured operator's tensors are of type Tensor; '" + a.name + "' is not");
  if (op.returns().size() != 1) fail(place, "a structured operator returns one Tensor");
}

/// `structured_delegate` names the out form, as in PyTorch.
void checkDelegate(const YamlFile& file, const YAML::Node& entry, const OperatorDef& out) {
  const YAML::Node node = entry["structured_delegate"];
  const std::string named = node ? file.text(node, "structured_delegate") : "",
                    expected = out.name() + "." + out.overload();
  if (node && named != expected)
    fail(file.placeOf(node), "'structured_delegate' is the out form, " + expected + ", not " + named);
}

/// Functors or accumulators that handwritten kernels run.
std::vector<std::string> readRun(const YamlFile& file, const YAML::Node& entry, const char* field) {
  const YAML::Node names = entry[field];
  if (!names) return {};
  const std::vector<std::string> out = file.list(names, field);
  for (const std::string& name : out) checkKernelName(file.placeOf(names), name);
  if (!entry["dispatch"])
    fail(file.placeOf(names), "'" + std::string(field) + "' are what the kernels of 'dispatch' run");
  return out;
}

OperatorDef readEntry(const YamlFile& file, const YAML::Node& entry) {
  file.checkKeys(entry, kEntryKeys);
  if (!entry["func"]) fail(file.placeOf(entry), "entry without 'func'");
  OperatorDef op(parseEntrySchema(file, entry["func"]));
  op.place = file.placeOf(entry["func"]);
  op.form = op.schema.isOut() ? Form::kOut : op.schema.isInplace() ? Form::kInplace : Form::kFunctional;
  op.cpp_name = structName(op);
  op.kernels = readKernels(file, entry, op);
  op.functors = readRun(file, entry, "functors");
  op.accumulators = readRun(file, entry, "accumulators");
  readStructured(file, entry, op);
  if (const YAML::Node form = entry["direct_while"])
    readTensorForm(op, file.text(form, "direct_while"), file.placeOf(form));
  if (entry["device_check"]) {
    if (file.text(entry["device_check"], "device_check") != "NoCheck")
      fail(file.placeOf(entry["device_check"]), "the only value of 'device_check' is NoCheck");
    op.device_check = false;
  }
  if (const YAML::Node names = entry["python_optional"]) {
    op.python_optional = file.list(names, "python_optional");
    for (const std::string& name : op.python_optional)
      if (const shunt::Argument* a = op.schema.findArgument(name);
          a == nullptr || !a->type.optional || a->default_value)
        fail(file.placeOf(names),
             op.qualifiedName() + " has no argument '" + name + "' that may be None and has no default");
  }
  if (const YAML::Node number = entry["python_number"]) {
    if (file.text(number, "python_number") != "tensor" || !entry["direct_while"])
      fail(file.placeOf(number), "the only value of 'python_number' is tensor, of an entry with direct_while");
    op.number_is_tensor = true;
  }
  if (entry["python_module"]) op.python_module = file.text(entry["python_module"], "python_module");
  if (entry["manual_cpp_binding"])
    op.manual_cpp_binding = file.boolean(entry["manual_cpp_binding"], "manual_cpp_binding");
  if (const YAML::Node names = entry["cpp_no_default_args"]) {
    op.no_cpp_defaults = file.list(names, "cpp_no_default_args");
    for (const std::string& name : op.no_cpp_defaults)
      if (const shunt::Argument* a = op.schema.findArgument(name); a == nullptr || !a->default_value)
        fail(file.placeOf(names), op.qualifiedName() + " has no argument '" + name + "' with a default");
  }
  if (entry["tags"]) op.tags = file.list(entry["tags"], "tags");
  return op;
}

void checkTypes(const OperatorDef& op) {
  try {
    for (const shunt::Argument& a : op.arguments()) (void)argumentType(a);
    (void)returnType(op);
  } catch (const shunt::Error& e) {
    fail(op.place, op.qualifiedName() + ": " + e.what());
  }
}

bool hasSelf(const OperatorDef& op) {
  const shunt::Argument* self = op.schema.findArgument("self");
  return self != nullptr && self->type.isPlain(shunt::TypeKind::Tensor);
}

void checkUnique(const Dictionary& dictionary, const OperatorDef& op) {
  for (const OperatorDef& other : dictionary.operators)
    if (other.cpp_name == op.cpp_name)
      fail(op.place, op.qualifiedName() + " is defined twice; the other is at " + other.place.str());
}

/// An entry that stands alone finds the functional operator it belongs to, as PyTorch groups them: by arguments.
void linkForms(Dictionary& dictionary) {
  for (OperatorDef& op : dictionary.operators) {
    if (op.form == Form::kFunctional || op.functional != nullptr) continue;
    for (const OperatorDef& other : dictionary.operators)
      if (other.form == Form::kFunctional && isFormOf(op, other)) op.functional = &other;
  }
}

void readFile(const YamlFile& file, Dictionary& dictionary) {
  const auto add = [&](OperatorDef op) -> OperatorDef& {
    checkTypes(op);
    checkUnique(dictionary, op);
    return dictionary.operators.emplace_back(std::move(op));
  };
  for (const YAML::Node& entry : file.entries()) {
    OperatorDef parsed = readEntry(file, entry);
    const Variants variants = readVariants(file, entry);
    parsed.function = variants.function;
    parsed.method = variants.method;
    if ((variants.inplace || variants.out) && parsed.form != Form::kFunctional)
      fail(parsed.place, "only a functional operator has derived in-place and out forms");
    if (parsed.method && !hasSelf(parsed))
      fail(parsed.place, parsed.qualifiedName() + " can't be a method: it has no argument 'Tensor self'");
    const OperatorDef& op = add(std::move(parsed));
    if (variants.inplace) add(deriveInplace(op, variants));
    if (variants.out)
      checkDelegate(file, entry, add(deriveOut(op, variants)));
    else if (entry["structured_delegate"])
      fail(op.place, "'structured_delegate' needs the variant out");
  }
}

}  // namespace

Dictionary readDictionary(const std::vector<std::string>& paths) {
  Dictionary dictionary;
  for (const std::string& path : paths) readFile(YamlFile(path), dictionary);
  linkForms(dictionary);
  linkTensorForms(dictionary);
  return dictionary;
}

}  // namespace opgen
