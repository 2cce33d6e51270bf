// CallStack: the stack of a boxed call that unboxed code makes.
//
// It takes its memory from the calling thread's list of spare stacks. malloc and free were 9 % of the instructions of a
// call under a mode that does nothing. A call inside the call takes the next stack of the list.
// - Each thread uses its list only. It is made of plain pointers, since calls may follow its release at thread exit.
// - Not for signal handlers.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/tls.h>

namespace shunt::boxing {

/// An empty stack with memory, in its thread's list.
struct SpareStack {
  Stack stack;                 // empty while in the list
  SpareStack* next = nullptr;  // owned by the thread; null at the end
};

/// Frees the calling thread's list. Called at thread exit.
void freeSpareStacks() noexcept;

/// push_back for a stack that has room for one more value: undefined behaviour otherwise.
SHUNT_ALWAYS_INLINE void pushWithRoom(Stack& stack, IValue&& v) {
  if (stack.size() == stack.capacity()) __builtin_unreachable();
  stack.push_back(std::move(v));
}

class CallStack {
 public:
  /// An empty stack with room for this many values.
  SHUNT_ALWAYS_INLINE explicit CallStack(size_t room) : mine_(spares()) {
    if (mine_ == nullptr || mine_->stack.capacity() < room) [[unlikely]]
      mine_ = makeSpare(room);
    spares() = mine_->next;
  }
  SHUNT_ALWAYS_INLINE ~CallStack() {
    mine_->stack.clear();
    mine_->next = spares();
    spares() = mine_;
    if (mine_->stack.capacity() > kMostKept) [[unlikely]]
      freeSpare();
  }
  CallStack(const CallStack&) = delete;
  CallStack& operator=(const CallStack&) = delete;
  Stack& operator*() const { return mine_->stack; }

 private:
  static constexpr size_t kMostKept = 64;  // values; larger stacks are freed. Built-in operators take fewer than ten.

  static SpareStack*& spares() { return detail::tls_state.spare_stacks; }
  /// The list's first stack, made or enlarged to have room for this many values.
  SHUNT_API SHUNT_COLD static SpareStack* makeSpare(size_t room);
  SHUNT_API SHUNT_COLD static void freeSpare() noexcept;

  SpareStack* mine_;
};

}  // namespace shunt::boxing
