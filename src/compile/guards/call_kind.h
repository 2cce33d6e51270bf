// What a call that found no variant is remembered by: Note [Kinds and sizes] (src/compile/calls_seen.h). Hashes; any
// thread.
#pragma once

#include <shunt/compile/compile.h>

#include <bit>

namespace shunt::compiled {

/// The kind of one tensor, with its grad.
detail::CompileKind kindOfTensor(const Tensor& t);

detail::CompileKind kindOfCall(const detail::CompileArguments& arguments, const CompileOptions& options);

/// Of the arguments' sizes alone, in a few instructions for each.
inline uint64_t hashOfSizes(const detail::CompileArguments& arguments) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  uint64_t hash = 0;
  for (const Tensor* t : arguments.tensors) {
    hash = std::rotl(hash, 7) * kGolden;
    if (const TensorImpl* impl = t->unsafeGetTensorImpl())
      for (const int64_t n : impl->sizes()) hash = (std::rotl(hash, 5) ^ static_cast<uint64_t>(n)) * kGolden;
  }
  return hash;
}

/// Of sizes, whose hash is given, dtypes, and numbers: what tells most kinds of calls apart, in a few instructions.
inline uint64_t hashOfCall(const detail::CompileArguments& arguments, uint64_t hash_of_sizes) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  uint64_t hash = hash_of_sizes;
  for (const Tensor* t : arguments.tensors)
    if (const TensorImpl* impl = t->unsafeGetTensorImpl())
      hash = (std::rotl(hash, 3) ^ static_cast<uint64_t>(impl->dtype())) * kGolden;
  for (const uint64_t n : arguments.numbers) hash = (std::rotl(hash, 5) ^ n) * kGolden;
  return hash;
}

}  // namespace shunt::compiled
