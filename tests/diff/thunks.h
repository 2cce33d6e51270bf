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
inline void PrintTo(const ThunkName& n, std::ostream* out) { *out << n.op << " {" << n.keys << "} " << std::hex << n.signature; }

/// Code addresses of the thunks in force.
using Published = std::map<ThunkName, const void*>;

inline Published published() {
  Published all;
  for (const auto& t : shunt::jit::publishedThunks()) {
    std::string op(t->op->name());
    if (!t->op->overload().empty()) op += "." + std::string(t->op->overload());
    all[{op, shunt::toString(shunt::DispatchKeySet::fromRaw(t->keys)), t->signature}] = t->code;
  }
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
