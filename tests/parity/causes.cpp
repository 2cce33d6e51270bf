#include "tests/parity/causes.h"

#include "tests/parity/compare.h"
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"

#include <shunt/core/dispatcher.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

namespace parity {
namespace {

size_t argumentNumber(const Case& c, std::string_view name) {
  const auto op = shunt::Dispatcher::singleton().findSchemaOrThrow(c.name.c_str(), c.overload.c_str());
  const auto& args = op.schema().arguments();
  return static_cast<size_t>(std::ranges::find(args, name, &shunt::Argument::name) - args.begin());
}

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// The lines along one dimension of the tensor that is sorted.
class Lines {
 public:
  Lines(const Case& c, const TensorSpec& sorted, int64_t dim) : case_(c), sorted_(sorted) {
    const auto dims = static_cast<int64_t>(sorted.sizes.size());
    dim_ = static_cast<size_t>(dim < 0 ? dim + dims : dim);
  }
  bool has(const std::vector<int64_t>& sizes) const {
    return sizes.size() == sorted_.sizes.size() && (sizes.empty() || dim_ < sizes.size());
  }
  size_t dim() const { return dim_; }
  int64_t length() const { return sorted_.sizes.empty() ? 1 : sorted_.sizes[dim_]; }

  /// The place of element `flat` of a tensor of `sizes`, which may be shorter along the lines.
  std::vector<int64_t> placeOf(size_t flat, const std::vector<int64_t>& sizes) const {
    std::vector<int64_t> place(sizes.size());
    auto rest = static_cast<int64_t>(flat);
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) place[d] = rest % sizes[d];
    return place;
  }
  std::vector<int64_t> along(std::vector<int64_t> place, int64_t position) const {
    if (!place.empty()) place[dim_] = position;
    return place;
  }
  bool isFirst(const std::vector<int64_t>& place) const { return place.empty() || place[dim_] == 0; }
  int64_t storagePlace(const std::vector<int64_t>& place) const {
    int64_t at = sorted_.offset;
    for (size_t d = 0; d < place.size(); ++d) at += place[d] * sorted_.strides[d];
    return at;
  }
  double element(const std::vector<int64_t>& place) const {
    const StorageSpec& storage = case_.storages[static_cast<size_t>(sorted_.storage)];
    const size_t at = static_cast<size_t>(storagePlace(place)) * itemSize(storage.dtype);
    return at < storage.bytes.size() ? loadElement(storage.dtype, &storage.bytes[at]) : 0;
  }

 private:
  const Case& case_;
  const TensorSpec& sorted_;
  size_t dim_;
};

double valueOf(const TensorState& t, size_t i) { return loadElement(t.dtype, &t.bytes[i * itemSize(t.dtype)]); }

/// Whether no line of the positions `t` has one twice.
bool areDistinct(const Lines& lines, const TensorState& t) {
  std::set<std::pair<std::vector<int64_t>, double>> seen;
  const size_t elements = t.bytes.size() / itemSize(t.dtype);
  for (size_t i = 0; i < elements; ++i)
    if (!seen.insert({lines.along(lines.placeOf(i, t.sizes), 0), valueOf(t, i)}).second) return false;
  return true;
}

/// Positions of equal elements, or values that are equal themselves, as 0 and -0 are.
bool chooseEquals(const Lines& lines, const TensorState& a, const TensorState& b, const std::vector<size_t>& wrong) {
  if (!lines.has(a.sizes) || (!isFloating(a.dtype) && !areDistinct(lines, a))) return false;
  return std::ranges::all_of(wrong, [&](size_t i) {
    const double x = valueOf(a, i), y = valueOf(b, i);
    if (isFloating(a.dtype) || same(x, y)) return same(x, y);
    const auto inside = [&](double v) { return v >= 0 && v < static_cast<double>(lines.length()); };
    if (!inside(x) || !inside(y)) return false;
    const std::vector<int64_t> place = lines.placeOf(i, a.sizes);
    return same(lines.element(lines.along(place, static_cast<int64_t>(x))),
                lines.element(lines.along(place, static_cast<int64_t>(y))));
  });
}

/// Sets of a gradient's elements, each in one; at first each alone.
class Sets {
 public:
  explicit Sets(size_t elements) : parent_(elements) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t of(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t i, size_t k) { parent_[of(i)] = of(k); }

 private:
  std::vector<size_t> parent_;
};

/// Gradients that equal elements of a line share otherwise: their sums are the same. The leaf may be the whole storage,
/// of which the sorted tensor shows some elements, some of them in several lines; all others have their own gradient.
bool shareAmongEquals(const Lines& lines, const TensorSpec& sorted, const TensorState& a, const TensorState& b) {
  const size_t elements = a.bytes.size() / itemSize(a.dtype);
  Sets sets(elements);
  int64_t shown = 1;
  for (const int64_t s : sorted.sizes) shown *= s;
  for (int64_t flat = 0; flat < shown; ++flat) {
    const std::vector<int64_t> place = lines.placeOf(static_cast<size_t>(flat), sorted.sizes);
    const auto gradientOf = [&](const std::vector<int64_t>& p) {
      int64_t at = 0;
      for (size_t d = 0; d < p.size(); ++d) at = at * sorted.sizes[d] + p[d];
      return static_cast<size_t>(sorted.origin == Origin::kViewOfClone ? lines.storagePlace(p) : at);
    };
    for (int64_t p = 0; p < lines.length(); ++p) {
      const std::vector<int64_t> other = lines.along(place, p);
      if (!same(lines.element(other), lines.element(place))) continue;
      if (gradientOf(other) >= elements || gradientOf(place) >= elements) return false;
      sets.join(gradientOf(other), gradientOf(place));
    }
  }
  struct Sums {
    double ours = 0, theirs = 0, largest = 1;
  };
  std::vector<Sums> sums(elements);
  for (size_t i = 0; i < elements; ++i) {
    Sums& s = sums[sets.of(i)];
    s.ours += valueOf(a, i), s.theirs += valueOf(b, i);
    s.largest = std::max({s.largest, std::abs(valueOf(a, i)), std::abs(valueOf(b, i))});
  }
  return std::ranges::all_of(sums, [&](const Sums& s) {
    const double allowed = epsilonOf(a.dtype) * s.largest * static_cast<double>(lines.length());
    return std::abs(s.ours - s.theirs) <= allowed || same(s.ours, s.theirs);
  });
}

/// How often index_put writes to each element; empty where it can't be said.
std::vector<int64_t> writesOf(const Case& c) {
  Case counting = c;
  counting.backward = false;
  counting.no_grad = true;
  for (TensorSpec& t : counting.tensors) t.requires_grad = false, t.origin = Origin::kLeaf;
  const auto put = [&](const char* name, std::vector<int64_t> sizes, int64_t value) {
    TensorSpec t;
    int64_t elements = 1;
    t.strides.resize(sizes.size());
    for (size_t d = sizes.size(); d-- > 0; elements *= sizes[d]) t.strides[d] = elements;
    t.sizes = std::move(sizes);
    t.storage = static_cast<int>(counting.storages.size());
    StorageSpec storage{static_cast<int>(shunt::kLong),
                        std::vector<uint8_t>(static_cast<size_t>(elements) * sizeof value)};
    for (int64_t i = 0; i < elements; ++i)
      std::memcpy(&storage.bytes[static_cast<size_t>(i) * sizeof value], &value, sizeof value);
    counting.storages.push_back(std::move(storage));
    counting.args[argumentNumber(c, name)] = Value::ofTensor(static_cast<int64_t>(counting.tensors.size()));
    counting.tensors.push_back(std::move(t));
  };
  put("self", c.tensors[static_cast<size_t>(c.args[argumentNumber(c, "self")].ints[0])].sizes, 0);
  put("values", {}, 1);
  counting.args[argumentNumber(c, "accumulate")] = Value::ofBool(true);
  const Outcome outcome = runModel(counting);
  if (outcome.threw || outcome.returns.empty() || outcome.returns[0].tensors.empty()) return {};
  const std::vector<uint8_t>& bytes = outcome.returns[0].tensors[0].bytes;
  std::vector<int64_t> counts(bytes.size() / sizeof(int64_t));
  std::memcpy(counts.data(), bytes.data(), bytes.size());
  return counts;
}

bool writeTwice(const Case& c, const TensorState& a, const std::vector<size_t>& wrong) {
  const Value& accumulate = c.args[argumentNumber(c, "accumulate")];
  if (accumulate.i != 0) return false;
  const std::vector<int64_t> writes = writesOf(c);
  const size_t item = itemSize(a.dtype);
  if (writes.size() * item != a.bytes.size()) return false;
  const TensorSpec& values = c.tensors[static_cast<size_t>(c.args[argumentNumber(c, "values")].ints[0])];
  const std::vector<uint8_t>& given = c.storages[static_cast<size_t>(values.storage)].bytes;
  return std::ranges::all_of(wrong, [&](size_t i) {
    bool is_given = false;
    for (size_t at = 0; at + item <= given.size() && !is_given; at += item)
      is_given = std::memcmp(&given[at], &a.bytes[i * item], item) == 0;
    return writes[i] > 1 && is_given;
  });
}

double largestOperand(const Case& c) {
  double largest = 1;
  for (const StorageSpec& s : c.storages)
    for (size_t at = 0; at < s.bytes.size(); at += itemSize(s.dtype))
      if (const double v = std::abs(loadElement(s.dtype, &s.bytes[at])); std::isfinite(v))
        largest = std::max(largest, v);
  return largest;
}

/// Whether the libraries agree on the values of the same operands as tensors.
bool agreeOnTensors(Case c) {
  for (TensorSpec& t : c.tensors) t.wrapped_number = false;
  const Outcome ours = runShunt(c), theirs = runModel(c);
  if (ours.threw || theirs.threw || ours.backward_threw || theirs.backward_threw) return false;
  return std::ranges::none_of(compareOutcomes(c, ours, theirs),
                              [](const Difference& d) { return d.what.ends_with("values"); });
}

/// Differences that come of parts that have the default dtype since numbers are all their operands.
bool roundNumbersAlone(const Case& c, const TensorState& a, const TensorState& b, const std::vector<size_t>& wrong) {
  const bool any = std::ranges::any_of(c.tensors, &TensorSpec::wrapped_number);
  if (!any || a.dtype != static_cast<int>(shunt::kDouble)) return false;
  const double term = std::pow(std::min(largestOperand(c), 16.0), 2);  // a product of two operands, which may cancel
  const double rounding = 8 * epsilonOf(static_cast<int>(shunt::kFloat));
  return std::ranges::all_of(wrong,
                             [&](size_t i) {
                               const double x = valueOf(a, i), y = valueOf(b, i);
                               return std::abs(x - y) <= rounding * std::max({std::abs(x), std::abs(y), term});
                             }) &&
         agreeOnTensors(c);
}

/// What libtorch makes of cat or stack without out=; undefined when it refuses that.
TensorState withoutOut(Case c) {
  c.args.erase(c.args.begin() + static_cast<std::ptrdiff_t>(argumentNumber(c, "out")));
  c.overload.clear();
  const Outcome outcome = runModel(c);
  if (outcome.threw || outcome.returns.empty() || outcome.returns[0].tensors.empty()) return {};
  return outcome.returns[0].tensors[0];
}

/// libtorch divides by the stride of the dimension to count what it copies, also where that addresses nothing. What
/// Shunt leaves there has to be right all the same.
bool isLeftAsItWas(const Case& c, const TensorState& ours, const TensorState& theirs,
                   const std::vector<size_t>& wrong) {
  const TensorSpec& out = c.tensors[static_cast<size_t>(c.args[argumentNumber(c, "out")].ints[0])];
  const Lines lines(c, out, c.args[argumentNumber(c, "dim")].i);
  if (!out.defined || out.sizes.empty() || out.sizes != theirs.sizes || lines.length() != 1) return false;
  int64_t dense = 1;
  for (size_t d = lines.dim() + 1; d < out.sizes.size(); ++d) dense *= out.sizes[d];
  const bool is_left = out.strides[lines.dim()] != dense && std::ranges::all_of(wrong, [&](size_t i) {
                         return same(valueOf(theirs, i), lines.element(lines.placeOf(i, theirs.sizes)));
                       });
  if (!is_left) return false;
  const TensorState right = withoutOut(c);
  return right.defined && right.sizes == ours.sizes && std::ranges::all_of(wrong, [&](size_t i) {
           std::vector<uint8_t> cast(itemSize(ours.dtype));
           storeElement(ours.dtype, valueOf(right, i), cast.data());
           return same(valueOf(ours, i), loadElement(ours.dtype, cast.data()));
         });
}

/// Gradients of rows that the matrix' square does not reach.
bool areBelowSquare(const TensorSpec& matrix, const TensorState& a, const std::vector<size_t>& wrong) {
  const int64_t rows = matrix.sizes[0], columns = matrix.sizes[1];
  std::set<int64_t> below;
  for (int64_t r = columns; r < rows; ++r)
    for (int64_t k = 0; k < columns; ++k)
      below.insert(a.sizes == matrix.sizes ? r * columns + k
                                           : matrix.offset + r * matrix.strides[0] + k * matrix.strides[1]);
  return std::ranges::all_of(wrong, [&](size_t i) { return below.contains(static_cast<int64_t>(i)); });
}

}  // namespace

std::string causeOf(const Case& c, const TensorState& a, const TensorState& b, const std::vector<size_t>& wrong,
                    bool is_grad, size_t of) {
  const std::string_view op = baseName(c.name);
  if (op == "index_put") return !is_grad && writeTwice(c, a, wrong) ? "written twice" : "";
  if (op == "binary_cross_entropy_with_logits") return roundNumbersAlone(c, a, b, wrong) ? "of numbers alone" : "";
  if (op == "cat" || op == "stack") return c.overload == "out" && isLeftAsItWas(c, a, b, wrong) ? "left as it was" : "";
  if (op != "topk" && op != "sort" && op != "argsort" && op != "trace") return "";
  const auto self = static_cast<size_t>(c.args[argumentNumber(c, "self")].ints[0]);
  const TensorSpec& operand = c.tensors[self];
  if (!operand.defined) return "";
  if (op == "trace")
    return is_grad && operand.sizes.size() == 2 && areBelowSquare(operand, a, wrong) ? "below the square" : "";
  const Lines lines(c, operand, c.args[argumentNumber(c, "dim")].i);
  const bool equal = is_grad ? of == self && shareAmongEquals(lines, operand, a, b) : chooseEquals(lines, a, b, wrong);
  return equal ? "equal elements" : "";
}

}  // namespace parity
