// Indices of every kind: x.index({0, Slice(1, None), "...", mask}) is Python's x[0, 1:, ..., mask]. PyTorch's rules,
// which are NumPy's. Values that own their tensor; any thread.
#pragma once

#include <shunt/tensor/tensor.h>

#include <concepts>
#include <limits>
#include <optional>
#include <ostream>
#include <variant>
#include <vector>

namespace shunt::indexing {

/// The bounds of a slice that has none.
inline constexpr int64_t INDEX_MIN = std::numeric_limits<int64_t>::min();
inline constexpr int64_t INDEX_MAX = std::numeric_limits<int64_t>::max();

/// A new dimension of size 1, and in a Slice a bound that isn't given.
inline constexpr std::nullopt_t None = std::nullopt;

/// As many whole dimensions as the other indices leave.
struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis;

/// Positions of a dimension from start up to stop. Throws for step 0.
class SHUNT_API Slice {
 public:
  explicit Slice(std::optional<int64_t> start = None, std::optional<int64_t> stop = None,
                 std::optional<int64_t> step = None);
  /// The bounds, and the distance from one position to the next.
  int64_t start() const { return start_; }
  int64_t stop() const { return stop_; }
  int64_t step() const { return step_; }

 private:
  int64_t start_, stop_, step_;
};

/// One index. Numbers choose one position, bools and masks those that are true, tensors of integers what they name.
class SHUNT_API TensorIndex {
 public:
  TensorIndex(std::nullopt_t) {}
  TensorIndex(EllipsisIndexType) : value_(Ellipsis) {}
  /// "...". Throws for every other text.
  TensorIndex(const char* ellipsis);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  TensorIndex(T position) : value_(static_cast<int64_t>(position)) {}
  template <std::same_as<bool> T>
  TensorIndex(T on) : value_(on) {}
  TensorIndex(Slice slice) : value_(slice) {}
  TensorIndex(Tensor tensor) : value_(std::move(tensor)) {}

  /// Which kind of index it is.
  bool is_none() const { return holds<std::monostate>(); }
  bool is_ellipsis() const { return holds<EllipsisIndexType>(); }
  bool is_integer() const { return holds<int64_t>(); }
  bool is_boolean() const { return holds<bool>(); }
  bool is_slice() const { return holds<Slice>(); }
  bool is_tensor() const { return holds<Tensor>(); }
  // For an index of that kind only.
  int64_t integer() const { return std::get<int64_t>(value_); }
  bool boolean() const { return std::get<bool>(value_); }
  const Slice& slice() const { return std::get<Slice>(value_); }
  const Tensor& tensor() const { return std::get<Tensor>(value_); }

 private:
  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(value_);
  }
  std::variant<std::monostate, EllipsisIndexType, int64_t, bool, Slice, Tensor> value_;
};

SHUNT_API std::ostream& operator<<(std::ostream& out, const Slice& slice);
SHUNT_API std::ostream& operator<<(std::ostream& out, const TensorIndex& index);
SHUNT_API std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices);

/// self[indices]: a view where only numbers, slices, None and "..." are among them.
SHUNT_API Tensor get_item(const Tensor& self, ArrayRef<TensorIndex> indices);
/// self[indices] = value, broadcast.
SHUNT_API void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& value);
SHUNT_API void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Scalar& value);

}  // namespace shunt::indexing
