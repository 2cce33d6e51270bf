// ArrayRef<T>: a view of consecutive elements, built implicitly from vectors, arrays, initializer lists and single
// elements. It owns nothing: the elements must outlive it. A value type; any thread.
#pragma once

#include <shunt/core/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <vector>

namespace shunt {

template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using const_iterator = const T*;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  template <class A>
  ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no contiguous elements");
  }
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  // For arguments only: the elements live until the end of the full expression that contains the call.
  constexpr ArrayRef(std::initializer_list<T> l) : data_(l.size() ? l.begin() : nullptr), size_(l.size()) {}
#pragma GCC diagnostic pop

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  /// Throws IndexError if `i` is out of range; operator[] doesn't check.
  const T& at(size_t i) const {
    SHUNT_CHECK_INDEX(i < size_, "ArrayRef: index ", i, " is out of range for a list of length ", size_);
    return data_[i];
  }
  constexpr const T& front() const { return data_[0]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  /// A view of n elements, or of all, from index `from`. Doesn't check the range.
  constexpr ArrayRef slice(size_t from, size_t n) const { return ArrayRef(data_ + from, n); }
  constexpr ArrayRef slice(size_t from) const { return ArrayRef(data_ + from, size_ - from); }
  /// Same length and equal elements.
  constexpr bool equals(ArrayRef o) const {
    if (size_ != o.size_) return false;
    for (size_t i = 0; i < size_; ++i)
      if (!(data_[i] == o.data_[i])) return false;
    return true;
  }
  /// A copy that owns its elements.
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }

  friend constexpr bool operator==(ArrayRef a, ArrayRef b) { return a.equals(b); }
  friend std::ostream& operator<<(std::ostream& out, ArrayRef list) {
    out << '[';
    for (size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i];
    return out << ']';
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

/// Sizes and strides in elements, or dimensions.
using IntArrayRef = ArrayRef<int64_t>;
using OptionalIntArrayRef = std::optional<IntArrayRef>;

}  // namespace shunt
