// WrapperKind: whether a tensor holds elements itself, or only its keys' functionality or its class can interpret it.
// Derived from the keys, so that tensors store nothing for it. Pure functions; any thread.
#pragma once

#include <shunt/tensor/tensor.h>

#include <cstdint>

namespace shunt {

/// kNone: an ordinary tensor, or one of a KernelClass. Others name the functionality whose key the tensor has.
enum class WrapperKind : uint8_t { kNone, kSubclass, kFunctional, kBatched, kTraced, kFake };

// The keys that make a tensor a wrapper. Only their kernels can interpret it.
inline constexpr DispatchKeySet kWrapperKeys =
    DispatchKeySet::of(Functionality::Python) | DispatchKeySet::of(Functionality::Functionalize) |
    DispatchKeySet::of(Functionality::Batched) | DispatchKeySet::of(Functionality::Tracer) |
    DispatchKeySet::of(Functionality::Fake);

/// The kind of the outermost wrapper, which a call reaches first.
constexpr WrapperKind wrapperKind(DispatchKeySet keys) {
  if (!keys.hasAny(kWrapperKeys)) [[likely]]
    return WrapperKind::kNone;
  if (keys.has(Functionality::Python)) return WrapperKind::kSubclass;
  if (keys.has(Functionality::Functionalize)) return WrapperKind::kFunctional;
  if (keys.has(Functionality::Batched)) return WrapperKind::kBatched;
  return keys.has(Functionality::Tracer) ? WrapperKind::kTraced : WrapperKind::kFake;
}
/// The same for a tensor; kNone when it is undefined.
inline WrapperKind wrapperKind(const Tensor& t) { return t.defined() ? wrapperKind(t.key_set()) : WrapperKind::kNone; }

/// Why the tensor has no elements in memory, for error messages: "a fake tensor: it has a shape but no data". Null when
/// it has elements.
SHUNT_API const char* whyNoData(const Tensor& t);

}  // namespace shunt
