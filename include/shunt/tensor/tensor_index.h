// Indexing as in Python: x.index({0, Slice(1, None), "...", mask}) is x[0, 1:, ..., mask]. The rules are PyTorch's,
// which are NumPy's. Index values own their tensor; any thread.
#pragma once

#include <shunt/tensor/tensor.h>

#include <concepts>
#include <limits>
#include <optional>
#include <ostream>
#include <variant>
#include <vector>

namespace shunt::indexing {

/// The values that stand for a missing slice bound.
inline constexpr int64_t INDEX_MIN = std::numeric_limits<int64_t>::min();
inline constexpr int64_t INDEX_MAX = std::numeric_limits<int64_t>::max();

/// As an index: a new dimension of size 1. In a Slice: a missing bound.
inline constexpr std::nullopt_t None = std::nullopt;

/// Stands for all dimensions that the other indices leave.
struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis;

/// Positions of a dimension from start to stop, without stop. Throws for step 0; indexing throws for negative steps.
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

/// One index: a number selects one position, a bool or mask the true positions, an integer tensor the positions that it
/// lists.
class SHUNT_API TensorIndex {
 public:
  TensorIndex(std::nullopt_t) {}
  TensorIndex(EllipsisIndexType) : value_(Ellipsis) {}
  /// Accepts "..." only; throws for any other text.
  TensorIndex(const char* ellipsis);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  TensorIndex(T position) : value_(static_cast<int64_t>(position)) {}
  template <std::same_as<bool> T>
  TensorIndex(T on) : value_(on) {}
  TensorIndex(Slice slice) : value_(slice) {}
  TensorIndex(Tensor tensor) : value_(std::move(tensor)) {}

  /// The kind of index.
  bool is_none() const { return holds<std::monostate>(); }
  bool is_ellipsis() const { return holds<EllipsisIndexType>(); }
  bool is_integer() const { return holds<int64_t>(); }
  bool is_boolean() const { return holds<bool>(); }
  bool is_slice() const { return holds<Slice>(); }
  bool is_tensor() const { return holds<Tensor>(); }
  // The value. Throws std::bad_variant_access for an index of another kind.
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

/// self[indices]: a view if all indices are numbers, slices, None or "...", else a copy.
SHUNT_API Tensor get_item(const Tensor& self, ArrayRef<TensorIndex> indices);
/// self[indices] = value. Broadcasts the value.
SHUNT_API void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& value);
SHUNT_API void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Scalar& value);

}  // namespace shunt::indexing
