#include "tests/parity/tensors.h"

#include "tests/parity/dtypes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace parity {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Extremes {
  double max, min_normal;
};
Extremes extremesOf(int dtype) {
  switch (dtype) {
    case 5:
      return {65504, 0x1p-14};
    case 15:
      return {0x1.fep127, 0x1p-126};
    case 6:
      return {std::numeric_limits<float>::max(), std::numeric_limits<float>::min()};
    default:
      return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min()};
  }
}

double drawFloating(Rng& rng, int dtype, Data data) {
  const Extremes ex = extremesOf(dtype);
  switch (data) {
    case Data::kReal:
      return rng.uniform(-3, 3);
    case Data::kWide:
      return (rng.chance(0.5) ? 1 : -1) * std::exp(rng.uniform(-18, 18));
    case Data::kUnitInterval:
      return rng.uniform();
    case Data::kNonNegative:
      return static_cast<double>(rng.range(0, 400)) / 4;
    case Data::kSpecial: {
      const std::vector<double> some{
          kNaN, kInf, -kInf, -0.0, 0.0, ex.max, -ex.max, ex.min_normal, ex.min_normal / 4, -ex.min_normal / 8,
          1,    -1,   0.5,   1e4,  -1e4};
      return rng.chance(0.4) ? rng.pick(some) : rng.uniform(-3, 3);
    }
    case Data::kNonFinite: {
      const std::vector<double> some{kNaN, kInf, -kInf, -0.0, 0.0, ex.min_normal / 4, 1};
      return rng.chance(0.12) ? rng.pick(some) : rng.uniform(-3, 3);
    }
    default:
      return static_cast<double>(rng.range(-4, 4));
  }
}

void storeInteger(int dtype, int64_t v, uint8_t* at) {
  if (dtype == 11)
    *at = v != 0;
  else
    std::memcpy(at, &v, itemSize(dtype));  // little endian
}

void fillElement(Rng& rng, int dtype, Data data, uint8_t* at) {
  if (isFloating(dtype)) return storeElement(dtype, drawFloating(rng, dtype, data), at);
  const int64_t low = dtype == 0 || dtype == 11 ? 0 : -1;
  const bool extreme = data == Data::kSpecial && rng.chance(0.3);
  if (extreme && dtype != 11) {
    const auto bits = 8 * itemSize(dtype);
    const int64_t top = static_cast<int64_t>(uint64_t{1} << (bits - 1));
    return storeInteger(dtype, rng.pick(std::vector<int64_t>{top, top - 1, -1, top + 1, 0}), at);
  }
  switch (data) {
    case Data::kUnitInterval:
      return storeInteger(dtype, rng.range(0, 1), at);
    case Data::kNonNegative:
      return storeInteger(dtype, rng.range(0, 100), at);
    case Data::kSmallIntegers:
    case Data::kNonFinite:
      return storeInteger(dtype, rng.range(4 * low, 4), at);
    default:
      return storeInteger(dtype, dtype == 11 ? rng.range(0, 1) : rng.range(100 * low, 100), at);
  }
}

struct Strided {
  std::vector<int64_t> strides;
  int64_t offset = 0, storage = 0;
};

std::vector<size_t> memoryOrder(Rng& rng, size_t dims) {
  std::vector<size_t> order(dims);
  std::iota(order.begin(), order.end(), size_t{0});
  if (dims >= 2 && rng.chance(0.3))
    rng.shuffle(order);
  else if ((dims == 4 || dims == 5) && rng.chance(0.4)) {
    order.erase(order.begin() + 1);  // channels last
    order.push_back(1);
  }
  return order;
}

Strided drawStrides(Rng& rng, const std::vector<int64_t>& sizes, bool writable) {
  Strided r;
  const size_t n = sizes.size();
  r.strides.assign(n, 0);
  const int64_t stepped = rng.chance(0.2) && n != 0 ? rng.range(0, static_cast<int64_t>(n) - 1) : -1;
  const int64_t expanded = !writable && rng.chance(0.12) && n != 0 ? rng.range(0, static_cast<int64_t>(n) - 1) : -1;
  const std::vector<size_t> order = memoryOrder(rng, n);
  int64_t step = 1;
  for (size_t k = n; k-- > 0;) {
    const size_t d = order[k];
    if (static_cast<int64_t>(d) == expanded) continue;
    if (static_cast<int64_t>(d) == stepped) step *= rng.range(2, 3);
    r.strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  r.offset = rng.chance(0.15) ? rng.range(1, 3) : 0;
  r.storage = r.offset;
  if (numelOf(sizes) != 0) {
    ++r.storage;
    for (size_t d = 0; d < n; ++d) r.storage += (sizes[d] - 1) * r.strides[d];
  }
  return r;
}

int64_t addStrided(Rng& rng, Case& c, int dtype, const std::vector<int64_t>& sizes, bool writable) {
  const Strided s = drawStrides(rng, sizes, writable);
  StorageSpec storage;
  storage.dtype = dtype;
  storage.bytes.resize(static_cast<size_t>(s.storage) * itemSize(dtype));
  TensorSpec t;
  t.storage = static_cast<int>(c.storages.size());
  t.sizes = sizes;
  t.strides = s.strides;
  t.offset = s.offset;
  c.storages.push_back(std::move(storage));
  c.tensors.push_back(std::move(t));
  return static_cast<int64_t>(c.tensors.size()) - 1;
}

}  // namespace

int64_t numelOf(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}

std::vector<int64_t> drawShape(Rng& rng, int64_t max_dim) {
  if (max_dim >= 1 && rng.chance(0.15)) {  // long enough for vector loops and their tails
    if (max_dim >= 2 && rng.chance(0.5)) return {rng.range(1, 9), rng.range(8, 70)};
    return {rng.range(8, 300)};
  }

  int64_t dim = rng.chance(0.35) ? rng.range(0, 5) : rng.pick(std::vector<int64_t>{0, 1, 1, 2, 2, 2, 3, 3, 4});
  dim = std::min(dim, max_dim);
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < dim; ++d)
    sizes.push_back(rng.chance(0.04) ? 0 : rng.chance(0.2) ? 1 : rng.range(2, dim > 3 ? 3 : 6));
  return sizes;
}

std::vector<int64_t> drawBroadcastable(Rng& rng, const std::vector<int64_t>& full) {
  if (rng.chance(0.5)) return full;
  std::vector<int64_t> sizes = full;
  if (rng.chance(0.4)) sizes.erase(sizes.begin(), sizes.begin() + rng.range(0, static_cast<int64_t>(sizes.size())));
  for (int64_t& s : sizes)
    if (rng.chance(0.3)) s = 1;
  return sizes;
}

double drawNumber(Rng& rng, int dtype, Data data) {
  std::vector<uint8_t> bytes(itemSize(dtype));
  fillElement(rng, dtype, data, bytes.data());
  return loadElement(dtype, bytes.data());
}

int64_t addTensor(Rng& rng, Case& c, int dtype, const std::vector<int64_t>& sizes, Data data, bool writable) {
  const int64_t index = addStrided(rng, c, dtype, sizes, writable);
  std::vector<uint8_t>& bytes = c.storages.back().bytes;
  for (size_t at = 0; at < bytes.size(); at += itemSize(dtype)) fillElement(rng, dtype, data, &bytes[at]);
  return index;
}

int64_t addIntegers(Rng& rng, Case& c, int dtype, const std::vector<int64_t>& sizes, int64_t lo, int64_t hi) {
  const int64_t index = addStrided(rng, c, dtype, sizes, true);
  std::vector<uint8_t>& bytes = c.storages.back().bytes;
  for (size_t at = 0; at < bytes.size(); at += itemSize(dtype))
    storeElement(dtype, static_cast<double>(rng.range(lo, hi)), &bytes[at]);
  return index;
}

std::vector<uint8_t> drawGradient(const Case& c, size_t result, int dtype, int64_t numel) {
  Rng rng(c.gradient_seed + result);
  const int drawn_as = result < c.gradient_dtypes.size() ? c.gradient_dtypes[result] : dtype;
  std::vector<uint8_t> bytes(static_cast<size_t>(numel) * itemSize(dtype)), element(itemSize(drawn_as));
  for (size_t at = 0; at < bytes.size(); at += itemSize(dtype)) {
    fillElement(rng, drawn_as, c.integral_data ? Data::kSmallIntegers : Data::kReal, element.data());
    if (drawn_as == dtype)
      std::copy(element.begin(), element.end(), &bytes[at]);
    else
      storeElement(dtype, loadElement(drawn_as, element.data()), &bytes[at]);
  }
  return bytes;
}

}  // namespace parity
