// CallStack: the stack of a boxed call that unboxed code makes.
//
// Its memory is one of the calling thread's spare stacks: malloc and free were 9 % of the instructions of a call under
// a mode that does nothing. They are a list, since a call inside the call takes another one. Freed at thread exit,
// where a call may come later still: hence plain pointers. Each thread touches only its own.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/tls.h>

namespace shunt::boxing {

struct SpareStack {
  Stack stack;  // empty
  SpareStack* next = nullptr;
};

/// The calling thread's, at its exit.
void freeSpareStacks() noexcept;

/// push_back where the vector is known to have room.
SHUNT_ALWAYS_INLINE void pushWithRoom(Stack& stack, IValue&& v) {
  if (stack.size() == stack.capacity()) __builtin_unreachable();
  stack.push_back(std::move(v));
}

class CallStack {
 public:
  /// With room for so many values; empty.
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
  static constexpr size_t kMostKept = 64;  // values; the dictionary's operators take fewer than ten

  static SpareStack*& spares() { return detail::tls_state.spare_stacks; }
  /// The first spare stack, which has room for so many values then.
  SHUNT_API SHUNT_COLD static SpareStack* makeSpare(size_t room);
  SHUNT_API SHUNT_COLD static void freeSpare() noexcept;

  SpareStack* mine_;
};

}  // namespace shunt::boxing
