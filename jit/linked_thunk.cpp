#include "jit/linked_thunk.h"

#include "jit/debug/debug_name.h"
#include "jit/debug/perf_map.h"
#include "jit/emit/planned_calls.h"
#include "jit/host/debug_switches.h"
#include "jit/host/host_symbols.h"

namespace shunt::jit {

llvm::Expected<intrusive_ptr<LinkedThunk>> LinkedThunk::make(std::unique_ptr<llvm::MemoryBuffer> object,
                                                             const std::string& function, const Plan& plan,
                                                             const Reliance& reliance, const PlanSymbols& symbols) {
  const std::string name = debugName(plan), copy = gdbWanted() ? object->getBuffer().str() : std::string();
  SectionAddresses sections;
  auto thunk = make_intrusive<LinkedThunk>();
  const auto resolve = [&](llvm::StringRef symbol) -> std::optional<uint64_t> {
    if (symbol == kValidityName) return reinterpret_cast<uint64_t>(&thunk->validity);
    return symbol.starts_with(PlanSymbols::kPrefix) ? symbols.address(symbol)
                                                    : HostSymbols::instance().address(std::string_view(symbol));
  };
  auto linked = link(std::move(object), resolve, gdbWanted() ? &sections : nullptr);
  if (!linked) return linked.takeError();
  const uint64_t address = linked->address(function);
  if (address == 0) return llvm::createStringError("the object has no function %s", function.c_str());
  addToPerfMap(*linked, name);
  thunk->linked_ = std::move(*linked);
  if (gdbWanted()) thunk->gdb_ = GdbObject(copy, sections);
  thunk->code = reinterpret_cast<void*>(address);
  thunk->op = plan.request.op;
  thunk->keys = plan.request.keys;
  thunk->signature = plan.request.signature;
  thunk->tier = plan.request.tier;
  thunk->kinds = countOf(plan.request.kinds);
  thunk->edges = plan.edges(reliance);
  return thunk;
}

}  // namespace shunt::jit
