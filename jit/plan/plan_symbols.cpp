#include "jit/plan/plan_symbols.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>

namespace shunt::jit {
namespace {

constexpr const char* kFieldNames[] = {"code.", "boxed.",       "functor.", "operator",
                                       "calls", "guard_misses", "misses",   "loop."};

}  // namespace

PlanSymbols::PlanSymbols(const Plan& plan) {
  const CompileRequest& r = plan.request;
  places_.reserve(4 + r.kinds.size() + (plan.inner.size() + 1) * (1 + 3 * size_t{kNumSlots}));
  add(Field::kOperator, -1, plan.op.op);
  add(Field::kCalls, -1, r.counters != nullptr ? &r.counters->calls : nullptr);
  add(Field::kGuardMisses, -1, r.counters != nullptr ? &r.counters->guard_misses : nullptr);
  add(Field::kMisses, -1, r.misses);
  for (size_t kind = 0; kind < r.kinds.size(); ++kind)
    add(Field::kLoop, static_cast<int>(kind), r.kinds[kind].places.ready);
  addTable(plan, 0);
  for (size_t i = 0; i < plan.inner.size(); ++i) {
    const int first = static_cast<int>(i + 1) * kNumSlots;
    add(Field::kOperator, first, plan.inner[i].op.op);
    addTable(plan.inner[i], first);
  }
}

void PlanSymbols::addTable(const Chain& chain, int first) {
  for (int slot = 0; slot < kNumSlots; ++slot) {
    const TableEntry& e = chain.op.table[static_cast<size_t>(slot)];
    add(Field::kCode, first + slot, e.unboxed);
    add(Field::kBoxed, first + slot, reinterpret_cast<const void*>(e.boxed));
    add(Field::kFunctor, first + slot, e.functor);
  }
}

void PlanSymbols::add(Field field, int slot, const void* address) {
  // Most of a table is one entry again and again.
  const bool again = places_.size() >= 3 && places_[places_.size() - 3].address == address;
  if (address != nullptr && !again) first_.try_emplace(address, static_cast<uint32_t>(places_.size()));
  places_.push_back({field, slot, address});
}

std::string PlanSymbols::nameOf(const Place& place) {
  const std::string name = kPrefix.str() + kFieldNames[static_cast<size_t>(place.field)];
  return place.slot < 0 ? name : name + std::to_string(place.slot);
}

std::string PlanSymbols::name(const void* address) const {
  const auto first = first_.find(address);
  return first == first_.end() ? "" : nameOf(places_[first->second]);
}

std::optional<uint64_t> PlanSymbols::address(llvm::StringRef name) const {
  if (!name.consume_front(kPrefix)) return std::nullopt;
  const llvm::StringRef field = name.take_while([](char c) { return !llvm::isDigit(c); });
  int slot = -1;
  if (field.size() != name.size() && name.drop_front(field.size()).getAsInteger(10, slot)) return std::nullopt;
  for (const Place& place : places_)
    if (place.slot == slot && field == kFieldNames[static_cast<size_t>(place.field)] && place.address != nullptr)
      return reinterpret_cast<uint64_t>(place.address);
  return std::nullopt;
}

llvm::Constant* PlanSymbols::constant(llvm::Module& module, const void* address) const {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(context);
  if (address == nullptr) return llvm::ConstantPointerNull::get(pointer);
  const std::string symbol = name(address);
  if (symbol.empty()) {
    const auto number = reinterpret_cast<uint64_t>(address);
    return llvm::ConstantExpr::getIntToPtr(llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), number), pointer);
  }
  if (llvm::GlobalValue* known = module.getNamedValue(symbol)) return known;
  return new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(context), /*isConstant=*/false,
                                  llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
}

std::string PlanSymbols::print() const {
  std::string out;
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    // Most of a table is one entry again and again: 3 fields later, the same.
    if (i >= 3 && places_[i - 3].slot >= 0 && places_[i - 3].address == place.address) {
      out += '=';
      continue;
    }
    out += ' ';
    out += place.address == nullptr ? "-" : std::to_string(first_.lookup(place.address));
  }
  return out;
}

}  // namespace shunt::jit
