// The tensors of a drawn case: shapes, layouts, storages and contents by the tokens of its rule.
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"

#include <algorithm>

namespace parity {

// How the tokens of a rule become sizes.
struct ShapeGrammar {
  Draft& d;

  std::vector<int64_t> full() {
    if (!d.full_) d.full_ = drawShape(d.rng);
    return *d.full_;
  }
  std::vector<int64_t> batch(bool broadcast) {
    if (!d.batch_) d.batch_ = drawShape(d.rng, 2);
    for (int64_t& s : *d.batch_) s = std::min<int64_t>(s, 5);
    return broadcast ? drawBroadcastable(d.rng, *d.batch_) : *d.batch_;
  }
  int64_t letter(char name) {
    const auto it = d.letters_.find(name);
    if (it != d.letters_.end()) return it->second;
    const bool is_batch_of_classes = name == 'n' && (d.op.starts_with("nll_loss") || d.op == "cross_entropy_loss");
    const double empty = is_batch_of_classes ? 0.15 : 0.04;
    const int64_t size = d.rng.chance(empty) ? 0 : d.rng.chance(0.15) ? d.rng.range(7, 40) : d.rng.range(1, 6);
    return d.letters_[name] = name == 'c' || (name >= 'p' && name <= 'r') ? std::max<int64_t>(size, 1) : size;
  }
  std::vector<int64_t> named(std::string_view token, bool writes) {
    std::vector<int64_t> sizes;
    if (token.starts_with('*') || token.starts_with('^')) sizes = batch(token[0] == '^');
    const bool broadcast = token.starts_with('~');
    if (broadcast || token.starts_with('*') || token.starts_with('^')) token.remove_prefix(1);
    for (const char c : token) sizes.push_back(c >= '0' && c <= '9' ? c - '0' : letter(c));
    return broadcast && !writes ? drawBroadcastable(d.rng, sizes) : sizes;
  }
  std::vector<int64_t> sizes(const std::string& token, bool is_first, bool writes) {
    switch (token.empty() ? 'D' : token[0]) {
      case '%':
        return writes || (is_first && d.rng.chance(0.5)) ? full() : drawBroadcastable(d.rng, full());
      case 'F':
        return full();
      case '@':
        return is_first ? drawShape(d.rng) : d.subject();
      case 'A':
        return drawShape(d.rng);
      case 'R':
        return reshaped();
      case 'D':
      case 'Q':
        return {};
      case 'C':
        return classes();
      case 'W':
        return {classCount()};
      case 'G':
        return lossGradient();
      case 'V':
        return partOfView();
      case 'S':
        return source();
      case 'N':
        return d.arg("normalized_shape").ints;
      case 'T':
        return statistics();
      // libtorch writes beyond the result for several indices into 0 dimensions.
      case 'I':
        return d.subject().empty() ? std::vector<int64_t>(static_cast<size_t>(d.rng.range(0, 1)), 1)
               : d.rng.chance(0.1) ? std::vector<int64_t>()
                                   : std::vector<int64_t>{d.rng.chance(0.05) ? 0 : d.rng.range(1, 7)};
      case 'X':
        return positions();
      case 'Y':
        return positionSource();
      case 'B':
        return drawShape(d.rng, 3);
      case 'U':
        return d.images().image;
      case 'H':
        return d.images().weight;
      case 'E':
        return {d.images().channels};
      case 'O':
      case 'J':
        return d.images().result;
      case 'M':
        return drawBroadcastable(d.rng, full());
      case 'P':
        return drawBroadcastable(d.rng, chosenSizes());
      default:
        return named(token, writes && !d.rng.chance(0.05));
    }
  }

  // Of a loss: nll_loss_backward's first tensor is the gradient.
  std::vector<int64_t> scores() { return d.has("grad_output") ? d.tensor(d.arg("self")).sizes : d.subject(); }
  int64_t classCount() { return scores()[scores().size() < 2 ? 0 : 1]; }

 private:
  std::vector<int64_t> reshaped() {
    std::vector<int64_t> sizes = d.subject();
    d.rng.shuffle(sizes);
    return sizes;
  }
  std::vector<int64_t> classes() {
    std::vector<int64_t> sizes = scores();
    sizes.erase(sizes.begin() + (sizes.size() < 2 ? 0 : 1));
    return sizes;
  }
  std::vector<int64_t> lossGradient() {
    if (d.arg("reduction").i != 0) return {};
    const bool nll = d.op.starts_with("nll");
    if (!nll) return full();
    return d.tensor(d.arg("target")).sizes;
  }
  std::vector<int64_t> partOfView() {
    std::vector<int64_t> sizes = d.subject();
    if (d.op.starts_with("as_strided")) return d.arg("size").ints;
    if (d.op.starts_with("diagonal")) return diagonalOf(std::move(sizes));
    if (sizes.empty()) return sizes;
    const auto dim = static_cast<size_t>(d.wrappedDim());
    if (d.op.starts_with("select")) {
      sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(dim));
      return sizes;
    }
    const auto bound = [&](const char* name, int64_t otherwise) {
      const Value& v = d.arg(name);
      const int64_t i = v.kind == Value::Kind::kNone ? otherwise : v.i;
      return std::clamp(i < 0 ? i + sizes[dim] : i, int64_t{0}, sizes[dim]);
    };
    const int64_t start = bound("start", 0), step = std::max<int64_t>(d.arg("step").i, 1);
    sizes[dim] = (std::max(bound("end", sizes[dim]) - start, int64_t{0}) + step - 1) / step;
    return sizes;
  }
  std::vector<int64_t> diagonalOf(std::vector<int64_t> sizes) {
    if (sizes.size() < 2) return sizes;
    auto row = d.wrappedDim("dim1"), column = d.wrappedDim("dim2");
    if (row == column) return sizes;
    const int64_t offset = d.arg("offset").i;
    const int64_t rows = sizes[static_cast<size_t>(row)] + std::min<int64_t>(offset, 0);
    const int64_t columns = sizes[static_cast<size_t>(column)] - std::max<int64_t>(offset, 0);
    if (row < column) std::swap(row, column);
    sizes.erase(sizes.begin() + row);
    sizes.erase(sizes.begin() + column);
    sizes.push_back(std::max<int64_t>(std::min(rows, columns), 0));
    return sizes;
  }
  std::vector<int64_t> statistics() {
    std::vector<int64_t> sizes = d.subject();
    for (size_t i = 0; i < d.arg("normalized_shape").ints.size(); ++i) sizes[sizes.size() - 1 - i] = 1;
    return sizes;
  }
  /// Of an index for gather: the subject's dimensions, none larger but `dim`.
  std::vector<int64_t> positions() {
    std::vector<int64_t> sizes = d.subject();
    if (sizes.empty()) return std::vector<int64_t>(static_cast<size_t>(d.rng.range(0, 1)), 1);
    const auto dim = static_cast<size_t>(d.wrappedDim());
    for (size_t k = 0; k < sizes.size(); ++k) sizes[k] = d.rng.range(std::min<int64_t>(sizes[k], 1), sizes[k]);
    sizes[dim] = d.subject()[dim] == 0 || d.rng.chance(0.05) ? 0 : d.rng.range(1, 7);
    return sizes;
  }
  /// An element for each position, and maybe more. The gradient is defined where there are no more.
  std::vector<int64_t> positionSource() {
    std::vector<int64_t> sizes = d.tensor(d.arg("index")).sizes;
    if (d.with_grad || d.plain) return sizes;
    for (int64_t& s : sizes) s += d.rng.chance(0.15) ? d.rng.range(0, 2) : 0;
    return sizes;
  }
  /// Of what index chooses; where that is an error, of anything.
  std::vector<int64_t> chosenSizes() {
    Case probe = d.c;
    probe.name = "aten::index";
    probe.overload = "Tensor";
    probe.args = {d.arg("self"), d.arg("indices")};
    probe.no_grad = true;
    probe.backward = false;
    const Outcome outcome = runModel(probe);
    return outcome.threw ? drawShape(d.rng) : outcome.returns[0].tensors[0].sizes;
  }
  std::vector<int64_t> source() {
    std::vector<int64_t> sizes = d.subject();
    if (!sizes.empty()) sizes[static_cast<size_t>(d.wrappedDim())] = numelOf(d.tensor(d.arg("index")).sizes);
    return sizes;
  }
};

namespace {

void decorate(Draft& d, TensorSpec& t, bool writes) {
  const int dtype = d.c.storages[static_cast<size_t>(t.storage)].dtype;
  if (t.sizes.empty() && !writes && !d.plain && (dtype == 4 || dtype == 7 || dtype == 11) && d.rng.chance(0.3)) {
    t.wrapped_number = true;
    return;
  }
  if (!d.with_grad || !isFloating(dtype)) return;
  t.requires_grad = d.plain || d.rng.chance(0.75);
  if (!writes && (d.plain || d.rng.chance(0.7))) return;
  t.origin = writes && !d.plain && d.rng.chance(0.08) ? Origin::kLeaf
             : d.rng.chance(0.6)                      ? Origin::kCloneOfLeaf
                                                      : Origin::kViewOfClone;
}

int64_t drawIndices(Draft& d, const std::vector<int64_t>& sizes, int64_t classes, bool ignored) {
  const int dtype = d.plain || d.rng.chance(0.8) ? 4 : d.rng.pick(std::vector<int>{3, 4, 0});
  if (classes <= 0) return addIntegers(d.rng, d.c, dtype, sizes, 0, 0);
  const int64_t index = addIntegers(d.rng, d.c, dtype, sizes, 0, classes - 1);
  auto& bytes = d.c.storages.back().bytes;
  if (ignored && dtype == 4 && !bytes.empty()) storeElement(dtype, -100, bytes.data());
  return index;
}

int dtypeFor(Draft& d, char token, bool is_data) {
  if (token == 'M') return d.plain || d.rng.chance(0.85) ? 11 : 0;
  if (!is_data || d.plain || (d.rule.flags & kSameDtypes) || d.rng.chance(0.7)) return d.dtype;
  return d.rng.pick(allDtypes());
}

/// Hidden state and cell, each of one number for a sample.
void drawStates(Draft& d, const shunt::Argument& a) {
  std::vector<int64_t> indices;
  for (int i = 0; i < 2; ++i) {
    indices.push_back(addTensor(d.rng, d.c, d.dtype, {d.subject()[0], 1}, d.data));
    decorate(d, d.c.tensors.back(), false);
  }
  d.preset(a.name, Value::ofTensors(indices));
}

void drawTensorList(Draft& d, const shunt::Argument& a, bool same) {
  if (d.op == "lstm_cell") return drawStates(d, a);
  const int64_t n = d.rng.range(1, 4);
  std::vector<int64_t> sizes = drawShape(d.rng, 4), indices;
  if (!same && sizes.empty()) sizes = {2};
  const int64_t dims = static_cast<int64_t>(sizes.size()) + (same ? 1 : 0);
  const int64_t dim = d.rng.range(-dims, dims - 1);
  if (d.has("dim")) d.preset("dim", Value::ofInt(dim));
  for (int64_t i = 0; i < n; ++i) {
    if (!same) sizes[static_cast<size_t>(dim < 0 ? dim + dims : dim)] = d.rng.range(i == 0 ? 1 : 0, 4);
    const bool legacy_empty = !same && !d.plain && d.rng.chance(0.08);
    const std::vector<int64_t> own = legacy_empty ? std::vector<int64_t>{0} : sizes;
    indices.push_back(addTensor(d.rng, d.c, i == 0 ? d.dtype : dtypeFor(d, 'L', true), own, d.data));
    decorate(d, d.c.tensors.back(), false);
  }
  d.preset(a.name, Value::ofTensors(indices));
}

/// A mask for some dimensions, or integers of shapes that broadcast, for dimensions side by side or apart.
void drawIndexList(Draft& d, const shunt::Argument& a) {
  const std::vector<int64_t> sizes = d.subject();
  std::vector<int64_t> indices;
  if (d.rng.chance(0.25)) {
    const auto first = static_cast<size_t>(d.rng.range(0, static_cast<int64_t>(sizes.size())));
    const auto last = static_cast<size_t>(d.rng.range(static_cast<int64_t>(first), static_cast<int64_t>(sizes.size())));
    indices.assign(first, -1);
    if (first < last) {
      const std::vector<int64_t> masked(sizes.begin() + static_cast<ptrdiff_t>(first),
                                        sizes.begin() + static_cast<ptrdiff_t>(last));
      indices.push_back(addIntegers(d.rng, d.c, d.rng.chance(0.8) ? 11 : 0, masked, 0, 1));
    }
    return d.preset(a.name, Value::ofOptionalTensors(indices));
  }
  const std::vector<int64_t> whole = drawShape(d.rng, 3);
  for (const int64_t size : sizes) {
    if (d.rng.chance(0.15)) break;
    const std::vector<int64_t> shape = size == 0 ? std::vector<int64_t>{0} : drawBroadcastable(d.rng, whole);
    const int dtype = d.plain || d.rng.chance(0.97) ? 4 : 3;
    indices.push_back(d.rng.chance(0.4) ? -1
                                        : addIntegers(d.rng, d.c, dtype, shape, -size, std::max<int64_t>(size - 1, 0)));
  }
  d.preset(a.name, Value::ofOptionalTensors(indices));
}

}  // namespace

int64_t drawTensor(Draft& d, const shunt::Argument& a) {
  const std::string& token = d.tokens_[a.name];
  const char kind = token.empty() ? 'D' : token[0];
  if (kind == 'Z') return drawEinsum(d), -1;
  if (a.type.list && a.type.element_optional) return drawIndexList(d, a), -1;
  if (a.type.list) return drawTensorList(d, a, kind == 'K'), -1;
  const bool is_first = a.name == d.first_tensor_, writes = a.is_write();
  ShapeGrammar grammar{d};
  const std::vector<int64_t> sizes = grammar.sizes(token, is_first, writes);
  if (kind == 'J') {
    const std::vector<int64_t>& image = d.images().image;
    return addIntegers(d.rng, d.c, 4, sizes, 0, image[image.size() - 2] * image.back() - 1);
  }
  if (kind == 'B') return drawIndices(d, sizes, d.dims() == 0 ? 0 : d.subject()[0], false);
  if (kind == 'I' || kind == 'X') return drawIndices(d, sizes, d.sizeOfDim(), false);
  if (kind == 'C') return drawIndices(d, sizes, grammar.classCount(), d.rng.chance(0.2));
  const bool weights = kind == 'W' || kind == 'Q' || kind == 'T';
  if (weights) d.c.integral_data = false;
  const Data data = weights ? Data::kUnitInterval : d.data;
  const int dtype = dtypeFor(d, kind, !is_first && kind != 'W' && kind != 'G' && kind != 'Q');
  const bool writable = writes && !(!d.plain && d.rng.chance(0.08));
  const int64_t index = addTensor(d.rng, d.c, dtype, sizes, data, writable);
  if (!weights || (!d.plain && d.rng.chance(0.1))) decorate(d, d.c.tensors.back(), writes);
  return index;
}

}  // namespace parity
