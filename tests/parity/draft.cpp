#include "tests/parity/draft.h"

#include "tests/parity/dtypes.h"

#include <algorithm>

namespace parity {
namespace {

std::vector<std::string> splitAt(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

Data drawData(Rng& rng, unsigned flags) {
  if (flags & kProbabilities) return Data::kUnitInterval;
  if (flags & kCasts) return rng.chance(0.5) ? Data::kSmallIntegers : Data::kNonNegative;
  if (rng.chance(0.4)) return Data::kSmallIntegers;
  if (flags & kAccumulates) return rng.chance(0.75) ? Data::kReal : Data::kNonFinite;
  if (flags & kNoExtremes) return rng.chance(0.6) ? Data::kReal : Data::kNonFinite;
  return rng.pick(std::vector<Data>{Data::kReal, Data::kReal, Data::kWide, Data::kSpecial});
}

/// Whether a call may leave the argument out. libtorch reads statistics that are not there.
bool mayBeAbsent(const std::string& op, const shunt::Argument& a) {
  const bool read =
      op == "native_batch_norm_backward" && (a.name.starts_with("running_") || a.name.starts_with("save_"));
  return a.type.optional && !read;
}

bool isInputTensor(const shunt::Argument& a) { return a.type.kind == shunt::TypeKind::Tensor && !a.is_out(); }

}  // namespace

Draft::Draft(const shunt::FunctionSchema& s, int cell_dtype, bool grad, bool is_plain, uint64_t seed)
    : schema(s),
      rule(ruleFor(s.name(), s.overload_name())),
      op(baseName(s.name())),
      dtype(cell_dtype),
      with_grad(grad),
      plain(is_plain),
      data(),
      rng(seed) {
  data = drawData(rng, rule.flags);
  // Negative classes are illegal in uint8, and small integers in bool are what they are anywhere.
  c.name = s.name();
  c.overload = s.overload_name();
  c.integral_data = data == Data::kSmallIntegers;
  c.gradient_seed = rng.next();
  assignTokens();
}

void Draft::assignTokens() {
  const std::vector<std::string> tokens = splitAt(rng.pick(splitAt(rule.shapes, '|')), ' ');
  size_t i = 0;
  for (const shunt::Argument& a : schema.arguments()) {
    if (!isInputTensor(a)) continue;
    if (first_tensor_.empty()) first_tensor_ = a.name;
    tokens_[a.name] = tokens[std::min(i++, tokens.size() - 1)];
  }
}

const Value& Draft::arg(const std::string& name) {
  if (const auto it = drawn_.find(name); it != drawn_.end()) return it->second;
  const shunt::Argument* a = schema.findArgument(name);
  if (a == nullptr) throw std::logic_error("no argument " + name + " in " + schema.str());
  Value v;
  if (!isInputTensor(*a))
    v = drawArgument(*this, *a);
  else if (a->type.list)
    drawTensor(*this, *a);  // presets itself
  else if (const int64_t index = mayBeAbsent(op, *a) && rng.chance(0.35) ? -1 : drawTensor(*this, *a); index >= 0)
    v = Value::ofTensor(index);
  if (const auto it = drawn_.find(name); it != drawn_.end()) return it->second;
  return drawn_[name] = std::move(v);
}

std::vector<int64_t> Draft::subject() {
  if (has("input_sizes")) return arg("input_sizes").ints;
  if (first_tensor_.empty()) return {};
  const Value& v = arg(first_tensor_);
  return v.ints.empty() ? std::vector<int64_t>() : c.tensors[static_cast<size_t>(v.ints[0])].sizes;
}

int64_t Draft::wrappedDim(const std::string& name) {
  const int64_t n = std::max<int64_t>(dims(), 1), d = arg(name).i;
  return d < 0 ? d + n : d;
}

int64_t Draft::sizeOfDim(const std::string& name) {
  const std::vector<int64_t> sizes = subject();
  const auto d = static_cast<size_t>(wrappedDim(name));
  return d < sizes.size() ? sizes[d] : 1;
}

}  // namespace parity
