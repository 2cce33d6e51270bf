// Numbers, slices, None and "..." make a view; what tensors and bools choose of that is left to index and index_put_.
#include "src/tensor/item.h"

#include <shunt/ops.h>
#include <shunt/tensor/tensor_index.h>

#include <algorithm>
#include <string_view>

namespace shunt::indexing {
namespace {

Tensor selected(const Tensor& self, int64_t dim, int64_t index, int64_t position) {
  SHUNT_CHECK_INDEX(self.dim() != 0,
                    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                    "convert a 0-dim tensor to a number");
  const int64_t size = self.size(dim);
  SHUNT_CHECK_INDEX(index >= -size && index < size, "index ", index, " is out of bounds for dimension ", position,
                    " with size ", size);
  return self.select(dim, index);
}

Tensor sliced(const Tensor& self, int64_t dim, const Slice& slice) {
  SHUNT_CHECK_VALUE(slice.step() > 0, "step must be greater than zero, but got ", slice.step());
  return self.slice(dim, slice.start(), slice.stop(), slice.step());
}

/// A bool as an index of a dimension of size 1: that one, or none.
Tensor indexOf(bool on, Device device) {
  const TensorOptions options = TensorOptions(kLong).device(device);
  return on ? zeros({1}, options) : empty({0}, options);
}

/// Whether this is an integer, and another one in each sample of a vmap.
bool isIntegerOfSample(const Tensor& t) {
  return t.dim() == 0 && isIntegralType(t.dtype(), false) && detail::showsSample(t);
}

bool isMask(const Tensor& t) { return t.dtype() == kBool || t.dtype() == kByte; }

/// Dimensions of the tensor that the indices speak of, the ellipsis aside.
int64_t numSpecified(ArrayRef<TensorIndex> indices) {
  int64_t n = 0;
  for (const TensorIndex& index : indices) {
    if (index.is_tensor())
      n += isMask(index.tensor()) ? index.tensor().dim() : 1;
    else
      n += index.is_integer() || index.is_slice();
  }
  return n;
}

/// The view that is left when all indices but tensors have been taken, and the tensors for its dimensions.
class View {
 public:
  View(const Tensor& self, ArrayRef<TensorIndex> indices) : result(self) {
    const int64_t specified = numSpecified(indices);
    SHUNT_CHECK_INDEX(specified <= self.dim(), "too many indices for tensor of dimension ", self.dim(), " (got ",
                      specified, ")");
    for (size_t i = 0; i < indices.size(); ++i) take(indices[i], self.dim() - specified, static_cast<int64_t>(i));
    if (!integers_.empty()) putIntegersBesideTensors();
  }

  Tensor result;
  std::vector<std::optional<Tensor>> tensors;

  /// Whether nothing but integers and slices index, so that it would be a view but for those that differ between
  /// samples.
  bool picksView() const {
    return std::ranges::count_if(tensors, [](const auto& t) { return t.has_value(); }) == std::ssize(integers_);
  }

 private:
  void take(const TensorIndex& index, int64_t left, int64_t position) {
    if (index.is_integer()) {
      result = selected(result, dim_, index.integer(), position);
    } else if (index.is_slice()) {
      const Slice& s = index.slice();
      if (s.start() != 0 || s.stop() < result.size(dim_) || s.step() != 1) result = sliced(result, dim_, s);
      ++dim_;
    } else if (index.is_ellipsis()) {
      dim_ += left;
    } else if (index.is_none()) {
      result = result.unsqueeze(dim_++);
    } else if (index.is_boolean()) {
      takeBool(index.boolean());
    } else {
      takeTensor(index.tensor(), position);
    }
  }
  void takeBool(bool on) {
    result = result.unsqueeze(dim_);
    record(indexOf(on, result.device()));
  }
  /// Tensors without dimensions count as the number that they hold.
  void takeTensor(const Tensor& tensor, int64_t position) {
    SHUNT_CHECK_INDEX(tensor.defined(), "index ", position, " is an undefined tensor");
    if (tensor.dim() != 0 || !isIntegralType(tensor.dtype(), true)) return record(tensor);
    if (isMask(tensor)) return takeBool(tensor.item().toLong() != 0);
    if (isIntegerOfSample(tensor)) {
      integers_.push_back(dim_);
      return record(tensor.to(kLong));
    }
    result = selected(result, dim_, tensor.item<int64_t>(), position);
  }
  void record(Tensor tensor) {
    tensors.resize(static_cast<size_t>(dim_ + 1));
    tensors[static_cast<size_t>(dim_++)] = std::move(tensor);
  }

  /// Numbers take their dimensions away before tensors index, and so don't part tensors that are neighbours. Those of
  /// samples, which index as tensors do, would: they go where the first of the others is.
  void putIntegersBesideTensors() {
    const auto isInteger = [&](int64_t d) { return std::ranges::find(integers_, d) != integers_.end(); };
    const auto at = [&](int64_t d) {
      return d < std::ssize(tensors) ? tensors[static_cast<size_t>(d)] : std::optional<Tensor>();
    };
    std::vector<int64_t> order;
    bool beside = false;
    for (int64_t d = 0; d < result.dim(); ++d) {
      if (isInteger(d)) continue;
      if (!beside && at(d)) {
        order.insert(order.end(), integers_.begin(), integers_.end());
        beside = true;
      }
      SHUNT_CHECK_INDEX(!at(d) || !isMask(*at(d)) || at(d)->dim() == 1, "an integer that differs between the samples ",
                        "of vmap and a mask of shape ", at(d)->sizes(), " can't index at once: index by one, then by ",
                        "the other");
      order.push_back(d);
    }
    if (!beside) return;
    std::vector<std::optional<Tensor>> reordered;
    for (const int64_t d : order) reordered.push_back(at(d));
    while (!reordered.back()) reordered.pop_back();
    result = result.permute(order);
    tensors = std::move(reordered);
  }

  int64_t dim_ = 0;
  std::vector<int64_t> integers_;  // the dimensions of integers that differ between samples
};

/// Sizes without those in front that are 1, as NumPy's assignments take values.
IntArrayRef withoutOnes(IntArrayRef sizes) {
  size_t first = 0;
  while (first < sizes.size() && sizes[first] == 1) ++first;
  return sizes.slice(first, sizes.size() - first);
}

Tensor withoutOnes(const Tensor& value) {
  const IntArrayRef sizes = withoutOnes(value.sizes());
  return sizes.size() == value.sizes().size() ? value : value.view(sizes);
}

void assign(Tensor to, const Tensor& value) { to.copy_(to.sizes() == value.sizes() ? value : withoutOnes(value)); }

}  // namespace

Slice::Slice(std::optional<int64_t> start, std::optional<int64_t> stop, std::optional<int64_t> step)
    : step_(step.value_or(1)) {
  SHUNT_CHECK_VALUE(step_ != 0, "slice step cannot be zero");
  start_ = start.value_or(step_ < 0 ? INDEX_MAX : 0);
  stop_ = stop.value_or(step_ < 0 ? INDEX_MIN : INDEX_MAX);
}

TensorIndex::TensorIndex(const char* ellipsis) : value_(Ellipsis) {
  SHUNT_CHECK(std::string_view(ellipsis) == "...", "Expected \"...\" to represent an ellipsis index, but got \"",
              ellipsis, "\"");
}

std::ostream& operator<<(std::ostream& out, const Slice& slice) {
  return out << slice.start() << ':' << slice.stop() << ':' << slice.step();
}

std::ostream& operator<<(std::ostream& out, const TensorIndex& index) {
  if (index.is_none()) return out << "None";
  if (index.is_ellipsis()) return out << "...";
  if (index.is_integer()) return out << index.integer();
  if (index.is_boolean()) return out << (index.boolean() ? "true" : "false");
  if (index.is_slice()) return out << index.slice();
  return out << index.tensor();
}

std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices) {
  out << '(';
  for (size_t i = 0; i < indices.size(); ++i) out << (i != 0 ? ", " : "") << indices[i];
  return out << ')';
}

Tensor get_item(const Tensor& self, ArrayRef<TensorIndex> indices) {
  if (indices.size() == 1 && indices[0].is_integer()) return selected(self, 0, indices[0].integer(), 0);
  if (indices.size() == 1 && indices[0].is_slice()) return sliced(self, 0, indices[0].slice());
  const View view(self, indices);
  if (!view.tensors.empty()) {
    Tensor copy = view.result.index(TensorOptList(view.tensors));
    if (view.picksView()) detail::markPicked(copy);
    return copy;
  }
  return view.result.is_same(self) ? alias(self) : view.result;
}

void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& value) {
  if (indices.size() == 1) {
    const TensorIndex& index = indices[0];
    if (index.is_boolean()) return index.boolean() ? assign(self.unsqueeze(0), value) : void();
    if (index.is_integer()) return assign(selected(self, 0, index.integer(), 0), value);
    if (index.is_slice()) return assign(sliced(self, 0, index.slice()), value);
  }
  const View view(self, indices);
  if (view.tensors.empty()) return assign(view.result, value);
  view.result.index_put_(TensorOptList(view.tensors), withoutOnes(value));
}

void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Scalar& value) {
  set_item(self, indices, scalar_tensor(value, self.options()));
}

}  // namespace shunt::indexing

namespace shunt {

Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  SHUNT_CHECK_INDEX(!indices.empty(), "Passing an empty index list to Tensor::index() is not valid syntax");
  return indexing::get_item(*this, indices);
}
Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return index(ArrayRef<indexing::TensorIndex>(indices));
}

namespace {
template <class Value>
void putAt(const Tensor& self, ArrayRef<indexing::TensorIndex> indices, const Value& value) {
  SHUNT_CHECK_INDEX(!indices.empty(), "Passing an empty index list to Tensor::index_put_() is not valid syntax");
  indexing::set_item(self, indices, value);
}
}  // namespace

Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value) {
  putAt(*this, indices, value);
  return *this;
}
Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) {
  putAt(*this, indices, value);
  return *this;
}
Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value) {
  return index_put_(ArrayRef<indexing::TensorIndex>(indices), value);
}
Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) {
  return index_put_(ArrayRef<indexing::TensorIndex>(indices), value);
}

Tensor Tensor::operator[](const Scalar& index) const {
  SHUNT_CHECK_INDEX(index.isIntegral(false), "Can only index tensors with integral scalars, but got ", index);
  return select(0, index.toLong());
}
Tensor Tensor::operator[](const Tensor& index) const {
  SHUNT_CHECK_INDEX(index.defined(), "Can only index with tensors that are defined");
  SHUNT_CHECK_INDEX(index.dim() == 0, "Can only index with tensors that are scalars (zero-dim), but got one of shape ",
                    index.sizes());
  if (indexing::isIntegerOfSample(index)) return indexing::get_item(*this, indexing::TensorIndex(index));
  return (*this)[index.item()];
}

}  // namespace shunt
