#include "src/dispatch/dangling.h"

#include "src/base/log_level.h"
#include "src/dispatch/dispatcher_impl.h"
#include "src/dispatch/unknown_operator.h"

#include <shunt/core/dangling.h>
#include <shunt/core/near_names.h>

#include <cstdlib>
#include <map>

namespace shunt {

std::vector<DanglingImpl> danglingImpls() {
  auto& impl = Dispatcher::singleton().implForHandles();
  std::vector<DanglingImpl> all;
  MutexLock lock(impl.mutex);
  std::map<OperatorName, const OperatorEntry*> entries;
  for (const auto& [name, entry] : impl.operators)
    if (entry->schema() == nullptr) entries.emplace(name, entry.get());
  for (const auto& [name, entry] : entries)
    for (const auto& slot : entry->kernels().slots())
      for (auto r = slot.records.rbegin(); r != slot.records.rend(); ++r)
        all.push_back({name, slot.key, placeOf(r->where)});
  return all;
}

std::string dumpDanglingImpls() {
  std::string text;
  for (const DanglingImpl& d : danglingImpls())
    text += detail::str(d.op, "  ", d.key, " at ", d.place, nearOperators(d.op), '\n');
  return text;
}

namespace {

bool isNear(const OperatorName& dangling, const OperatorName& called) {
  const std::string base(dangling.baseName()), wanted(called.baseName());
  if (base == wanted) return true;
  return dangling.getNamespace() == called.getNamespace() && !detail::nearNames(wanted, {base}).empty();
}

}  // namespace

std::string danglingNear(const OperatorName& called) {
  for (const DanglingImpl& d : danglingImpls())
    if (isNear(d.op, called))
      return detail::str(" A kernel for ", d.key, " is registered for '", d.op, "', which nobody defined, at ", d.place,
                         "; was '", called, "' meant?");
  return "";
}

namespace {

/// "CPU at my_ops.cpp:12" of each operator that had a kernel and was never defined. At exit libraries have taken their
/// registrations back already.
std::map<OperatorName, std::string> neverDefined() {
  std::map<OperatorName, std::string> all;
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  for (const auto& [name, entry] : impl.operators) {
    if (!entry->isDangling()) continue;
    for (const auto& slot : entry->kernels().slots())
      if (!all.contains(name)) all[name] = detail::str(slot.key, " at ", placeOf(slot.records.back().where));
    if (!all.contains(name) && !entry->left_dangling().empty()) all[name] = entry->left_dangling();
  }
  return all;
}

void logAtExit() {
  const auto all = neverDefined();
  if (all.empty()) return;
  std::string text =
      detail::str(all.size(), all.size() == 1 ? " operator has" : " operators have", " kernels and no definition:");
  for (const auto& [name, kernel] : all)
    text += detail::str(name == all.begin()->first ? " " : ", ", name, " (", kernel, ")");
  detail::logDebugAtExit(text);
}

}  // namespace

void logDanglingImplsAtExit() {
  if (detail::logsDebug()) std::atexit(&logAtExit);
}

}  // namespace shunt
