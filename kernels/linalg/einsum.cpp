// einsum: sums of products of tensors by an equation of subscripts, as products of matrices, two operands at a time.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>

#include <algorithm>
#include <array>

namespace shunt::native {
namespace {

/// A subscript's number: capitals come before small letters. Dimensions of the ellipsis have kEllipsis.
constexpr int kLetters = 52, kEllipsis = kLetters;

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
int numberOf(char c) { return c >= 'a' ? c - 'a' + 26 : c - 'A'; }
char letterOf(int number) { return static_cast<char>(number < 26 ? 'A' + number : 'a' + number - 26); }

/// Subscripts of one operand or of the output.
using Subscripts = std::vector<int>;

bool hasEllipsis(const Subscripts& s) { return std::find(s.begin(), s.end(), kEllipsis) != s.end(); }

/// Reads the subscripts of one operand after the other, or those of the output; `where` names which.
class Reader {
 public:
  Reader(std::string_view text, size_t offset) : text_(text), offset_(offset) {}

  bool atEnd() const { return at_ >= text_.size(); }
  Subscripts next(const std::string& where, bool is_output) {
    Subscripts s;
    for (; !atEnd(); ++at_) {
      const char c = text_[at_];
      if (c == ' ') continue;
      if (c == ',' && !is_output) {
        ++at_;
        comma_ = true;
        return s;
      }
      if (c == '.') {
        readEllipsis(s, where);
        continue;
      }
      SHUNT_CHECK(isLetter(c), "einsum(): invalid subscript given at index ", offset_ + at_,
                  " in the equation string, subscripts must be in [a-zA-Z]");
      s.push_back(numberOf(c));
    }
    comma_ = false;
    return s;
  }
  /// Whether the last subscripts ended in a comma: there are others, if only none.
  bool comma() const { return comma_; }

 private:
  void readEllipsis(Subscripts& s, const std::string& where) {
    SHUNT_CHECK(!hasEllipsis(s), "einsum(): found '.' for ", where, " for which an ellipsis was already found");
    SHUNT_CHECK(text_.substr(at_, 3) == "...", "einsum(): found '.' for ", where, " that is not part of any ellipsis");
    s.push_back(kEllipsis);
    at_ += 2;
  }
  std::string_view text_;
  size_t offset_, at_ = 0;
  bool comma_ = false;
};

struct Equation {
  std::vector<Subscripts> inputs;
  Subscripts output;
};

std::string operandName(size_t i) { return "operand " + std::to_string(i); }

std::vector<Subscripts> readInputs(std::string_view text, size_t operands) {
  std::vector<Subscripts> inputs;
  Reader reader(text, 0);
  do {
    SHUNT_CHECK(inputs.size() < operands, "einsum(): fewer operands were provided than specified in the equation");
    inputs.push_back(reader.next(operandName(inputs.size()), false));
  } while (reader.comma());
  SHUNT_CHECK(inputs.size() == operands, "einsum(): more operands were provided than specified in the equation");
  return inputs;
}

/// Without an arrow: the ellipsis, then what appears once, in the letters' order.
Subscripts impliedOutput(const std::vector<Subscripts>& inputs) {
  std::array<int, kLetters + 1> counts{};
  for (const Subscripts& s : inputs)
    for (const int label : s) ++counts[static_cast<size_t>(label)];
  Subscripts output;
  if (counts[kEllipsis] > 0) output.push_back(kEllipsis);
  for (int label = 0; label < kLetters; ++label)
    if (counts[static_cast<size_t>(label)] == 1) output.push_back(label);
  return output;
}

Subscripts readOutput(std::string_view text, size_t offset, const std::vector<Subscripts>& inputs) {
  Reader reader(text, offset);
  const Subscripts output = reader.next("output", true);
  for (size_t i = 0; i < output.size(); ++i) {
    const int label = output[i];
    if (label == kEllipsis) continue;
    SHUNT_CHECK(std::count(output.begin(), output.end(), label) == 1, "einsum(): output subscript ", letterOf(label),
                " appears more than once in the output");
    const bool known = std::any_of(inputs.begin(), inputs.end(), [&](const Subscripts& s) {
      return std::find(s.begin(), s.end(), label) != s.end();
    });
    SHUNT_CHECK(known, "einsum(): output subscript ", letterOf(label),
                " does not appear in the equation for any input operand");
  }
  return output;
}

Equation parse(std::string_view text, size_t operands) {
  const size_t arrow = text.find("->");
  Equation e;
  e.inputs = readInputs(text.substr(0, arrow), operands);
  e.output = arrow == std::string_view::npos ? impliedOutput(e.inputs)
                                             : readOutput(text.substr(arrow + 2), arrow + 2, e.inputs);
  return e;
}

/// The dimensions that all operands are brought to: those of the output first, then those that are summed over.
struct Layout {
  std::array<int64_t, kLetters> place;  // of a subscript
  int64_t ellipsis_at = -1, ellipsis = 0, output = 0, all = 0;
};

int64_t ellipsisDims(const Subscripts& s, const Tensor& t, size_t operand) {
  const auto named = static_cast<int64_t>(s.size());
  if (hasEllipsis(s)) {
    SHUNT_CHECK(named - 1 <= t.dim(), "einsum(): the number of subscripts in the equation (", named - 1,
                ") is more than the number of dimensions (", t.dim(), ") for operand ", operand);
    return t.dim() - (named - 1);
  }
  SHUNT_CHECK(named == t.dim(), "einsum(): the number of subscripts in the equation (", named,
              ") does not match the number of dimensions (", t.dim(), ") for operand ", operand,
              " and no ellipsis was given");
  return 0;
}

Layout layoutOf(const Equation& e, const std::vector<Tensor>& operands) {
  Layout l;
  l.place.fill(-1);
  for (size_t i = 0; i < operands.size(); ++i)
    l.ellipsis = std::max(l.ellipsis, ellipsisDims(e.inputs[i], operands[i], i));
  for (const int label : e.output) {
    if (label == kEllipsis)
      l.ellipsis_at = std::exchange(l.all, l.all + l.ellipsis);
    else
      l.place[static_cast<size_t>(label)] = l.all++;
  }
  l.output = l.all;
  if (l.ellipsis_at < 0) l.ellipsis_at = std::exchange(l.all, l.all + l.ellipsis);
  for (const Subscripts& s : e.inputs)
    for (const int label : s)
      if (label != kEllipsis && l.place[static_cast<size_t>(label)] < 0) l.place[static_cast<size_t>(label)] = l.all++;
  return l;
}

/// A subscript that an operand has more than once stands for the diagonal.
Tensor withoutRepeats(Tensor t, Subscripts& s, int64_t ellipsis, size_t operand) {
  // The dimension of a subscript's place: an ellipsis has several.
  const auto dimOf = [&](size_t k) {
    const auto at = static_cast<size_t>(std::find(s.begin(), s.end(), kEllipsis) - s.begin());
    return static_cast<int64_t>(k) + (at < k ? ellipsis - 1 : 0);
  };
  for (size_t k = 0; k < s.size(); ++k) {
    if (s[k] == kEllipsis) continue;
    for (size_t j = k + 1; j < s.size();) {
      if (s[j] != s[k]) {
        ++j;
        continue;
      }
      const int64_t first = dimOf(k), second = dimOf(j);
      SHUNT_CHECK(t.size(first) == t.size(second), "einsum(): subscript ", letterOf(s[k]), " is repeated for operand ",
                  operand, " but the sizes don't match, ", t.size(second), " != ", t.size(first));
      // The diagonal is the last dimension: back to the first's place.
      t = t.diagonal(0, first, second);
      std::vector<int64_t> order;
      for (int64_t d = 0; d < t.dim() - 1; ++d) order.push_back(d);
      order.insert(order.begin() + first, t.dim() - 1);
      t = t.permute(order);
      s.erase(s.begin() + static_cast<ptrdiff_t>(j));
    }
  }
  return t;
}

/// The operand with all dimensions of the layout, of size 1 where it has none.
Tensor laidOut(Tensor t, Subscripts s, const Layout& l, size_t operand) {
  const int64_t own = ellipsisDims(s, t, operand);
  t = withoutRepeats(std::move(t), s, own, operand);
  std::vector<int64_t> from(static_cast<size_t>(l.all), -1);
  int64_t dim = 0;
  for (const int label : s) {
    if (label == kEllipsis)
      for (int64_t k = 0; k < own; ++k) from[static_cast<size_t>(l.ellipsis_at + l.ellipsis - own + k)] = dim++;
    else
      from[static_cast<size_t>(l.place[static_cast<size_t>(label)])] = dim++;
  }
  std::vector<int64_t> order;
  for (const int64_t d : from)
    if (d >= 0) order.push_back(d);
  t = t.permute(order);
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] < 0) t = t.unsqueeze(static_cast<int64_t>(d));
  return t;
}

/// "subscript k", or the ellipsis, that has the dimension of the laid out operands.
std::string subscriptAt(const Layout& l, int64_t d) {
  for (int label = 0; label < kLetters; ++label)
    if (l.place[static_cast<size_t>(label)] == d) return detail::str("subscript ", letterOf(label));
  return detail::str("dimension ", d - l.ellipsis_at, " of the ellipsis");
}

void checkSizes(const std::vector<Tensor>& operands, TensorList given, const Layout& l) {
  for (int64_t d = 0; d < l.all; ++d) {
    size_t first = 0;  // the first with another size than 1
    for (size_t i = 0; i < operands.size(); ++i) {
      const int64_t own = operands[i].size(d), size = operands[first].size(d);
      SHUNT_CHECK(own == 1 || size == 1 || own == size, "einsum(): operands do not broadcast: ", subscriptAt(l, d),
                  " has size ", size, " in operand ", first, " of shape ", given[first].sizes(), " and ", own,
                  " in operand ", i, " of shape ", given[i].sizes());
      if (size == 1) first = i;
    }
  }
}

int64_t product(const Tensor& t, const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= t.size(d);
  return n;
}

std::vector<int64_t> joined(std::initializer_list<std::vector<int64_t>> parts) {
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// The sum over `summed` of the product, all dimensions kept: a product of matrices of the dimensions that only the
/// left one has, both have and are summed, only the right one has; for each place of the rest.
Tensor sumOfProduct(Tensor left, Tensor right, const std::vector<int64_t>& summed) {
  if (summed.empty()) return left.mul(right);
  const auto is_summed = [&](int64_t d) { return std::find(summed.begin(), summed.end(), d) != summed.end(); };
  std::vector<int64_t> both, of_left, inner, of_right, alone_left, alone_right;
  for (int64_t d = 0; d < left.dim(); ++d) {
    const bool l = left.size(d) != 1, r = right.size(d) != 1;
    if (is_summed(d))
      (l && r ? inner : l ? alone_left : alone_right).push_back(d);
    else
      (l == r ? both : l ? of_left : of_right).push_back(d);
  }
  if (!alone_left.empty()) left = left.sum(IntArrayRef(alone_left), true);
  if (!alone_right.empty()) right = right.sum(IntArrayRef(alone_right), true);
  const std::vector<int64_t> ones = joined({alone_left, alone_right});
  const int64_t batch = product(left, both), m = product(left, of_left), k = product(left, inner),
                n = product(right, of_right);
  const Tensor a = left.permute(joined({both, of_left, inner, of_right, ones})).reshape({batch, m, k});
  const Tensor b = right.permute(joined({both, inner, of_right, of_left, ones})).reshape({batch, k, n});
  std::vector<int64_t> sizes;
  for (const int64_t d : joined({both, of_left})) sizes.push_back(left.size(d));
  for (const int64_t d : of_right) sizes.push_back(right.size(d));
  sizes.resize(static_cast<size_t>(left.dim()), 1);
  const std::vector<int64_t> order = joined({both, of_left, of_right, inner, ones});
  std::vector<int64_t> back(order.size());
  for (size_t d = 0; d < order.size(); ++d) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  return a.bmm(b).reshape(sizes).permute(back);
}

/// The dimensions to sum over that only the operands at i and j have left.
std::vector<int64_t> lastSums(const std::vector<Tensor>& operands, size_t i, size_t j, const Layout& l) {
  std::vector<int64_t> dims;
  for (int64_t d = l.output; d < l.all; ++d) {
    bool elsewhere = false;
    for (size_t k = 0; k < operands.size(); ++k)
      elsewhere = elsewhere || (k != i && k != j && operands[k].size(d) != 1);
    const bool here = operands[i].size(d) != 1 || operands[j].size(d) != 1;
    if (here && !elsewhere) dims.push_back(d);
  }
  return dims;
}

/// Which two operands are joined next. The result is the last one then.
std::pair<size_t, size_t> nextPair(OptionalIntArrayRef path, size_t step, size_t operands) {
  if (!path) return {0, 1};
  const int64_t n = static_cast<int64_t>(operands), i = (*path)[2 * step], j = (*path)[2 * step + 1];
  SHUNT_CHECK(i >= 0 && i < n && j >= 0 && j < n && i != j, "einsum(): expected contraction path to name two of ", n,
              " operands, but got ", i, " and ", j);
  return {static_cast<size_t>(std::min(i, j)), static_cast<size_t>(std::max(i, j))};
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList tensors, OptionalIntArrayRef path) {
  SHUNT_CHECK(tensors.size() > 0, "einsum(): must provide at least one operand");
  std::vector<Tensor> operands(tensors.begin(), tensors.end());
  for (const Tensor& t : operands) implOf(t, "einsum", "tensors");
  SHUNT_CHECK(!path || path->size() == 2 * (operands.size() - 1), "einsum(): expected contraction path to contain ",
              2 * (operands.size() - 1), " elements, but got ", path ? path->size() : 0);
  const Equation e = parse(equation, operands.size());
  const Layout l = layoutOf(e, operands);
  for (size_t i = 0; i < operands.size(); ++i) operands[i] = laidOut(operands[i], e.inputs[i], l, i);
  checkSizes(operands, tensors, l);
  for (size_t step = 0; operands.size() > 1; ++step) {
    const auto [i, j] = nextPair(path, step, operands.size());
    Tensor joined = sumOfProduct(operands[i], operands[j], lastSums(operands, i, j, l));
    operands.erase(operands.begin() + static_cast<ptrdiff_t>(j));
    operands.erase(operands.begin() + static_cast<ptrdiff_t>(i));
    operands.insert(path ? operands.end() : operands.begin(), std::move(joined));
  }
  Tensor result = operands.front();
  std::vector<int64_t> left;
  for (int64_t d = l.output; d < l.all; ++d)
    if (result.size(d) != 1 || tensors.size() == 1) left.push_back(d);
  if (!left.empty()) result = result.sum(IntArrayRef(left), true);
  for (int64_t d = l.all; d-- > l.output;) result = result.squeeze(d);
  return result;
}

}  // namespace shunt::native
