// What is published, as values that tests can compare.
#pragma once

#include "src/dispatch/thunk.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

namespace diff {

/// Operator, keys, signature. Prints as "aten::add.Tensor {CPU} 0".
struct ThunkName {
  std::string op;
  std::string keys;
  uint64_t signature = 0;
  auto operator<=>(const ThunkName&) const = default;
};
inline void PrintTo(const ThunkName& n, std::ostream* out) {
  *out << n.op << " {" << n.keys << "} " << std::hex << n.signature;
}

/// Code addresses of the thunks in force.
using Published = std::map<ThunkName, const void*>;

inline std::string nameOf(const shunt::Operator& op) {
  return std::string(op.name()) + (op.overload().empty() ? "" : "." + std::string(op.overload()));
}
inline ThunkName nameOf(const shunt::jit::Thunk& t) {
  return {nameOf(*t.op), shunt::toString(shunt::DispatchKeySet::fromRaw(t.keys)), t.signature};
}

inline Published published() {
  Published all;
  for (const auto& t : shunt::jit::publishedThunks()) all[nameOf(*t)] = t->code;
  return all;
}

/// The thunks that rely on entries of an operator's table.
inline std::set<ThunkName> relyingOn(const std::string& op) {
  std::set<ThunkName> all;
  for (const auto& t : shunt::jit::publishedThunks())
    for (const shunt::jit::Edge& e : t->edges)
      if (e.op != nullptr && nameOf(*e.op) == op) all.insert(nameOf(*t));
  return all;
}

/// Those of `before` that are not in force any more, or have other code.
inline std::set<ThunkName> gone(const Published& before) {
  const Published after = published();
  std::set<ThunkName> out;
  for (const auto& [name, code] : before)
    if (const auto it = after.find(name); it == after.end() || it->second != code) out.insert(name);
  return out;
}

inline std::vector<shunt::jit::InvalidationRecord> logSince(size_t earlier) {
  auto log = shunt::jit::invalidation_log();
  log.erase(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(std::min(earlier, log.size())));
  return log;
}

}  // namespace diff
