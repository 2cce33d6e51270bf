// Stacks, repetitions, and views and copies with dimensions in another order, made of other operators.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/core/wrap_dim.h>
#include <shunt/ops.h>

#include <algorithm>

namespace shunt::native {
namespace {

/// What is put in a row, and along which dimension.
struct Parts {
  std::vector<Tensor> tensors;
  int64_t dim;

  Tensor joined() const { return shunt::cat(tensors, dim); }
  Tensor& joinedInto(Tensor& out) const { return shunt::cat_out(out, tensors, dim); }
};

template <class F>
Parts partsOf(const char* name, TensorList tensors, int64_t dim, F at_least) {
  SHUNT_CHECK(!tensors.empty(), name, " expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    implOf(t, name, "tensors");
    parts.push_back(at_least(t));
  }
  return {std::move(parts), dim};
}

Tensor atLeast2d(const Tensor& t) { return t.dim() == 0 ? t.reshape({1, 1}) : t.dim() == 1 ? t.unsqueeze(0) : t; }

Parts besideEachOther(TensorList tensors) {
  const bool vectors = !tensors.empty() && tensors[0].defined() && tensors[0].dim() < 2;
  return partsOf("hstack", tensors, vectors ? 0 : 1, [](const Tensor& t) { return t.dim() == 0 ? t.reshape({1}) : t; });
}
Parts belowEachOther(TensorList tensors) { return partsOf("vstack", tensors, 0, atLeast2d); }
Parts behindEachOther(TensorList tensors) {
  return partsOf("dstack", tensors, 2, [](const Tensor& t) {
    const Tensor matrix = atLeast2d(t);
    return matrix.dim() == 2 ? matrix.unsqueeze(-1) : matrix;
  });
}
Parts asColumns(TensorList tensors) {
  return partsOf("column_stack", tensors, 1,
                 [](const Tensor& t) { return t.dim() < 2 ? t.reshape({t.numel(), 1}) : t; });
}

/// Counted from the front; each once.
std::vector<int64_t> placesOf(const char* name, IntArrayRef dims, int64_t ndim) {
  std::vector<int64_t> places;
  for (const int64_t d : dims) {
    const int64_t place = maybe_wrap_dim(d, ndim);
    for (const int64_t other : places)
      SHUNT_CHECK(place != other, "movedim: repeated dim in `", name, "` (", dims, ")");
    places.push_back(place);
  }
  return places;
}

/// The dimension counted from the front; without one the tensor's elements in a row, and 0.
std::pair<Tensor, int64_t> alongDim(const Tensor& self, std::optional<int64_t> dim) {
  implOf(self, "repeat_interleave");
  const Tensor input = dim && self.dim() != 0 ? self : self.reshape({-1});
  return {input, maybe_wrap_dim(dim.value_or(0), input.dim())};
}

void checkOutputSize(std::optional<int64_t> expected, int64_t size) {
  SHUNT_CHECK(!expected || *expected == size, "repeat_interleave: Invalid output_size, expected ", size, " but got ",
              expected.value_or(0));
}

}  // namespace

Tensor hstack(TensorList tensors) { return besideEachOther(tensors).joined(); }
Tensor& hstack_out(TensorList tensors, Tensor& out) { return besideEachOther(tensors).joinedInto(out); }
Tensor vstack(TensorList tensors) { return belowEachOther(tensors).joined(); }
Tensor& vstack_out(TensorList tensors, Tensor& out) { return belowEachOther(tensors).joinedInto(out); }
Tensor dstack(TensorList tensors) { return behindEachOther(tensors).joined(); }
Tensor& dstack_out(TensorList tensors, Tensor& out) { return behindEachOther(tensors).joinedInto(out); }
Tensor column_stack(TensorList tensors) { return asColumns(tensors).joined(); }
Tensor& column_stack_out(TensorList tensors, Tensor& out) { return asColumns(tensors).joinedInto(out); }

Tensor broadcast_to(const Tensor& self, IntArrayRef size) { return self.expand(size); }

Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  implOf(self, "movedim");
  SHUNT_CHECK(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (", source,
              " dims) should contain the same number of dims as destination (", destination, " dims)");
  const int64_t n = self.dim();
  const std::vector<int64_t> from = placesOf("source", source, n), to = placesOf("destination", destination, n);
  if (n == 0) return self.alias();
  std::vector<int64_t> order(static_cast<size_t>(n), -1);
  std::vector<bool> moved(static_cast<size_t>(n));
  for (size_t i = 0; i < from.size(); ++i) {
    order[static_cast<size_t>(to[i])] = from[i];
    moved[static_cast<size_t>(from[i])] = true;
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (moved[static_cast<size_t>(next)]) ++next;
    d = next++;
  }
  return self.permute(order);
}
Tensor movedim_int(const Tensor& self, int64_t source, int64_t destination) {
  return native::movedim(self, IntArrayRef(&source, 1), IntArrayRef(&destination, 1));
}

Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1) { return self.transpose(axis0, axis1); }
Tensor& swapaxes_(Tensor& self, int64_t axis0, int64_t axis1) { return self.transpose_(axis0, axis1); }

Tensor tile(const Tensor& self, IntArrayRef dims) {
  implOf(self, "tile");
  const int64_t missing = std::max<int64_t>(self.dim() - static_cast<int64_t>(dims.size()), 0);
  std::vector<int64_t> repeats(static_cast<size_t>(missing), 1);
  repeats.insert(repeats.end(), dims.begin(), dims.end());
  return self.repeat(repeats);
}

Tensor ravel(const Tensor& self) {
  implOf(self, "ravel");
  return self.contiguous().view({-1});
}

Tensor fliplr(const Tensor& self) {
  implOf(self, "fliplr");
  SHUNT_CHECK(self.dim() >= 2, "Input must be >= 2-d.");
  return self.flip({1});
}
Tensor flipud(const Tensor& self) {
  implOf(self, "flipud");
  SHUNT_CHECK(self.dim() >= 1, "Input must be >= 1-d.");
  return self.flip({0});
}

// How many rows end at or before each place.
Tensor repeat_interleave_places(const Tensor& repeats, std::optional<int64_t> output_size) {
  const ScalarType dtype = implOf(repeats, "repeat_interleave", "repeats").dtype();
  SHUNT_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat, but got ", repeats.dim(),
              " dimensions");
  SHUNT_CHECK(dtype == kLong || dtype == kInt, "repeats has to be Long or Int tensor, but got ", dtype);
  if (repeats.numel() == 0) return repeats.new_zeros({0});
  SHUNT_CHECK(repeats.min().item().toLong() >= 0, "repeats can not be negative");
  const Tensor ends = repeats.to(kLong).cumsum(0);
  const int64_t total = ends.select(0, -1).item().toLong();
  checkOutputSize(output_size, total);
  const Tensor counts = ends.new_zeros({total + 1}).index_add(0, ends, shunt::ones_like(ends));
  return counts.cumsum(0).slice(0, 0, total).to(dtype);
}

Tensor repeat_interleave_tensor(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                                std::optional<int64_t> output_size) {
  const auto [input, d] = alongDim(self, dim);
  implOf(repeats, "repeat_interleave", "repeats");
  SHUNT_CHECK(repeats.dim() <= 1, "repeats must be 0-dim or 1-dim tensor, but got ", repeats.dim(), " dimensions");
  const Tensor counts = repeats.numel() == 1 ? repeats.reshape({1}).expand({input.size(d)}) : repeats.reshape({-1});
  SHUNT_CHECK(counts.size(0) == input.size(d),
              "repeats must have the same size as input along dim, but got repeats.size(0) = ", counts.size(0),
              " and input.size(", d, ") = ", input.size(d));
  return input.index_select(d, repeat_interleave_places(counts, output_size));
}

Tensor repeat_interleave(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  const auto [input, d] = alongDim(self, dim);
  SHUNT_CHECK(repeats >= 0, "repeats can not be negative, but got ", repeats);
  std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().end()), wide = sizes;
  sizes[static_cast<size_t>(d)] *= repeats;
  checkOutputSize(output_size, sizes[static_cast<size_t>(d)]);
  wide.insert(wide.begin() + d + 1, repeats);
  return input.unsqueeze(d + 1).expand(wide).clone(MemoryFormat::Contiguous).view(sizes);
}

}  // namespace shunt::native
