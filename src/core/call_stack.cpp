#include <shunt/core/call_stack.h>

#include <utility>

namespace shunt::boxing {

SpareStack* CallStack::makeSpare(size_t room) {
  if (spares() == nullptr) spares() = new SpareStack;
  spares()->stack.reserve(room);
  return spares();
}

void CallStack::freeSpare() noexcept { delete std::exchange(spares(), spares()->next); }

void freeSpareStacks() noexcept {
  while (detail::tls_state.spare_stacks != nullptr) delete std::exchange(detail::tls_state.spare_stacks, detail::tls_state.spare_stacks->next);
}

}  // namespace shunt::boxing
