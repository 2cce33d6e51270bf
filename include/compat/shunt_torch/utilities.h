// Small utilities of c10/util and the stack functions that sources written for PyTorch use.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/log.h>
#include <shunt/core/tls.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>

namespace shunt {

/// The integers from `begin` up to, not including, `end`.
template <class T>
class IntegerRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = T;
    explicit Iterator(T at) : at_(at) {}
    T operator*() const { return at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    T at_;
  };
  IntegerRange(T begin, T end) : begin_(begin), end_(end < begin ? begin : end) {}
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }

 private:
  T begin_, end_;
};

template <class T>
IntegerRange<T> irange(T end) {
  return {T(0), end};
}
template <class B, class E>
IntegerRange<E> irange(B begin, E end) {
  return {static_cast<E>(begin), end};
}

/// The streamed values, concatenated.
template <class... Values>
std::string str(const Values&... values) {
  return detail::str(values...);
}

inline bool tls_is_dispatch_key_included(DispatchKey key) { return tls_is_included(key); }
inline bool tls_is_dispatch_key_excluded(DispatchKey key) { return tls_is_excluded(key); }
inline bool tls_is_dispatch_keyset_included(DispatchKeySet keys) {
  return (tls_included() & keys.functionalities()) == keys.functionalities();
}
inline bool tls_is_dispatch_keyset_excluded(DispatchKeySet keys) {
  return (tls_excluded() & keys.functionalities()) == keys.functionalities();
}

/// Pushes the values in order: the last is on top.
template <class... Values>
void push(Stack* stack, Values&&... values) {
  (stack->emplace_back(std::forward<Values>(values)), ...);
}
template <class First, class Second, class... Values>
void push(Stack& stack, First&& first, Second&& second, Values&&... values) {
  push(&stack, std::forward<First>(first), std::forward<Second>(second), std::forward<Values>(values)...);
}
inline IValue pop(Stack* stack) { return pop(*stack); }
/// Removes and returns the top n values, the lowest first.
inline std::vector<IValue> pop(Stack& stack, size_t n) {
  std::vector<IValue> out(std::make_move_iterator(stack.end() - static_cast<ptrdiff_t>(n)),
                          std::make_move_iterator(stack.end()));
  drop(stack, n);
  return out;
}

}  // namespace shunt
