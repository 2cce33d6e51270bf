// Makes a drawn case wrong in one of many ways, for errors to compare.
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"

namespace parity {
namespace {

// Each changes the case, or returns false when it has nothing to change.
using Breaker = bool (*)(Case&, const shunt::FunctionSchema&, Rng&);

std::vector<size_t> argumentsOf(const Case& c, Value::Kind kind) {
  std::vector<size_t> found;
  for (size_t i = 0; i < c.args.size(); ++i)
    if (c.args[i].kind == kind) found.push_back(i);
  return found;
}

bool replaceTensor(Case& c, const shunt::FunctionSchema& schema, Rng& rng, bool sizes_too) {
  const auto tensors = argumentsOf(c, Value::Kind::kTensor);
  if (tensors.empty()) return false;
  const size_t at = rng.pick(tensors);
  if (sizes_too && schema.arguments()[at].name == "index") return false;  // libtorch writes beyond the result
  const bool writable =
      schema.arguments()[at].is_out() && (ruleFor(schema.name(), schema.overload_name()).flags & kNoOverlap);
  const TensorSpec old = c.tensors[static_cast<size_t>(c.args[at].ints[0])];
  if (!old.defined) return false;
  std::vector<int64_t> sizes = old.sizes;
  if (sizes_too && !sizes.empty() && rng.chance(0.6))
    sizes[static_cast<size_t>(rng.range(0, static_cast<int64_t>(sizes.size()) - 1))] += rng.range(1, 2);
  else if (sizes_too)
    sizes.insert(sizes.begin(), rng.range(1, 3));
  const int dtype = sizes_too ? c.storages[static_cast<size_t>(old.storage)].dtype : rng.pick(allDtypes());
  // Indices and classes stay small, so that a tensor in their place may still be legal.
  const int64_t index = schema.arguments()[at].name == "index" || schema.arguments()[at].name == "target"
                            ? addIntegers(rng, c, dtype, sizes, 0, 3)
                            : addTensor(rng, c, dtype, sizes, Data::kUnitInterval, writable);
  c.args[at] = Value::ofTensor(index);
  c.integral_data = false;
  return true;
}

bool wrongShape(Case& c, const shunt::FunctionSchema& s, Rng& rng) { return replaceTensor(c, s, rng, true); }
bool wrongDtype(Case& c, const shunt::FunctionSchema& s, Rng& rng) { return replaceTensor(c, s, rng, false); }

bool undefinedTensor(Case& c, const shunt::FunctionSchema&, Rng& rng) {
  const auto tensors = argumentsOf(c, Value::Kind::kTensor);
  if (tensors.empty()) return false;
  TensorSpec t;
  t.defined = false;
  c.tensors.push_back(t);
  c.args[rng.pick(tensors)] = Value::ofTensor(static_cast<int64_t>(c.tensors.size()) - 1);
  return true;
}

bool wrongInt(Case& c, const shunt::FunctionSchema& schema, Rng& rng) {
  std::vector<size_t> ints;
  for (const size_t i : argumentsOf(c, Value::Kind::kInt))
    if (schema.arguments()[i].type.kind == shunt::TypeKind::Int) ints.push_back(i);
  if (ints.empty()) return false;
  c.args[rng.pick(ints)].i = rng.pick(std::vector<int64_t>{-7, -3, -2, -1, 4, 5, 6, 9});
  return true;
}

bool wrongList(Case& c, const shunt::FunctionSchema&, Rng& rng) {
  const auto lists = argumentsOf(c, Value::Kind::kIntList);
  if (lists.empty()) return false;
  std::vector<int64_t>& list = c.args[rng.pick(lists)].ints;
  if (list.empty() || rng.chance(0.4))
    list.push_back(rng.range(-2, 3));
  else
    list[static_cast<size_t>(rng.range(0, static_cast<int64_t>(list.size()) - 1))] = rng.range(-3, 6);
  return true;
}

bool wrongString(Case& c, const shunt::FunctionSchema&, Rng& rng) {
  const auto strings = argumentsOf(c, Value::Kind::kString);
  if (strings.empty()) return false;
  c.args[rng.pick(strings)].s = "sideways";
  return true;
}

bool isDense(const TensorSpec& t) {
  int64_t span = 1;
  for (size_t d = 0; d < t.sizes.size(); ++d) span += (t.sizes[d] - 1) * t.strides[d];
  return numelOf(t.sizes) == span;
}

// A written tensor that shares memory with another argument, whole or shifted by one element.
bool overlap(Case& c, const shunt::FunctionSchema& schema, Rng& rng) {
  if (!isElementwise(ruleFor(schema.name(), schema.overload_name()))) return false;
  const auto tensors = argumentsOf(c, Value::Kind::kTensor);
  for (const size_t i : tensors) {
    if (!schema.arguments()[i].is_write()) continue;
    TensorSpec& written = c.tensors[static_cast<size_t>(c.args[i].ints[0])];
    const TensorSpec& other = c.tensors[static_cast<size_t>(c.args[rng.pick(tensors)].ints[0])];
    if (!written.defined || !other.defined || other.requires_grad || written.requires_grad || written.sizes.empty())
      continue;
    if (written.storage == other.storage || written.sizes != other.sizes) continue;
    StorageSpec& storage = c.storages[static_cast<size_t>(other.storage)];
    if (storage.dtype != c.storages[static_cast<size_t>(written.storage)].dtype) continue;
    // With gaps between the elements neither library looks for a partial overlap.
    const int64_t shift = isDense(other) ? rng.range(0, 1) : 0;
    storage.bytes.resize(storage.bytes.size() + static_cast<size_t>(shift) * itemSize(storage.dtype));
    written.storage = other.storage;
    written.strides = other.strides;
    written.offset = other.offset + shift;
    return true;
  }
  return false;
}

constexpr Breaker kBreakers[] = {wrongShape, wrongShape,      wrongDtype,  wrongInt, wrongInt, wrongList,
                                 wrongList,  undefinedTensor, wrongString, overlap,  overlap};

}  // namespace

void breakCase(Case& c, const shunt::FunctionSchema& schema, Rng& rng) {
  if (ruleFor(schema.name(), schema.overload_name()).flags & kNoInvalid) return;
  for (int attempt = 0; attempt < 8; ++attempt)
    if (kBreakers[rng.next() % std::size(kBreakers)](c, schema, rng)) return;
}

}  // namespace parity
