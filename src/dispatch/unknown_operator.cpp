#include "src/dispatch/unknown_operator.h"

#include <shunt/core/near_names.h>

#include "src/dispatch/dispatcher_impl.h"
#include "src/dispatch/errors.h"

#include <algorithm>
#include <set>

namespace shunt {
namespace {

std::string namespaceOf(const OperatorName& name) { return std::string(name.getNamespace().value_or("")); }

/// Names of all operators that have a definition, sorted.
std::vector<OperatorName> definedNames() {
  auto& impl = Dispatcher::singleton().implForHandles();
  std::vector<OperatorName> names;
  {
    MutexLock lock(impl.mutex);
    for (const auto& [name, entry] : impl.operators)
      if (entry->schema() != nullptr) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Base names of one namespace's operators, each once.
std::vector<std::string> basesIn(const std::vector<OperatorName>& all, const std::string& ns) {
  std::set<std::string> bases;
  for (const OperatorName& n : all)
    if (n.getNamespace() == ns) bases.emplace(n.baseName());
  return {bases.begin(), bases.end()};
}

std::vector<std::string> namespacesOf(const std::vector<OperatorName>& all) {
  std::set<std::string> namespaces;
  for (const OperatorName& n : all) namespaces.insert(namespaceOf(n));
  return {namespaces.begin(), namespaces.end()};
}

/// Full names without overload: near ones of the namespace, or of one that is spelt nearly like it; else the same name
/// of other namespaces.
std::vector<std::string> nearIn(const std::vector<OperatorName>& all, const OperatorName& wanted) {
  const std::string base(wanted.baseName()), ns = namespaceOf(wanted);
  const std::vector<std::string> namespaces = namespacesOf(all);
  std::vector<std::string> near;
  std::vector<std::string> looked_at = detail::nearNames(ns, namespaces);
  looked_at.insert(looked_at.begin(), ns);
  for (const std::string& in : looked_at) {
    const std::vector<std::string> bases = basesIn(all, in);
    if (in != ns && std::ranges::count(bases, base) != 0) near.push_back(in + "::" + base);
    if (near.empty())
      for (const std::string& other : detail::nearNames(base, bases)) near.push_back(in + "::" + other);
  }
  if (near.empty())
    for (const std::string& in : namespaces)
      if (in != ns && std::ranges::count(basesIn(all, in), base) != 0) near.push_back(in + "::" + base);
  if (near.size() > 3) near.resize(3);
  return near;
}

/// "aten::add has no overload 'Tensr', only aten::add.Scalar, aten::add.Tensor; did you mean 'aten::add.Tensor'?"
std::string whyNoOverload(const OperatorName& wanted, const std::vector<std::string>& overloads) {
  std::string only;
  for (const std::string& o : overloads) only += (only.empty() ? "" : ", ") + OperatorName(wanted.name, o).str();
  std::vector<std::string> near = detail::nearNames(wanted.overload_name, overloads);
  for (std::string& o : near) o = OperatorName(wanted.name, o).str();
  const std::string none = wanted.overload_name.empty() ? "without a name" : "'" + wanted.overload_name + "'";
  return detail::str(wanted.name, " has no overload ", none, ", only ", only, detail::didYouMean(near));
}

/// What is said of an operator that is known, but has no definition; empty for others.
std::string whyUndefined(const OperatorName& wanted) {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  const auto it = impl.operators.find(wanted);
  if (it == impl.operators.end()) return "";
  const std::string gone = withdrawalOf(OperatorHandle(*it->second->op()));
  if (!gone.empty() || !it->second->exists()) return gone;
  return "it has kernels but no definition (def)";
}

}  // namespace

std::string nearOperators(const OperatorName& wanted) { return detail::didYouMean(nearIn(definedNames(), wanted)); }

std::string nearArguments(const FunctionSchema& schema, std::string_view name) {
  std::vector<std::string> names;
  for (const Argument& a : schema.arguments()) names.push_back(a.name);
  return detail::didYouMean(name, names);
}

std::string whyNotFound(const OperatorName& wanted) {
  const std::vector<OperatorName> all = definedNames();
  const std::string undefined = whyUndefined(wanted);
  std::vector<std::string> overloads;
  for (const OperatorName& n : all)
    if (n.name == wanted.name) overloads.push_back(n.overload_name);
  if (!overloads.empty()) return (undefined.empty() ? "" : undefined + "; ") + whyNoOverload(wanted, overloads);
  const std::string near = detail::didYouMean(nearIn(all, wanted));
  if (!undefined.empty()) return undefined + near;
  const std::string ns = namespaceOf(wanted);
  const std::vector<std::string> namespaces = namespacesOf(all);
  if (ns.empty()) return "there is no such operator: the name has no namespace" + near;
  if (std::ranges::count(namespaces, ns) != 0) return "there is no such operator" + near;
  return "there is no such operator, nor any other in the namespace '" + ns + "'" +
         (near.empty() ? detail::didYouMean(ns, namespaces) : near);
}

}  // namespace shunt
