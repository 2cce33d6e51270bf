// What a tensor stands for: itself, or something that only its keys' functionality or class can read. Derived from the
// keys, so that tensors store nothing for it. Pure functions; any thread.
#pragma once

#include <shunt/tensor/tensor.h>

#include <cstdint>

namespace shunt {

enum class WrapperKind : uint8_t { kNone, kSubclass, kFunctional, kBatched, kTraced, kFake };

inline constexpr DispatchKeySet kWrapperKeys =
    DispatchKeySet::of(Functionality::Python) | DispatchKeySet::of(Functionality::Functionalize) |
    DispatchKeySet::of(Functionality::Batched) | DispatchKeySet::of(Functionality::Tracer) |
    DispatchKeySet::of(Functionality::Fake);

/// The outermost, as a call meets it.
constexpr WrapperKind wrapperKind(DispatchKeySet keys) {
  if (!keys.hasAny(kWrapperKeys)) [[likely]]
    return WrapperKind::kNone;
  if (keys.has(Functionality::Python)) return WrapperKind::kSubclass;
  if (keys.has(Functionality::Functionalize)) return WrapperKind::kFunctional;
  if (keys.has(Functionality::Batched)) return WrapperKind::kBatched;
  return keys.has(Functionality::Tracer) ? WrapperKind::kTraced : WrapperKind::kFake;
}
/// kNone for an undefined tensor.
inline WrapperKind wrapperKind(const Tensor& t) { return t.defined() ? wrapperKind(t.key_set()) : WrapperKind::kNone; }

/// Why there are no elements at the tensor's address, for messages: "a fake tensor: it has a shape but no data"; null
/// where there are some.
SHUNT_API const char* whyNoData(const Tensor& t);

}  // namespace shunt
