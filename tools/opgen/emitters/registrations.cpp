#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/emitters/shard_counts.h"
#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/tensor_form.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

namespace opgen {

namespace {

constexpr const char* kWrapper = "&wrappers::";

/// Declarations of all generated functions that tables refer to, by namespace.
std::string wrapperDeclarations(const Registrations& registrations) {
  std::map<std::string, std::string> by_space;
  std::set<std::string> seen;
  for (const Registration& r : registrations) {
    if (r.function.rfind(kWrapper, 0) != 0 || !seen.insert(r.function).second) continue;
    const std::string path = r.function.substr(1);
    by_space[path.substr(0, path.rfind("::"))] +=
        fmt::format("SHUNT_ANNOTATE(\"wrapper\") {} {}({});\n", returnType(*r.op), r.op->cpp_name,
                    parameters(*r.op, r.takes_keyset ? "DispatchKeySet ks" : ""));
  }
  std::string text = std::string(kBanner) +
                     "// The generated wrappers' declarations, for the registration tables.\n#pragma once\n\n"
                     "#include <shunt/core/annotate.h>\n#include <shunt/tensor/tensor.h>\n\nnamespace shunt {\n";
  for (const auto& [space, declarations] : by_space)
    text += fmt::format("\nnamespace {} {{\n{}}}  // namespace {}\n", space, declarations, space);
  return text + "\n}  // namespace shunt\n";
}

/// Makes std::source_location::current() on the next line name the YAML: a registration's place is where a person wrote
/// it.
std::string lineOf(const SourcePlace& place) {
  return fmt::format("#line {} \"kernels/operators/{}\"\n", place.line,
                     std::filesystem::path(place.file).filename().string());
}

const SourcePlace& placeOf(const Registration& r) {
  return r.key == "Autograd" && r.op->derivative != nullptr ? r.op->derivative->place : r.op->place;
}

std::string codeOf(const Registration& r) {
  return fmt::format("&boxing::StaticKernel<{}, {}, boxing::Types<{}>>::call", r.function, returnType(*r.op),
                     argumentTypes(*r.op));
}

const Registration& find(const Registration& for_whom, const OperatorDef& op, const std::string& key,
                         const Registrations& all) {
  for (const Registration& r : all)
    if (r.op == &op && r.key == key) return r;
  fail(for_whom.op->tensor_form.place, for_whom.op->qualifiedName() + " can't stand in for " + op.qualifiedName() +
                                           ", which has no kernel for " + for_whom.key);
}

/// What a kernel of a number's form stands in for; null for other kernels.
struct StandsInFor {
  const Registration *built_in = nullptr, *composite = nullptr;
};
StandsInFor standsInFor(const Registration& r, const Registrations& all) {
  if (!r.op->hasTensorForm() || !isBackendKey(r.key)) return {};
  return {&find(r, *r.op->tensor_form.op, r.key, all), &find(r, *r.op, "CompositeExplicitAutograd", all)};
}

std::string row(const Registration& r, const StandsInFor& as) {
  const std::string line = lineOf(placeOf(r));
  if (r.function.empty())
    return line +
           fmt::format("      fallthroughRow(ops::{}::symbol, DispatchKey::{}, std::source_location::current()),\n",
                       r.op->cpp_name, r.key);
  const std::string kernel =
      fmt::format("kernelRow<ops::{}::Schema, {}>(ops::{}::symbol, DispatchKey::{}, std::source_location::current())",
                  r.op->cpp_name, codeOf(r), r.op->cpp_name, r.key);
  if (as.built_in == nullptr) return fmt::format("{}      {},\n", line, kernel);
  return fmt::format("{}      standInRow<{}, {}>({}, ops::{}::symbol),\n", line, codeOf(*as.built_in),
                     codeOf(*as.composite), kernel, as.built_in->op->cpp_name);
}

/// One table file: the kernels' code lies elsewhere (extern template), this is data and one loop.
std::string tableFile(size_t number, const std::vector<const Registration*>& rows, const Registrations& all) {
  std::string externs, table;
  std::set<std::string> seen;
  const auto declare = [&](const Registration* r) {
    if (r != nullptr && !r->function.empty() && seen.insert(r->function + argumentTypes(*r->op)).second)
      externs += "extern " + instantiateKernel(*r);
  };
  for (const Registration* r : rows) {
    const StandsInFor as = standsInFor(*r, all);
    table += row(*r, as);
    for (const Registration* used : {r, as.built_in, as.composite}) declare(used);
  }
  return fmt::format(
      "{}#include \"generated/native_functions.h\"\n#include \"generated/wrappers.h\"\n"
      "#include \"kernels/wrappers/register.h\"\n\nnamespace shunt {{\n\n{}\nnamespace wrappers {{\n\n"
      "void registerTable{}() {{\n  const KernelRow rows[] = {{\n{}  }};\n  registerKernels(rows);\n}}\n\n"
      "}}  // namespace wrappers\n}}  // namespace shunt\n",
      kBanner, externs, number, table);
}

std::string mainFile(const Dictionary& dictionary) {
  std::string rows, declarations, calls;
  for (const OperatorDef& op : dictionary.operators)
    rows +=
        lineOf(op.place) +
        fmt::format("    {{&ops::{0}::symbol, ops::{0}::schema_str, std::source_location::current()}},\n", op.cpp_name);
  for (size_t i = 0; i < kRegisterShards; ++i) {
    declarations += fmt::format("void registerTable{}();\n", i);
    calls += fmt::format("    registerTable{}();\n", i);
  }
  calls += "    levels::registerPointwise();\n";
  return fmt::format(
      "{}// The dictionary's one static initialiser: operators first, then their kernels, vmap's last.\n"
      "#include \"kernels/wrappers/register.h\"\n\nnamespace shunt::levels {{\nvoid registerPointwise();\n}}\n\n"
      "namespace shunt::wrappers {{\n\n{}\nnamespace {{\n\n"
      "const OperatorRow kOperators[] = {{\n{}}};\n\nstruct DictionaryInit {{\n  DictionaryInit() {{\n"
      "    const Dispatcher::Batch batch;\n    registerOperators(kOperators);\n{}  }}\n}};\n\nconst DictionaryInit "
      "init;\n\n"
      "}}  // namespace\n}}  // namespace shunt::wrappers\n",
      kBanner, declarations, rows, calls);
}

}  // namespace

void emitRegistrations(const Dictionary& dictionary, const Output& out, const Registrations& registrations) {
  out.write("generated/wrappers.h", wrapperDeclarations(registrations));
  out.write("generated/registrations.cpp", mainFile(dictionary));
  for (size_t i = 0; i < kRegisterShards; ++i) {
    std::vector<const Registration*> rows;
    for (size_t k = registrations.size() * i / kRegisterShards; k < registrations.size() * (i + 1) / kRegisterShards;
         ++k)
      rows.push_back(&registrations[k]);
    out.write(fmt::format("generated/register_{}.cpp", i), tableFile(i, rows, registrations));
  }
}

}  // namespace opgen
