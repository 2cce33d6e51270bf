// InlineVector: a vector that stores up to N elements inside itself and allocates memory only for more. Members that
// std::vector has too behave the same. A value type; not synchronised.
#pragma once

#include <shunt/core/macros.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace shunt {

template <class T, size_t N>
class InlineVector {
  static_assert(std::is_nothrow_move_constructible_v<T>);

 public:
  static constexpr size_t kInline = N;  // the capacity without an allocation
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() noexcept {}
  InlineVector(std::initializer_list<T> list) { append(list.begin(), list.size()); }
  InlineVector(const InlineVector& o) { append(o.begin(), o.size()); }
  InlineVector(InlineVector&& o) noexcept { takeFrom(o); }
  ~InlineVector() {
    if (heap_ != nullptr) [[unlikely]]
      freeHeap();
    else
      std::destroy_n(inlineData(), size_);
  }
  InlineVector& operator=(InlineVector o) noexcept {
    freeAll();
    takeFrom(o);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ != nullptr ? heap_ : inlineData(); }
  const T* data() const { return const_cast<InlineVector*>(this)->data(); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }

  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) [[unlikely]]
      grow(2 * size_t{capacity_});
    T* p = std::construct_at(data() + size_, std::forward<Args>(args)...);
    ++size_;
    return *p;
  }
  /// Makes `n` value-initialised elements and returns them. The vector must be new, and `n` at most kInline.
  SHUNT_ALWAYS_INLINE T* fillInline(size_t n) {
    std::uninitialized_value_construct_n(inlineData(), n);
    size_ = static_cast<uint32_t>(n);
    return inlineData();
  }
  void clear() {
    std::destroy_n(data(), size_);
    size_ = 0;
  }

 private:
  T* inlineData() { return reinterpret_cast<T*>(inline_); }

  void append(const T* from, size_t n) {
    reserve(size_ + n);
    for (size_t i = 0; i < n; ++i) emplace_back(from[i]);
  }
  SHUNT_NOINLINE void grow(size_t capacity) {
    T* grown = std::allocator<T>().allocate(capacity);
    std::uninitialized_move_n(data(), size_, grown);
    const uint32_t size = size_;
    freeAll();
    heap_ = grown;
    size_ = size;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  SHUNT_NOINLINE void freeHeap() {
    std::destroy_n(heap_, size_);
    std::allocator<T>().deallocate(heap_, capacity_);
  }
  void freeAll() {
    clear();
    if (heap_ != nullptr) std::allocator<T>().deallocate(heap_, capacity_);
    heap_ = nullptr;
    capacity_ = N;
  }
  /// This vector must be empty.
  void takeFrom(InlineVector& o) {
    if (o.heap_ == nullptr) {
      std::uninitialized_move_n(o.inlineData(), o.size_, inlineData());
      size_ = o.size_;
      o.clear();
      return;
    }
    heap_ = std::exchange(o.heap_, nullptr);
    size_ = std::exchange(o.size_, 0);
    capacity_ = std::exchange(o.capacity_, static_cast<uint32_t>(N));
  }

  T* heap_ = nullptr;  // null: the elements are in inline_
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace shunt
