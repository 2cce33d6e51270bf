#include "tests/parity/reference.h"

#include "tests/parity/dtypes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace parity {
namespace {

constexpr int kWide = 7;  // float64

std::vector<uint8_t> widenedBytes(int dtype, const std::vector<uint8_t>& bytes) {
  const size_t item = itemSize(dtype);
  std::vector<uint8_t> out(bytes.size() / item * sizeof(double));
  for (size_t i = 0; i < bytes.size() / item; ++i)
    storeElement(kWide, loadElement(dtype, &bytes[i * item]), &out[i * sizeof(double)]);
  return out;
}

// On the way to 16 bits over float32 only the second step may round: the first keeps whether anything was cut off in
// the last bit, which float32 has to spare.
double roundedToOdd(double v) {
  auto f = static_cast<float>(v);
  if (!std::isfinite(v) || static_cast<double>(f) == v) return v;
  if (std::abs(static_cast<double>(f)) > std::abs(v)) f = std::nextafter(f, 0.0f);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(f) | 1u);
}

void round(int dtype, TensorState& t) {
  const size_t item = itemSize(dtype), n = t.bytes.size() / sizeof(double);
  std::vector<uint8_t> out(n * item);
  for (size_t i = 0; i < n; ++i) {
    const double v = loadElement(kWide, &t.bytes[i * sizeof(double)]);
    storeElement(dtype, item == 2 ? roundedToOdd(v) : v, &out[i * item]);
  }
  t.bytes = std::move(out);
  t.dtype = dtype;
}

bool isOut(const Case& c) { return c.overload.find("out") != std::string::npos || c.overload == "grad_input"; }

// What the floating-point operands promote to; -1 when there is none.
int operandDtype(const Case& c) {
  std::vector<const TensorSpec*> operands;
  for (const Value& v : c.args)
    if (v.kind == Value::Kind::kTensor && c.tensors[static_cast<size_t>(v.ints[0])].defined)
      operands.push_back(&c.tensors[static_cast<size_t>(v.ints[0])]);
  if (isOut(c) && !operands.empty()) operands.pop_back();
  const bool any_dims = std::ranges::any_of(operands, [](const TensorSpec* t) { return !t->sizes.empty(); });
  int common = -1;
  for (const TensorSpec* t : operands) {
    const int dtype = c.storages[static_cast<size_t>(t->storage)].dtype;
    if (t->wrapped_number || !isFloating(dtype) || (any_dims && t->sizes.empty())) continue;
    common = common < 0 ? dtype
                        : static_cast<int>(shunt::promoteTypes(static_cast<shunt::ScalarType>(common),
                                                               static_cast<shunt::ScalarType>(dtype)));
  }
  return common;
}

// The dtype that an out= form computes in, before it casts. -1 where that is no question.
int computeDtype(const Case& c) { return c.compute_dtype >= 0 ? c.compute_dtype : isOut(c) ? operandDtype(c) : -1; }

void roundTo(const TensorState& like, int compute_dtype, TensorState& t) {
  if (!t.defined || !like.defined || t.dtype != kWide || !isFloating(like.dtype)) return;
  if (compute_dtype >= 0 && epsilonOf(compute_dtype) > epsilonOf(like.dtype)) {
    round(compute_dtype, t);
    t.bytes = widenedBytes(compute_dtype, t.bytes);
  }
  round(like.dtype, t);
}

// Where the libraries agree, there is nothing to decide.
void takeAgreed(const TensorState& shunt, const TensorState& torch, TensorState& reference) {
  if (shunt.dtype != torch.dtype || shunt.bytes.size() != torch.bytes.size() || reference.dtype != shunt.dtype ||
      reference.bytes.size() != shunt.bytes.size() || shunt.bytes.empty())
    return;
  const size_t item = itemSize(shunt.dtype);
  for (size_t at = 0; at < shunt.bytes.size(); at += item) {
    const bool same = std::equal(&shunt.bytes[at], &shunt.bytes[at] + item, &torch.bytes[at]);
    const bool nans = std::isnan(loadElement(shunt.dtype, &shunt.bytes[at])) &&
                      std::isnan(loadElement(shunt.dtype, &torch.bytes[at]));
    if (same || nans) std::copy_n(&shunt.bytes[at], item, &reference.bytes[at]);
  }
}

void settle(const std::vector<TensorState>& shunt, const std::vector<TensorState>& torch, int compute_dtype,
            std::vector<TensorState>& reference) {
  for (size_t i = 0; i < std::min(shunt.size(), reference.size()); ++i) {
    roundTo(shunt[i], compute_dtype, reference[i]);
    if (i < torch.size()) takeAgreed(shunt[i], torch[i], reference[i]);
  }
}

bool sharesStorage(const Case& c) {
  std::vector<int> seen;
  for (const TensorSpec& t : c.tensors) {
    if (!t.defined) continue;
    if (std::ranges::find(seen, t.storage) != seen.end()) return true;
    seen.push_back(t.storage);
  }
  return false;
}

void makeDense(const StorageSpec& from, const TensorSpec& spec, StorageSpec& storage) {
  const size_t item = itemSize(from.dtype);
  int64_t numel = 1;
  for (const int64_t s : spec.sizes) numel *= s;
  storage = {from.dtype, std::vector<uint8_t>(static_cast<size_t>(numel) * item)};
  std::vector<int64_t> index(spec.sizes.size(), 0);
  for (size_t at = 0; at < storage.bytes.size(); at += item) {
    int64_t offset = spec.offset;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * spec.strides[d];
    std::copy_n(&from.bytes[static_cast<size_t>(offset) * item], item, &storage.bytes[at]);
    for (size_t d = index.size(); d-- > 0 && ++index[d] == spec.sizes[d];) index[d] = 0;
  }
}

// A number as an operand is rounded to the other operands' dtype.
void roundNumber(int dtype, Value& v) {
  std::vector<uint8_t> element(itemSize(dtype));
  storeElement(dtype, v.d, element.data());
  v.d = loadElement(dtype, element.data());
}

// The gradient of a storage of which a tensor was a view: the dense tensor's, added up at its places.
void spreadGradient(const TensorSpec& spec, const TensorState& like, TensorState& grad) {
  if (!grad.defined || !like.defined) return;
  std::vector<double> sums(like.bytes.size() / itemSize(like.dtype));
  std::vector<int64_t> index(spec.sizes.size(), 0);
  for (size_t at = 0; at < grad.bytes.size(); at += sizeof(double)) {
    int64_t offset = spec.offset;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * spec.strides[d];
    sums[static_cast<size_t>(offset)] += loadElement(kWide, &grad.bytes[at]);
    for (size_t d = index.size(); d-- > 0 && ++index[d] == spec.sizes[d];) index[d] = 0;
  }
  grad.sizes = like.sizes;
  grad.bytes.resize(sums.size() * sizeof(double));
  for (size_t i = 0; i < sums.size(); ++i) storeElement(kWide, sums[i], &grad.bytes[i * sizeof(double)]);
}

void makeAllDense(Case& c) {
  std::vector<StorageSpec> storages;
  for (TensorSpec& t : c.tensors) {
    if (!t.defined) continue;
    storages.emplace_back();
    makeDense(c.storages[static_cast<size_t>(t.storage)], t, storages.back());
    t.storage = static_cast<int>(storages.size()) - 1;
    t.offset = 0;
    if (t.origin == Origin::kViewOfClone) t.origin = Origin::kCloneOfLeaf;
    int64_t step = 1;
    for (size_t d = t.sizes.size(); d-- > 0; step *= std::max<int64_t>(t.sizes[d], 1)) t.strides[d] = step;
  }
  c.storages = std::move(storages);
}

}  // namespace

Case widenedCase(const Case& original, const shunt::FunctionSchema& schema, const Outcome& shunt) {
  Case c = original;
  if (!sharesStorage(c)) makeAllDense(c);
  for (StorageSpec& s : c.storages)
    if (isFloating(s.dtype)) s = {kWide, widenedBytes(s.dtype, s.bytes)};
  for (size_t i = 0; i < c.args.size(); ++i)
    if (schema.arguments()[i].type.kind == shunt::TypeKind::ScalarType && c.args[i].kind == Value::Kind::kInt &&
        isFloating(static_cast<int>(c.args[i].i)))
      c.args[i].i = kWide;
  const int dtype = operandDtype(original);
  for (size_t i = 0; i < c.args.size() && dtype >= 0; ++i)
    if (schema.arguments()[i].type.kind == shunt::TypeKind::Scalar && c.args[i].kind == Value::Kind::kDouble &&
        (schema.arguments()[i].name == "other" || schema.arguments()[i].name == "self"))
      roundNumber(dtype, c.args[i]);
  for (const Returned& r : shunt.returns)
    for (const TensorState& t : r.tensors) c.gradient_dtypes.push_back(t.dtype);
  return c;
}

std::vector<Difference> compareToReference(const Case& c, const shunt::FunctionSchema& schema, const Outcome& shunt,
                                           const Outcome& torch) {
  if (shunt.threw || torch.threw) return {};  // no values to compare
  Outcome reference = runTorch(widenedCase(c, schema, shunt));
  if (reference.threw) return {{"throws", reference.error.substr(0, reference.error.find('\n'))}};
  // Gradients that it does not have would confirm all that there are.
  if (shunt.grads.size() != reference.grads.size())
    return {{"backward", "of float64 " + (reference.backward_threw ? reference.backward_error : "has no gradients")}};
  const int dtype = computeDtype(c);
  for (size_t i = 0; i < std::min(shunt.returns.size(), reference.returns.size()); ++i)
    settle(shunt.returns[i].tensors, torch.returns[i].tensors, dtype, reference.returns[i].tensors);
  for (size_t i = 0; i < std::min(shunt.after.size(), reference.after.size()); ++i) {
    roundTo(shunt.after[i], shunt.bumped[i] != 0 ? dtype : -1, reference.after[i]);
    takeAgreed(shunt.after[i], torch.after[i], reference.after[i]);
  }
  for (size_t i = 0; i < std::min(shunt.grads.size(), reference.grads.size()); ++i)
    if (c.tensors[i].defined && c.tensors[i].origin == Origin::kViewOfClone && !sharesStorage(c))
      spreadGradient(c.tensors[i], shunt.grads[i], reference.grads[i]);
  settle(shunt.grads, torch.grads, -1, reference.grads);
  std::vector<Difference> found = compareOutcomes(c, shunt, reference);
  std::erase_if(found, [](const Difference& d) {
    return !d.what.ends_with("values") && !d.what.ends_with("dtype") && !d.what.ends_with("sizes");
  });
  return found;
}

}  // namespace parity
