// Dumps: the truth, the derived table with reasons, and the self-check. Ordered by key, so that tests compare them
// whole.
#include "src/dispatch/dispatcher_impl.h"

#include <algorithm>
#include <sstream>

namespace shunt {
namespace {

void dumpRecords(std::ostream& out, const KernelMap& kernels) {
  for (const auto& slot : kernels.slots()) {
    for (auto r = slot.records.rbegin(); r != slot.records.rend(); ++r) {
      out << toString(slot.key) << ": registered at " << placeOf(r->where);
      if (r->kernel.isFallthrough())
        out << " [fallthrough]";
      else if (r->kernel.signature == nullptr)
        out << " [boxed]";
      if (r->stands_in.of != nullptr)
        out << " [stands in while " << r->stands_in.of->name() << " has its built-in kernel]";
      out << (r == slot.records.rbegin() ? "\n" : " (inactive)\n");
    }
  }
}

/// What became of the key's stand-in; empty where there is none, or a kernel of another kind serves the key anyway.
std::string describeStandIn(const TableComputer::Choice& c, const KernelMap& kernels, DispatchKey key) {
  const std::vector<KernelRecord>* all = kernels.records(key);
  if (all == nullptr || c.record == nullptr) return "";
  for (const KernelRecord& r : *all) {
    if (r.stands_in.of == nullptr) continue;
    if (c.record == &r) return detail::str(", direct while ", r.stands_in.of->name(), " has its built-in kernel");
    if (c.record->kernel.unboxed == r.stands_in.composite)
      return detail::str(", where ", r.stands_in.of->name(), "'s built-in kernel isn't the one in force");
  }
  return "";
}

std::string describeChoice(const TableComputer::Choice& c, const KernelMap& kernels, DispatchKey key) {
  return detail::str(c.record != nullptr ? placeOf(c.record->where) + " " : "", "[", toString(c.reason),
                     describeStandIn(c, kernels, key), "]");
}

}  // namespace

std::string OperatorHandle::dumpState() const {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  std::ostringstream out;
  out << "name: " << operator_name() << '\n';
  const OperatorEntry* entry = op_->entry();
  if (entry == nullptr) return out.str() + "(not registered)\n";
  if (const SchemaRecord* s = entry->schema())
    out << "schema: " << s->schema << "\ndefined at: " << s->place << '\n';
  else
    out << "schema: (none)\n";
  dumpRecords(out, entry->kernels());
  return out.str();
}

std::string OperatorHandle::dumpComputedTable() const {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  std::ostringstream out;
  const OperatorEntry* entry = op_->entry();
  if (entry == nullptr) return "";
  for (int slot = 0; slot < kNumSlots; ++slot) {
    const auto key = keyOfSlot(slot);
    const auto choice = TableComputer::choose(entry->kernels(), impl.fallbacks, key);
    if (choice.reason == EntryReason::kMissing) continue;
    out << toString(key) << ": " << describeChoice(choice, entry->kernels(), key) << '\n';
  }
  return out.str();
}

std::string OperatorHandle::explainFor(DispatchKeySet ks) const {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  const OperatorEntry* entry = op_->entry();
  SHUNT_CHECK(entry != nullptr && entry->state() != nullptr, "operator ", operator_name(), " is not registered");
  std::ostringstream out;
  out << operator_name() << " with keys {" << ks << "}\n";
  const DispatchKeySet looked_at = ks & entry->state()->maskFor(ks);
  for (DispatchKey key : ks.keys()) {
    const auto choice = TableComputer::choose(entry->kernels(), impl.fallbacks, key);
    out << (key == looked_at.highestPriorityKey() ? "-> " : "   ") << toString(key) << ": "
        << describeChoice(choice, entry->kernels(), key) << '\n';
  }
  return out.str();
}

void OperatorHandle::checkInvariants() const {
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  const OperatorEntry* entry = op_->entry();
  if (entry == nullptr || entry->state() == nullptr) return;
  uint64_t world = impl.world;
  const auto fresh = TableComputer::compute(op_, entry->kernels(), impl.fallbacks, entry->state(), world);
  SHUNT_INTERNAL_ASSERT(TableComputer::equal(*fresh, *entry->state()), "the published table of ", operator_name(),
                        " differs from the one computed now");
  SHUNT_INTERNAL_ASSERT(world == impl.world, "recomputing the table of ", operator_name(), " gave new versions");
  SHUNT_INTERNAL_ASSERT(entry->state()->op() == op_, "the state of ", operator_name(), " belongs to another operator");
  if (entry->schema() != nullptr)
    SHUNT_INTERNAL_ASSERT(entry->schema()->schema.operator_name() == operator_name(), "the schema of ", operator_name(),
                          " names another operator");
}

std::string Dispatcher::dumpFallbacks() const {
  MutexLock lock(impl_->mutex);
  std::ostringstream out;
  dumpRecords(out, impl_->fallbacks);
  return out.str();
}

void Dispatcher::checkInvariants() const {
  for (const OperatorName& name : getAllOpNames())
    if (auto op = findOp(name)) op->checkInvariants();
}

}  // namespace shunt
