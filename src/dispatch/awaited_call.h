// A boxed call that is waited for on this thread: how a dispatch mode learns that its handler passed a call on as it
// got it.
//
// Stands in the frame of whoever waits, and is awaited_call meanwhile; each thread sees its own only.
#pragma once

#include <shunt/core/op_state.h>

#include <cstring>
#include <type_traits>

namespace shunt::detail {

/// The same tensor, object or number.
inline bool isIdentical(const IValue& a, const IValue& b) {
  static_assert(std::is_standard_layout_v<IValue>, "the payload comes first");
  if (a.tag() != b.tag()) return false;
  if (a.isDevice()) return a.toDevice() == b.toDevice();
  return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof(int64_t)) == 0;
}

struct AwaitedCall {
  const Operator* op = nullptr;
  const IValue* arguments = nullptr;
  size_t count = 0;
  // Of the thread: under other ones the operator may do something else.
  struct Settings {
    uint64_t included, excluded, mode;
    int32_t autocast_nesting;
    static Settings now() {
      const LocalState& s = tls_state;
      return {s.included, s.excluded, s.mode, s.autocast_nesting};
    }
    bool operator==(const Settings&) const = default;
  };
  Settings settings{};
  /// After the call, with its returns where the arguments were: above so many values of the stack.
  void (*returned)(AwaitedCall&, const Stack& stack, size_t below) = nullptr;

  bool isMadeBy(const Operator& called, const Stack& stack) const;
};

extern constinit thread_local AwaitedCall* awaited_call SHUNT_TLS_MODEL;

}  // namespace shunt::detail
