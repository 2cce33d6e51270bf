#include <shunt/core/call_stack.h>

#include <utility>

namespace shunt::boxing {

SpareStack* CallStack::makeSpare(size_t room) {
  detail::threadFrames();  // the thread's exit frees the stacks of those that have them
  if (spares() == nullptr) spares() = new SpareStack;
  spares()->stack.reserve(room);
  return spares();
}

void CallStack::freeSpare() noexcept { delete std::exchange(spares(), spares()->next); }

void freeSpareStacks() noexcept {
  SpareStack*& spares = detail::tls_state.spare_stacks;
  while (spares != nullptr) delete std::exchange(spares, spares->next);
}

}  // namespace shunt::boxing
