// Emits what the Python package's extension is made of (python/src/call/entry.h): the table of names and overloads, the
// functions and methods with one entry point a name, and the instantiations of the calls, one for each C++ signature.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/emitters/shard_counts.h"
#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace opgen {

using shunt::Argument;

namespace {

constexpr const char* kTableHead = R"(// The names that Python calls, and their overloads.
#include "python/src/call/entry.h"
#include "python/src/call/invoke.h"

namespace shunt::python {

)";

/// The overloads of one name, in the order in which a call is compared with them.
struct Name {
  std::string name;
  std::vector<const OperatorDef*> overloads;
  std::string module;
  size_t first = 0;  // the overloads' place in the table
  bool is_alias = false;
};

/// A tensor of no dimensions may stand for a number, so forms that take tensors come before those that take numbers; a
/// call with out= fits nothing but the forms that have it, which come last.
std::pair<bool, ptrdiff_t> placeOf(const OperatorDef& op) {
  const auto& arguments = op.arguments();
  return {op.form == Form::kOut, std::count_if(arguments.begin(), arguments.end(), [](const Argument& a) {
            return (a.type.kind == shunt::TypeKind::Scalar || a.type.kind == shunt::TypeKind::Int) && !a.type.list;
          })};
}

void setPlaces(std::vector<Name>& names) {
  size_t first = 0;
  for (Name& n : names) {
    n.first = first;
    first += n.overloads.size();
  }
}

/// An alias has the overloads of its operator, which stand in the table once.
void addAliases(const Dictionary& dictionary, std::vector<Name>& names) {
  for (const PythonAlias& alias : dictionary.aliases) {
    const auto of = std::find_if(names.begin(), names.end(), [&](const Name& n) { return n.name == alias.of; });
    if (of == names.end()) continue;
    Name name = *of;
    name.name = alias.name;
    name.is_alias = true;
    names.push_back(std::move(name));
  }
}

std::vector<Name> namesOf(const Dictionary& dictionary) {
  std::vector<Name> names;
  std::map<std::string, size_t> places;
  for (const OperatorDef& op : dictionary.operators) {
    if (!op.function && !op.method) continue;
    const auto [at, is_new] = places.try_emplace(op.name(), names.size());
    if (is_new) names.push_back({op.name(), {}, op.python_module});
    if (names[at->second].module != op.python_module)
      fail(op.place, "overloads of '" + op.name() + "' are of several modules of Python");
    names[at->second].overloads.push_back(&op);
  }
  for (Name& n : names) {
    std::map<std::tuple<bool, ptrdiff_t, size_t>, const OperatorDef*> ordered;
    for (const OperatorDef* op : n.overloads) {
      const auto [is_out, numbers] = placeOf(*op);
      ordered[{is_out, numbers, ordered.size()}] = op;
    }
    n.overloads.clear();
    for (const auto& [place, op] : ordered) n.overloads.push_back(op);
  }
  setPlaces(names);
  addAliases(dictionary, names);
  return names;
}

std::string calledAs(const OperatorDef& op) {
  const bool function = op.function || op.form == Form::kOut;
  return function && op.method ? "kFunction | kMethod" : function ? "kFunction" : "kMethod";
}

/// The form that takes a tensor where this one takes a number, as who looks at a call sees it. Where C++ calls the form
/// with out= instead of the one in place, that one.
const OperatorDef* tensorFormOf(const OperatorDef& op, const Name& name) {
  if (!op.hasTensorForm() || !op.number_is_tensor) return nullptr;
  if (op.tensor_form.op->form != Form::kOut || op.form == Form::kOut) return op.tensor_form.op;
  const auto fits = [&](const OperatorDef* other) {
    const auto &a = op.arguments(), &b = other->arguments();
    return other->form == op.form && other != &op && a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const Argument& x, const Argument& y) {
             return x.name == y.name && (x.type.kind == y.type.kind || y.type.kind == shunt::TypeKind::Tensor);
           });
  };
  const auto found = std::find_if(name.overloads.begin(), name.overloads.end(), fits);
  return found == name.overloads.end() ? nullptr : *found;
}

/// Where the arguments of the tensor's form stand in the number's: "0, 1, 2".
std::string tensorArguments(const OperatorDef& op, const OperatorDef& form) {
  const bool is_given = &form == op.tensor_form.op;
  std::vector<std::string> places;
  for (size_t i = 0; i < form.arguments().size(); ++i) {
    const std::string& name = is_given ? op.tensor_form.arguments[i] : form.arguments()[i].name;
    const auto& arguments = op.arguments();
    const auto found =
        std::find_if(arguments.begin(), arguments.end(), [&](const Argument& a) { return a.name == name; });
    places.push_back(std::to_string(found - arguments.begin()));
  }
  return join(places, ", ");
}

/// A bit for each argument that is None where it isn't given.
uint32_t optionalArguments(const OperatorDef& op) {
  uint32_t bits = 0;
  for (size_t i = 0; i < op.arguments().size(); ++i)
    if (std::ranges::find(op.python_optional, op.arguments()[i].name) != op.python_optional.end()) bits |= 1U << i;
  return bits;
}

std::string overloadTable(const std::vector<Name>& names) {
  std::map<const OperatorDef*, size_t> index;
  for (const Name& n : names)
    for (const OperatorDef* op : n.overloads) index.emplace(op, index.size());
  std::string arguments, rows;
  for (const Name& n : names) {
    if (n.is_alias) continue;
    for (const OperatorDef* op : n.overloads) {
      const auto form = index.find(tensorFormOf(*op, n));
      const bool has_form = form != index.end();
      if (has_form)
        arguments += fmt::format("constexpr int8_t kTensorArgumentsOf_{}[] = {{{}}};\n", op->cpp_name,
                                 tensorArguments(*op, *form->first));
      rows += fmt::format(
          "    {{&ops::{0}::symbol, reinterpret_cast<void*>(&ops::{0}::call), &Invoker<ops::{0}::Schema>::run, {1}, "
          "{2}, {3}, {4}}},\n",
          op->cpp_name, calledAs(*op), has_form ? static_cast<int64_t>(form->second) : -1,
          has_form ? "kTensorArgumentsOf_" + op->cpp_name : "nullptr", optionalArguments(*op));
    }
  }
  return arguments + "\nconst OverloadSource overload_sources[] = {\n" + rows + "};\n";
}

std::string entryTable(const std::vector<Name>& names) {
  std::string text = "\nconst EntrySource entry_sources[] = {\n";
  for (const Name& n : names) text += fmt::format("    {{{}, {}, {}}},\n", quoted(n.name), n.first, n.overloads.size());
  return text + fmt::format("}};\nconst size_t num_entries = {};\n", names.size());
}

/// `table[] = {{"add", ...}, ...}` of the module's names that are called so.
std::string methodTable(const std::vector<Name>& names, const std::string& table, const std::string& module,
                        const char* entry_point, bool methods, const std::map<std::string, std::string>& docs) {
  std::string text = fmt::format("\nPyMethodDef {}[] = {{\n", table);
  for (size_t i = 0; i < names.size(); ++i) {
    const auto& all = names[i].overloads;
    if (names[i].module != module) continue;
    if (!std::any_of(all.begin(), all.end(), [&](const OperatorDef* op) {
          // The out= forms of a method are no reason for a function: shunt.repeat.
          return methods ? op->method : op->function && (op->form != Form::kOut || op->functional == nullptr);
        }))
      continue;
    const auto doc = docs.find(names[i].name);
    text += fmt::format(
        "    {{{}, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&{}<{}>)), METH_FASTCALL | METH_KEYWORDS, "
        "{}}},\n",
        quoted(names[i].name), entry_point, i, doc == docs.end() ? "nullptr" : doc->second);
  }
  return text + "    {},\n};\n";
}

/// Each signature in one file; the table only refers to them.
std::string emitInstances(const std::vector<Name>& names, const Output& out) {
  Shards shards("generated/python/invoke", kPythonShards,
                "#include \"python/src/call/invoke.h\"\n\nnamespace shunt::python {\n\n",
                "\n}  // namespace shunt::python\n");
  std::set<std::string> seen;
  std::string declarations;
  for (const Name& n : names)
    for (const OperatorDef* op : n.overloads) {
      const std::string signature_text = signature(*op, false);
      if (!seen.insert(signature_text).second) continue;
      shards.add(signature_text, fmt::format("template struct Invoker<{}>;\n", signature_text));
      declarations += fmt::format("extern template struct Invoker<{}>;\n", signature_text);
    }
  shards.write(out);
  return declarations;
}

/// The functions of the package and of its modules.
std::string functionTables(const Dictionary& dictionary, const Docs& docs, const std::vector<Name>& names) {
  std::set<std::string> modules;
  for (const Name& n : names) modules.insert(n.module);
  std::string text, list;
  for (const std::string& module : modules) {
    const std::string table = "generated_functions" + (module.empty() ? "" : "_" + module);
    text += methodTable(names, table, module, "callFunction", false,
                        pythonDocLiterals(dictionary, docs, pythonFunctions(dictionary, module)));
    list += fmt::format("    {{{}, {}}},\n", quoted(module.empty() ? "_functions" : "_" + module), table);
  }
  return text + "\nconst ModuleFunctions generated_modules[] = {\n" + list + "    {},\n};\n";
}

/// The nodes of forms with a number, and the name under which PyTorch has them: that of the form with a tensor.
std::string nodeNames(const Dictionary& dictionary) {
  std::string text = "\nconst NodeName node_names[] = {\n";
  for (const OperatorDef& op : dictionary.operators) {
    if (op.derived || !op.number_is_tensor) continue;
    const Derivative *number = op.derivative, *tensor = op.tensor_form.op->derivative;
    if (number != nullptr && tensor != nullptr && !number->node_name.empty() && !tensor->node_name.empty())
      text += fmt::format("    {{{}, {}}},\n", quoted(number->node_name), quoted(tensor->node_name));
  }
  return text + "    {},\n};\n";
}

}  // namespace

void emitPython(const Dictionary& dictionary, const Docs& docs, const Output& out) {
  const std::vector<Name> names = namesOf(dictionary);
  out.write("generated/python/table.cpp",
            std::string(kBanner) + kTableHead + emitInstances(names, out) + "\n" + overloadTable(names) +
                entryTable(names) + nodeNames(dictionary) + functionTables(dictionary, docs, names) +
                methodTable(names, "generated_methods", "", "callMethod", true,
                            pythonDocLiterals(dictionary, docs, pythonMethods(dictionary))) +
                "\n}  // namespace shunt::python\n");
}

}  // namespace opgen
