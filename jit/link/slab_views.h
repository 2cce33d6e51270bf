// A slab's memory, mapped twice: once to run, once to write.
#pragma once

#include <llvm/Support/Error.h>

#include <cstddef>

namespace shunt::jit {

struct SlabViews {
  std::byte* code = nullptr;    // r-x
  std::byte* memory = nullptr;  // rw-, the same bytes; a forked child doesn't have it
};

/// Fails where the system gives no such memory, and leaves nothing then.
llvm::Expected<SlabViews> mapSlab(size_t bytes);
/// Either may be null.
void unmapSlab(const SlabViews& views, size_t bytes);

}  // namespace shunt::jit
